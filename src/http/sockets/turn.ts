import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { Readable, Writable } from 'node:stream';
import { tryParseJson } from '../../schema/json.ts';
import { isObject, objectOf } from '../../schema/untrusted.ts';
import type { Json } from '../../text/canonical/canonical.ts';
import { EventStream } from '../../text/relay/sse.ts';
import type { EarlierResponses } from './earlier-responses.ts';

/** The connection of a message; `connection.ts` explains its members. */
interface TurnConnection {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly socket: object;
  readonly earlier: EarlierResponses;
  admit(turn: Turn, body: unknown): Promise<void>;
  send(event: string): void;
  whenDrained(done: () => void): void;
  refuseKey(): void;
}

/** Turns by their requests. */
const TURNS = new WeakMap<object, Turn>();

/** One message of a client: a request for one response, whose events go back over the connection. */
export class Turn {
  readonly connection: TurnConnection;
  readonly request: IncomingMessage;
  readonly response: TurnResponse;
  /** The ordered stream of the connection that it belongs to; null for the one without a name. */
  streamId: string | null = null;
  isWarmUp = false;
  /** Resolves once its stream is known, or it has ended without one. */
  readonly arrived: Promise<void>;
  readonly #before: Promise<void>;
  #arrive!: () => void;

  /** @param before resolves when the message before has arrived: the hooks of this one may have been faster */
  constructor(connection: TurnConnection, message: Buffer, before: Promise<void>) {
    this.connection = connection;
    this.#before = before;
    this.arrived = new Promise((resolve) => {
      this.#arrive = resolve;
    });
    const { url, headers, socket } = connection;
    const request = Object.assign(Readable.from([message], { objectMode: false }), {
      ...{ method: 'POST', httpVersion: '1.1', complete: true, url, socket },
      rawHeaders: ['host', headers.host ?? ''],
      headers: { ...headers, 'content-length': String(message.length) },
    });
    this.request = request as unknown as IncomingMessage;
    TURNS.set(request, this);
    this.response = new TurnResponse(this);
    this.response.once('close', this.#arrive);
  }

  /** Resolves with the body of the request for a response, when that may begin. @throws Failure */
  async begin(body: unknown): Promise<Json> {
    await this.#before;
    const admitted = this.connection.admit(this, body);
    this.#arrive();
    await admitted;
    const { type: _, stream_id: __, generate: ___, background: ____, ...own } = body as Json;
    return { ...own, stream: true };
  }
}

/** Headers of a refusal that its event has too. */
const SHOWN = /^(?:retry-after|x-request-id|x-oriel-limit|x-ratelimit-.*)$/;

/** A response as the server's routes write it. Its events become messages, and a refusal becomes an event. */
export class TurnResponse extends Writable {
  statusCode = 200;
  headersSent = false;
  readonly socket: object;
  readonly #turn: Turn;
  readonly #headers: OutgoingHttpHeaders = {};
  readonly #refusal: Buffer[] = [];
  #events: EventStream | null = null;

  constructor(turn: Turn) {
    super();
    this.#turn = turn;
    this.socket = turn.connection.socket;
    // The caller of a failed write gets no event otherwise.
    this.on('error', () => {});
  }

  setHeader(name: string, value: number | string | readonly string[]): this {
    this.#headers[name.toLowerCase()] = value as string;
    return this;
  }

  getHeader(name: string) {
    return this.#headers[name.toLowerCase()];
  }

  hasHeader(name: string): boolean {
    return this.getHeader(name) !== undefined;
  }

  getHeaders(): OutgoingHttpHeaders {
    return { ...this.#headers };
  }

  removeHeader(name: string): void {
    delete this.#headers[name.toLowerCase()];
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.statusCode = status;
    this.headersSent = true;
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined) this.setHeader(name, value);
    }
    if (!String(this.getHeader('content-type')).startsWith('text/event-stream')) return this;
    const { connection, streamId } = this.#turn;
    const mark = streamId === null ? '{' : `{"stream_id":${JSON.stringify(streamId)},`;
    this.#events = new EventStream((data) => {
      if (data.startsWith('{')) connection.send(mark + data.slice(1));
    });
    return this;
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    try {
      if (this.#events === null) this.#refusal.push(chunk);
      else this.#events.push(chunk);
    } catch (error) {
      done(error as Error);
      return;
    }
    this.#turn.connection.whenDrained(done);
  }

  override _final(done: () => void): void {
    const { connection, streamId } = this.#turn;
    if (this.#events === null) {
      const body = tryParseJson(Buffer.concat(this.#refusal).toString());
      const failure = isObject(body) ? objectOf(body['error']) : {};
      const shown = Object.entries(this.#headers).filter(([name]) => SHOWN.test(name));
      const headers = Object.fromEntries(shown.map(([name, value]) => [name, String(value)]));
      connection.send(errorEvent(this.statusCode, failure, { streamId, headers }));
      if (this.statusCode === 401) connection.refuseKey();
    } else this.#events.end();
    done();
  }
}

interface ErrorEventOptions {
  readonly streamId?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error of a request or of the whole connection, as an event. */
export function errorEvent(
  status: number,
  error: Json,
  { streamId = null, headers }: ErrorEventOptions = {},
): string {
  const isUnknown = error['param'] === 'previous_response_id' && status === 404;
  return JSON.stringify({
    type: 'error',
    // As the public mode has it: its clients send the whole conversation again.
    status: isUnknown ? 400 : status,
    ...(streamId !== null && { stream_id: streamId }),
    error: isUnknown ? { ...error, code: 'previous_response_not_found' } : error,
    ...(headers && { headers }),
  });
}

/** The turn of a request that came over a socket; null for HTTP. */
export const turnOf = ({ raw }: { readonly raw: object }): Turn | null => TURNS.get(raw) ?? null;
