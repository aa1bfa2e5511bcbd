import { Failure } from '../../failure.ts';
import type { UpstreamRequest } from '../../upstream/request.ts';
import type { Upstream, UpstreamResponse } from '../../upstream/response.ts';
import type { RecordedAnswer } from '../exchange.ts';
import { recordingOf } from '../recording.ts';
import { replay } from '../replay.ts';
import { type CachePolicy, type ExactCache, MAX_ANSWER } from './exact-cache.ts';
import type { Flight } from './flight.ts';

/** Failed requests of others that one waits for before it asks the provider itself. */
const MAX_FAILURES = 2;

interface LookupOptions {
  /** Which of several answers to the client's request it is. */
  readonly choice?: number;
  /** Called once it is known whether the answer is a recorded one. */
  readonly onLookup: (isHit: boolean) => void;
  /** Whether a complete answer is kept: refusals are not. */
  readonly isKept: (answer: RecordedAnswer) => boolean;
}

interface Pending {
  readonly flight: Flight;
  readonly isKept: LookupOptions['isKept'];
  answer: RecordedAnswer | null;
}

/** One client's request, whose requests to providers may have recorded answers. */
export class CachedRequest {
  /** Rejects what has no recorded answer, while no provider can be asked. */
  isOffline = false;
  readonly #cache: ExactCache;
  readonly #policy: CachePolicy;
  /** Requests to providers whose answers may be kept, by key. */
  readonly #pending = new Map<string, Pending>();
  /** Whether the client's request was answered well; null before its end. */
  #isGood: boolean | null = null;

  constructor(cache: ExactCache, policy: CachePolicy) {
    this.#cache = cache;
    this.#policy = policy;
  }

  /** The way to the provider, past recorded answers. */
  through(options: LookupOptions): Upstream {
    return { open: (url, request) => this.#open(url, request, options) };
  }

  /** Ends the client's request. Its answers are kept if it was answered well, once they are complete. */
  end(how: 'answered' | 'failed' | 'abandoned'): void {
    const isGood = how === 'answered';
    this.#isGood = isGood;
    for (const [key, pending] of this.#pending) {
      pending.flight.release();
      pending.flight.isLanding = isGood;
      if (!isGood) pending.flight.end(how);
      // The client gets its answer first.
      else if (pending.answer !== null) setImmediate(() => this.#keep(key, pending));
    }
  }

  async #open(
    url: string,
    request: UpstreamRequest,
    options: LookupOptions,
  ): Promise<UpstreamResponse> {
    const cache = this.#cache;
    const policy = this.#policy;
    const { signal, timeouts, name: server = 'The provider' } = request;
    const key = await cache.keys.of(policy.accountId, url, request, options.choice ?? 0);
    const answerWith = (answer: RecordedAnswer) => {
      options.onLookup(true);
      return replay(answer, { server, pace: 'at-once', signal, abandoned: () => NOT_CACHED });
    };
    // The attempt before this one has failed.
    const former = this.#pending.get(key)?.flight;
    former?.end('failed');
    former?.release();
    for (let failures = 0; policy.maxAge !== null && failures < MAX_FAILURES; ) {
      const flight = cache.flight(key);
      // A client that has replaced an answer does not get the former one any more.
      const known = flight?.isLanding ? undefined : cache.remembered(key, policy);
      if (known !== undefined) return answerWith(known);
      if (flight === undefined) break;
      const end = await flight.wait({ server, signal, timeout: timeouts.total });
      if (typeof end === 'object') return answerWith(end);
      if (end === 'alone') {
        options.onLookup(false);
        return cache.upstream.open(url, request);
      }
      if (end === 'failed') failures += 1;
    }
    const flight = cache.begin(key);
    try {
      const stored = policy.maxAge === null ? undefined : await cache.stored(key, policy);
      if (stored !== undefined) {
        flight?.end(stored);
        flight?.release();
        return await answerWith(stored);
      }
      options.onLookup(false);
      if (this.isOffline) throw NOT_CACHED;
      if (flight === null) return await cache.upstream.open(url, request);
      return await this.#ask(url, request, key, { flight, isKept: options.isKept, answer: null });
    } catch (error) {
      flight?.end(signal.aborted || this.isOffline ? 'abandoned' : 'failed');
      flight?.release();
      throw error;
    }
  }

  async #ask(
    url: string,
    request: UpstreamRequest,
    key: string,
    pending: Pending,
  ): Promise<UpstreamResponse> {
    const { flight } = pending;
    const startedAt = performance.now();
    const response = await this.#cache.upstream.open(url, request);
    if (response.status !== 200) {
      flight.end('failed');
      flight.release();
      return response;
    }
    this.#pending.set(key, pending);
    const recording = recordingOf(response, {
      startedAt,
      maxBytes: MAX_ANSWER,
      onEnd: (answer) => {
        pending.answer = answer;
        flight.release();
        if (answer === null) flight.end('alone');
        else if (answer.end !== 'complete') {
          flight.end(answer.end === 'abandoned' ? 'abandoned' : 'failed');
        } else if (this.#isGood) this.#keep(key, pending);
      },
    });
    return {
      status: recording.status,
      headers: recording.headers,
      bytes: (limit) => recording.bytes(limit),
      read: (onData) =>
        recording.read((chunk) => {
          const isFast = onData(chunk);
          if (!isFast) flight.pause();
          return isFast;
        }),
      resume() {
        flight.resume();
        recording.resume();
      },
      abort: () => recording.abort(),
    };
  }

  #keep(key: string, { flight, answer, isKept }: Pending): void {
    this.#pending.delete(key);
    if (answer === null || answer.end !== 'complete') return;
    if (!isKept(answer)) {
      flight.end('alone');
      return;
    }
    this.#cache.add(key, this.#policy, answer);
    flight.end(answer);
  }
}

const NOT_CACHED = new Failure(
  'service_error',
  'no provider can be asked, and no answer is cached',
);
