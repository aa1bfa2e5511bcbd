import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { shared } from '../../flow.ts';
import { withTimeout } from '../transport/timeout.ts';
import {
  BEGIN_LOAD,
  COUNT_INVALID_KEY,
  END_LOAD,
  RENEW_LOAD,
  type RedisScript,
  TAKE,
} from './redis-script.ts';

const SCRIPTS = [TAKE, COUNT_INVALID_KEY, BEGIN_LOAD, END_LOAD, RENEW_LOAD];

/** Milliseconds that a request waits for Redis at most. */
const MAX_WAIT_MS = 50;

/** Failures in a row that open the circuit. Commands that waited at the same time are one. */
const MAX_FAILURES = 3;

/** Milliseconds between two probes while the circuit is open and the connection is not. */
const PROBE_INTERVAL_MS = 1000;

/** Milliseconds without an answer after which a connection is replaced. */
const SILENCE_MS = 2000;

/** Milliseconds after which a connection is cut whose end the server did not confirm. */
const CLOSE_MS = 200;

/** Milliseconds between two attempts to connect at most. */
const MAX_BACKOFF_MS = 2000;

/** Milliseconds that the start waits for the first connection. */
const START_MS = 1000;

/** Limit of a probe, which must write: a replica refuses nothing else. */
const MAX_PROBES = 1_000_000;

/** The message of ioredis for a command without a reply in time. */
const TIMED_OUT = 'Command timed out';

/** Characters of an error message of Redis that are logged. */
const MAX_REASON = 200;

export type RedisError = 'timeout' | 'connection' | 'reply';

export interface RedisObserver {
  answered(milliseconds: number): void;
  failed(error: RedisError): void;
  /** Called when the circuit opens. */
  lost(reason: string): void;
  /** Called when the circuit closes again. */
  returned(): void;
}

export interface RedisOptions {
  /** `redis://user:password@host:6379/0`, or `rediss:` for TLS. */
  readonly url: string;
  /** Before the name of every key, with a colon. */
  readonly prefix: string;
  /** Milliseconds that a request waits at most. */
  readonly maxWaitMs?: number;
  readonly observer: RedisObserver;
}

/**
 * Rejects after a time, unless the reply is in the socket by then. Where the event loop was late, timers
 * run before sockets are read, and those of ioredis reject replies that came in time.
 */
function withDeadline<Reply>(work: Promise<Reply>, milliseconds: number): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(TIMED_OUT));
    const timer = setTimeout(() => setImmediate(late), milliseconds);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** @throws Error for any other reply */
function integers(reply: unknown): readonly number[] {
  if (Array.isArray(reply) && reply.every(Number.isInteger)) return reply as number[];
  throw new Error('the reply of a script is no list of integers');
}

function kindOf({ name, message }: Error): RedisError {
  if (message === TIMED_OUT) return 'timeout';
  return name === 'ReplyError' ? 'reply' : 'connection';
}

/** Names in Redis are hashes, so that it holds neither addresses of clients nor identifiers of keys. */
export function redisNameOf(kind: 'key' | 'network' | 'load', value: string): string {
  return `${kind}:${createHash('sha256').update(value).digest('base64url')}`;
}

/**
 * A connection to Redis or Valkey that runs scripts behind a circuit breaker. Probes run in the background,
 * so that no request waits for one.
 */
export class RedisScripts {
  readonly #redis: Redis;
  readonly #observer: RedisObserver;
  readonly #maxWaitMs: number;
  #isAvailable = false;
  #connections = 0;
  /** Whether the circuit opened since it was last closed, or at the start. */
  #isReportedLost = false;
  #isClosed = false;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #lastError = 'no connection';
  #probing: Promise<void> | null = null;
  #probeTimer: NodeJS.Timeout | undefined;
  #settle = () => {};

  private constructor(redis: Redis, observer: RedisObserver, maxWaitMs: number) {
    this.#redis = redis;
    this.#observer = observer;
    this.#maxWaitMs = maxWaitMs;
    redis.on('ready', () => {
      this.#lastError = 'the connection was closed';
      this.#probe();
    });
    redis.on('close', () => {
      this.#connections += 1;
      this.#open(this.#lastError);
    });
    // Its properties may hold the password: AUTH's error has the arguments of the command.
    redis.on('error', ({ message }: Error) => {
      this.#lastError = message.slice(0, MAX_REASON);
    });
  }

  /** Connects. Resolves when Redis answers, when it is known not to, or after a second. */
  static async open({
    url,
    prefix,
    observer,
    maxWaitMs = MAX_WAIT_MS,
  }: RedisOptions): Promise<RedisScripts> {
    // Loading takes 80 ms: only where it is configured.
    // By its default: a bundle gives a module of CommonJS no other names, and types differ about what that is.
    const { Redis } = (await import('ioredis')).default as unknown as typeof import('ioredis');
    const { protocol, hostname, port, username, password, pathname } = new URL(url);
    const redis = new Redis({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || 6379),
      db: Number(pathname.slice(1)),
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
      keyPrefix: `${prefix}:`,
      lazyConnect: true,
      // For the handshake: requests have a deadline of their own.
      commandTimeout: START_MS,
      connectTimeout: START_MS,
      socketTimeout: SILENCE_MS,
      disconnectTimeout: CLOSE_MS,
      retryStrategy: (attempts) => Math.min(50 * 2 ** attempts, MAX_BACKOFF_MS),
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      // Commands fail as soon as the connection does.
      maxRetriesPerRequest: 0,
      // INFO and CLIENT need permissions; the probe shows more than INFO does.
      enableReadyCheck: false,
      disableClientInfo: true,
    });
    const scripts = new RedisScripts(redis, observer, maxWaitMs);
    const settled = new Promise<void>((resolve) => {
      scripts.#settle = resolve;
    });
    // Failures reach the listeners.
    redis.connect().catch(() => {});
    await withTimeout(settled, START_MS, undefined);
    if (!scripts.#isAvailable) scripts.#open(scripts.#lastError);
    return scripts;
  }

  /** Connections so far. */
  get connections(): number {
    return this.#connections;
  }

  get isAvailable(): boolean {
    return this.#isAvailable;
  }

  /** Resolves with the script's reply, or with null where Redis gave none within the time to wait. */
  async run(
    script: RedisScript,
    key: string,
    args: readonly (string | number)[],
  ): Promise<readonly number[] | null> {
    if (!this.#isAvailable) return null;
    const begunAt = performance.now();
    try {
      const reply = await withDeadline(this.#evaluate(script, key, args), this.#maxWaitMs);
      this.#failures = 0;
      this.#observer.answered(performance.now() - begunAt);
      return reply;
    } catch (error) {
      this.#fail(error as Error, begunAt);
      return null;
    }
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#probeTimer);
    this.#redis.disconnect();
  }

  async #evaluate(
    { sha1 }: RedisScript,
    key: string,
    args: readonly (string | number)[],
  ): Promise<readonly number[]> {
    const evaluate = () => this.#redis.evalsha(sha1, 1, key, ...args);
    try {
      return integers(await evaluate());
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
    }
    // Sent together: Redis runs commands of one connection in order.
    const [, reply] = await Promise.all([this.#load(), evaluate()]);
    return integers(reply);
  }

  /** Loads the scripts, which a restart or SCRIPT FLUSH removed; once for all requests that wait. */
  readonly #load = shared(() =>
    Promise.all(SCRIPTS.map(({ source }) => this.#redis.script('LOAD', source))),
  );

  #fail(error: Error, begunAt: number): void {
    this.#observer.failed(kindOf(error));
    // Commands that began before the last failure waited together with the one that failed.
    if (begunAt < this.#failedAt) return;
    this.#failedAt = performance.now();
    this.#failures += 1;
    if (this.#failures >= MAX_FAILURES) this.#open(error.message);
  }

  #open(reason: string): void {
    this.#isAvailable = false;
    this.#settle();
    if (this.#isReportedLost || this.#isClosed) return;
    this.#isReportedLost = true;
    this.#observer.lost(reason.slice(0, MAX_REASON));
    this.#probeTimer = setInterval(() => this.#probe(), PROBE_INTERVAL_MS);
    this.#probeTimer.unref();
  }

  /** Loads the scripts and runs one that writes; closes the circuit if both succeed. */
  #probe(): void {
    if (this.#isAvailable || this.#redis.status !== 'ready') return;
    const write = () => this.#redis.evalsha(TAKE.sha1, 1, 'probe', MAX_PROBES, 1, '');
    this.#probing ??= withDeadline(Promise.all([this.#load(), write()]), this.#maxWaitMs)
      .then(
        () => this.#close(),
        ({ message }: Error) => this.#open(message),
      )
      .finally(() => {
        this.#probing = null;
      });
  }

  #close(): void {
    clearInterval(this.#probeTimer);
    this.#isAvailable = true;
    this.#failures = 0;
    this.#settle();
    if (!this.#isReportedLost) return;
    this.#isReportedLost = false;
    this.#observer.returned();
  }
}
