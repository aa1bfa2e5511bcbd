import { Failure } from '../../failure.ts';
import type { AbortSignalLike } from '../../upstream/abort-signal.ts';
import type { UpstreamRequest } from '../../upstream/request.ts';
import type { Upstream, UpstreamResponse } from '../../upstream/response.ts';
import type { RecordedAnswer } from '../exchange.ts';
import { recordingOf } from '../recording.ts';
import { replay } from '../replay.ts';
import type { CachePolicy, ExactCache } from './exact-cache.ts';
import type { Flight, FlightEnd } from './flight.ts';

/** Whether all of an answer came from the cache; `bypass` where the cache was not searched. */
export type CacheResult = 'hit' | 'miss' | 'bypass';

/** Maximum size in bytes of a cached answer: a larger one would displace many others. */
const MAX_ANSWER = 4 * 1024 * 1024;

/** Maximum number of answers recorded at the same time, since their chunks are in memory. */
const MAX_RECORDINGS = 100;

/** How many equal requests may fail before a waiting one asks the provider itself. */
const MAX_FAILURES = 2;

interface LookupOptions {
  /** Index of the answer, where the client asks for several. */
  readonly choice?: number;
  /** Called as soon as it is known whether the answer comes from the cache. */
  readonly onLookup?: (isHit: boolean) => void;
  /** Whether a complete answer may be cached. Refusals are not. */
  readonly isKept: (answer: RecordedAnswer) => boolean;
}

interface Pending {
  readonly flight: Flight;
  /** Caches a complete answer. */
  readonly keep: (answer: RecordedAnswer) => void;
  /** The answer, once it is complete. */
  answer: RecordedAnswer | null;
}

/** One request of a client, whose requests to providers may be answered from the cache. */
export class CachedRequest {
  readonly #cache: ExactCache;
  readonly #policy: CachePolicy | null;
  readonly #onResult: (result: CacheResult) => void;
  /** Whether the last answer of each choice came from the cache. */
  readonly #hits = new Map<number, boolean>();
  /** Requests to providers whose answers may be cached, by key. */
  readonly #pending = new Map<string, Pending>();
  /** Whether only the cache may answer: a request that is not in it fails. */
  #isOffline = false;
  /** Whether the client's request succeeded; null before its end. */
  #isGood: boolean | null = null;

  /**
   * @param policy null if the cache is neither read nor written
   * @param onResult called with the result whenever it changes
   */
  constructor(
    cache: ExactCache,
    policy: CachePolicy | null,
    onResult: (result: CacheResult) => void,
  ) {
    this.#cache = cache;
    this.#policy = policy;
    this.#onResult = onResult;
    onResult('bypass');
  }

  /** An upstream that answers from the cache where it can. */
  through(options: LookupOptions): Upstream {
    const policy = this.#policy;
    if (policy === null) return this.#cache.upstream;
    return { open: (url, request) => this.#open(url, request, policy, options) };
  }

  /** Answers from the cache alone. @returns null if an answer is missing */
  async replay<Answer>(
    signal: AbortSignalLike,
    ask: () => Promise<Answer>,
  ): Promise<Answer | null> {
    if (this.#policy === null || this.#policy.maxAge === null) return null;
    this.#isOffline = true;
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Failure) || signal.aborted) throw error;
      return null;
    } finally {
      this.#isOffline = false;
    }
  }

  /** Ends the client's request. If it succeeded, its answers are cached once they are complete. */
  end(how: 'answered' | 'failed' | 'abandoned'): void {
    const isGood = how === 'answered';
    this.#isGood = isGood;
    for (const { flight, answer, keep } of this.#pending.values()) {
      flight.isLanding = isGood;
      if (!isGood) flight.end(how);
      // The client gets its answer first.
      else if (answer !== null) setImmediate(keep, answer);
    }
  }

  async #open(
    url: string,
    request: UpstreamRequest,
    policy: CachePolicy,
    { choice = 0, onLookup, isKept }: LookupOptions,
  ): Promise<UpstreamResponse> {
    const cache = this.#cache;
    const { signal, timeouts, name: server = 'The provider' } = request;
    const key = await cache.keys.of(policy.accountId, url, request, choice);
    const found = (isHit: boolean) => {
      this.#hits.set(choice, isHit);
      onLookup?.(isHit);
      if (policy.maxAge === null) return;
      this.#onResult([...this.#hits.values()].includes(false) ? 'miss' : 'hit');
    };
    const answerWith = (answer: RecordedAnswer) => {
      found(true);
      return replay(answer, { server, pace: 'at-once', signal, abandoned: () => NOT_CACHED });
    };
    const ask = () => {
      found(false);
      if (this.#isOffline) throw NOT_CACHED;
      return cache.upstream.open(url, request);
    };
    // The attempt before this one has failed.
    this.#drop(key, 'failed');
    for (let failures = 0; policy.maxAge !== null && failures < MAX_FAILURES; ) {
      const flight = cache.flight(key);
      // A client that replaced an answer must not get the old one again.
      const known = flight?.isLanding ? undefined : cache.remembered(key, policy);
      if (known !== undefined) return answerWith(known);
      if (flight === undefined) break;
      // Others may wait for this request; waiting for them as well would be a deadlock.
      if (this.#pending.size > 0) return ask();
      const end = await flight.wait({ server, signal, timeout: timeouts.total });
      if (typeof end === 'object') return answerWith(end);
      if (end === 'alone') return ask();
      if (end === 'failed') failures += 1;
    }
    const flight = cache.begin(key);
    const keep = (answer: RecordedAnswer) => {
      const isAdded = isKept(answer);
      if (isAdded) cache.add(key, policy, answer);
      flight.end(isAdded ? answer : 'alone');
    };
    const pending: Pending = { flight, keep, answer: null };
    this.#pending.set(key, pending);
    try {
      const stored = policy.maxAge === null ? undefined : await cache.stored(key, policy);
      if (stored !== undefined) {
        this.#drop(key, stored);
        return await answerWith(stored);
      }
      const startedAt = performance.now();
      const response = await ask();
      if (response.status === 200) return this.#record(response, startedAt, pending);
      this.#drop(key, 'failed');
      return response;
    } catch (error) {
      this.#drop(key, signal.aborted || this.#isOffline ? 'abandoned' : 'failed');
      throw error;
    }
  }

  #drop(key: string, how: FlightEnd): void {
    this.#pending.get(key)?.flight.end(how);
    this.#pending.delete(key);
  }

  #record(response: UpstreamResponse, startedAt: number, pending: Pending): UpstreamResponse {
    const cache = this.#cache;
    const { flight, keep } = pending;
    if (cache.recordings >= MAX_RECORDINGS) {
      flight.end('alone');
      return response;
    }
    cache.recordings += 1;
    const recording = recordingOf(response, {
      startedAt,
      maxBytes: MAX_ANSWER,
      onEnd: (answer) => {
        cache.recordings -= 1;
        if (answer === null) flight.end('alone');
        else if (answer.end !== 'complete') {
          flight.end(answer.end === 'abandoned' ? 'abandoned' : 'failed');
        } else if (this.#isGood) keep(answer);
        else pending.answer = answer;
      },
    });
    return {
      ...recording,
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
    };
  }
}

const NOT_CACHED = new Failure(
  'service_error',
  'no provider can be asked, and no answer is cached',
);
