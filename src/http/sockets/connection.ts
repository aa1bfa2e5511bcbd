import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { Failure } from '../../failure.ts';
import { quoteValue } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import { isObject } from '../../schema/untrusted.ts';
import { bodyOf } from '../responses/errors.ts';
import { clientLeft } from '../transport/client-disconnect.ts';
import type { EarlierResponses } from './earlier-responses.ts';
import { errorEvent, Turn } from './turn.ts';

/** Responses in progress on one connection; further messages wait. */
const MAX_RUNNING = 16;

/** Named streams of one connection. */
const MAX_STREAMS = 32;

/** Messages without an end from which nothing more is read. */
const MAX_TURNS = 64;

/** Messages that may have been read before that. */
const MAX_READ = 1024;

/** Bytes of a message without an end from which the memory of the largest one is reserved. */
const LARGE_MESSAGE = 64 * 1024;

/** Bytes of a ping or pong without content, as clients send it. */
const CONTROL_FRAME = 6;

/** Close codes (RFC 6455, section 7.4.1). */
export const CLOSE = { goingAway: 1001, unsupported: 1003, policy: 1008, tryLater: 1013 } as const;

/** Headers of the request for the connection that say nothing about the messages. */
const OWN_HEADERS =
  /^(?:connection|upgrade|sec-websocket-.*|content-.*|transfer-encoding|expect|cache-control|pragma|accept-encoding|x-request-id)$/;

export interface ConnectionOptions {
  readonly web: WebSocket;
  readonly stream: Socket;
  /** The request that opened it, which the connection does not keep. */
  readonly request: FastifyRequest;
  readonly earlier: EarlierResponses;
  /** Answers a message as if it had come over HTTP. */
  readonly answer: (turn: Turn) => void;
  /**
   * Reserves the memory of the largest message of an account until `close` is emitted.
   *
   * @throws Failure
   */
  readonly reserve: (accountId: string, until: EventEmitter) => void;
}

/** Why a connection takes no further messages. */
interface Ending {
  readonly code: number;
  readonly failure: Failure;
  /** Whether the failure is sent before the connection closes. */
  readonly isAnnounced: boolean;
}

/** One WebSocket: its messages become requests, and its streams keep their order. */
export class SocketConnection {
  readonly accountId: string;
  /** Of the key that opened it. */
  readonly keyHash: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** What the server reads of the connection, in place of a socket that it would write to or close. */
  readonly socket: object;
  readonly earlier: EarlierResponses;
  readonly #web: WebSocket;
  readonly #stream: Socket;
  readonly #answer: ConnectionOptions['answer'];
  readonly #reserve: ConnectionOptions['reserve'];
  /** All turns without an end. */
  readonly #turns = new Set<Turn>();
  /** Turns that wait, in the order of their messages, each with what begins or refuses it. */
  readonly #waiting = new Map<Turn, (refusal?: Failure) => void>();
  readonly #running = new Set<Turn>();
  readonly #streams = new Set<string>();
  #lastArrived: Promise<void> = Promise.resolve();
  #whenDrained: (() => void)[] = [];
  /** Bytes that the client had sent after its last whole message. */
  #readAt = 0;
  #readAtCheck = -1;
  #unfinishedSince: number | null = null;
  #reservation: EventEmitter | null = null;
  #ending: Ending | null = null;

  constructor({ web, stream, request, earlier, answer, reserve }: ConnectionOptions) {
    this.#answer = answer;
    this.#reserve = reserve;
    this.#web = web;
    this.#stream = stream;
    this.accountId = request.holder.account.id;
    this.keyHash = request.holder.key.hash;
    this.earlier = earlier;
    this.url = request.url;
    const headers = Object.entries(request.headers).filter(([name]) => !OWN_HEADERS.test(name));
    this.headers = { ...Object.fromEntries(headers), 'content-type': 'application/json' };
    const { remoteAddress } = stream;
    this.socket = { remoteAddress, encrypted: 'encrypted' in stream, end() {} };
    this.#readAt = stream.bytesRead;
    web.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary));
    web.on('ping', this.#skip);
    web.on('pong', this.#skip);
    // Its close event follows.
    web.on('error', () => {});
    web.once('close', () => this.#closed());
    stream.on('data', this.#watch);
    stream.on('drain', this.#drained);
  }

  readonly #skip = (content: Buffer): void => {
    this.#readAt += CONTROL_FRAME + content.length;
  };

  get #unfinished(): number {
    return this.#stream.bytesRead - this.#readAt;
  }

  #receive(message: Buffer, isBinary: boolean): void {
    this.#readAt = this.#stream.bytesRead;
    this.#unfinishedSince = null;
    this.#reservation?.emit('close');
    this.#reservation = null;
    if (this.#web.readyState !== this.#web.OPEN) return;
    if (isBinary) this.cut(CLOSE.unsupported, 'expected messages of text, received bytes');
    else if (this.#turns.size >= MAX_READ) this.cut(CLOSE.policy, 'too many messages wait');
    else {
      const turn = new Turn(this, message, this.#lastArrived);
      this.#lastArrived = turn.arrived;
      this.#turns.add(turn);
      turn.response.once('close', () => this.#ended(turn));
      if (this.#turns.size >= MAX_TURNS) this.#web.pause();
      this.#answer(turn);
    }
  }

  async admit(turn: Turn, body: unknown): Promise<void> {
    if (this.#ending !== null) throw this.#ending.failure;
    const { type, stream_id: streamId = null, generate = true } = isObject(body) ? body : {};
    const wrong = (param: string, expected: string, received: unknown) =>
      invalid(param, `expected ${expected}, received ${quoteValue(received)}`, 'invalid_request');
    if (type !== 'response.create') throw wrong('type', 'response.create', type);
    if (streamId !== null) this.#join(turn, streamId);
    if (typeof generate !== 'boolean') throw wrong('generate', 'a boolean', generate);
    turn.isWarmUp = !generate;
    return new Promise((resolve, reject) => {
      this.#waiting.set(turn, (refusal) => (refusal ? reject(refusal) : resolve()));
      this.#schedule();
    });
  }

  /** Puts a turn into the stream of a name. */
  #join(turn: Turn, id: unknown): void {
    if (typeof id !== 'string' || !STREAM_ID.test(id)) {
      const message = 'expected 1 to 256 letters, digits, underscores, hyphens and periods';
      throw invalid('stream_id', message, 'invalid_stream_id');
    }
    turn.streamId = id;
    if (this.#streams.size >= MAX_STREAMS && !this.#streams.has(id)) {
      const message = `expected one of the ${MAX_STREAMS} streams that this connection has already; open another one`;
      throw invalid('stream_id', message, 'websocket_stream_limit_reached');
    }
    this.#streams.add(id);
  }

  /** Begins the turns whose stream has no response in progress. */
  #schedule(): void {
    const busy = new Set(Array.from(this.#running, ({ streamId }) => streamId));
    for (const [turn, begin] of this.#waiting) {
      if (this.#running.size >= MAX_RUNNING) return;
      if (busy.has(turn.streamId)) continue;
      busy.add(turn.streamId);
      this.#running.add(turn);
      this.#waiting.delete(turn);
      begin();
    }
  }

  #ended(turn: Turn): void {
    this.#turns.delete(turn);
    this.#running.delete(turn);
    this.#waiting.delete(turn);
    if (this.#ending !== null && this.#turns.size === 0) this.#close(this.#ending);
    if (this.#turns.size < MAX_TURNS) this.#web.resume();
    this.#schedule();
  }

  /** Closes the connection after its responses in progress; further messages are refused with the failure. */
  end(code: number, failure: Failure, isAnnounced = false): void {
    this.#ending ??= { code, failure, isAnnounced };
    for (const refuse of this.#waiting.values()) refuse(failure);
    this.#waiting.clear();
    if (this.#turns.size === 0) this.#close(this.#ending);
  }

  refuseKey(): void {
    this.end(CLOSE.policy, new Failure('auth_error', 'the API key is not valid any more', INVALID));
  }

  /** Closes the connection at once. */
  cut(code: number, reason: string): void {
    this.#web.close(code, reason);
  }

  #close({ code, failure, isAnnounced }: Ending): void {
    const { error } = bodyOf(failure);
    if (isAnnounced) this.send(errorEvent(failure.status, error));
    this.cut(code, error.message);
  }

  #closed(): void {
    for (const one of [...this.#waiting.values()]) one(clientLeft());
    for (const { response } of this.#turns) response.destroy();
    this.#reservation?.emit('close');
    this.earlier.removeAll();
    this.#drained();
  }

  send(event: string): void {
    if (this.#web.readyState === this.#web.OPEN) this.#web.send(event);
  }

  whenDrained(done: () => void): void {
    if (this.#stream.writableNeedDrain) this.#whenDrained.push(done);
    else done();
  }

  readonly #drained = (): void => {
    for (const done of this.#whenDrained.splice(0)) done();
  };

  /** Reserves memory for a long message that is arriving, as for a body without a length. */
  readonly #watch = (): void => {
    if (this.#unfinished < LARGE_MESSAGE || this.#reservation !== null) return;
    this.#reservation = new EventEmitter();
    try {
      this.#reserve(this.accountId, this.#reservation);
    } catch (error) {
      this.cut(CLOSE.tryLater, (error as Failure).message);
    }
  };

  /**
   * Closes the connection of a client that is gone, or takes too long to send a message. Called at intervals.
   *
   * @param timeout milliseconds in which a message must arrive
   */
  check(timeout: number): void {
    const { bytesRead, writableLength } = this.#stream;
    // A client that does not read its responses gets no pings: `sendTimeout` is for it.
    if (writableLength > 0 || this.#web.isPaused) this.#readAtCheck = -1;
    else if (bytesRead === this.#readAtCheck) {
      this.#web.terminate();
      return;
    } else {
      this.#readAtCheck = bytesRead;
      this.#web.ping();
    }
    if (this.#unfinished <= 0) this.#unfinishedSince = null;
    else {
      this.#unfinishedSince ??= performance.now();
      if (performance.now() - this.#unfinishedSince > timeout) {
        this.cut(CLOSE.policy, 'the message did not arrive in time');
      }
    }
  }
}

const STREAM_ID = /^[\w.-]{1,256}$/;
const INVALID = { code: 'invalid_api_key' } as const;
