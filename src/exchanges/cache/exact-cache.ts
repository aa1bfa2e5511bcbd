import type { CachedAnswer, CacheSizes, CacheStorage } from '../../store/cache-storage.ts';
import type { Upstream } from '../../upstream/response.ts';
import type { RecordedAnswer } from '../exchange.ts';
import { decodeExchange, encodeExchange } from '../exchange-file.ts';
import { CacheKeys } from './cache-key.ts';
import { Flight } from './flight.ts';

/** Bytes of the answers in memory. */
const MAX_MEMORY = 64 * 1024 * 1024;

/** Characters of answers that wait to be written. */
const MAX_WAITING = 64 * 1024 * 1024;

/** Bytes that an answer takes beside its body and its chunks, about, and those of a chunk. */
const ENTRY_BYTES = 500;
const CHUNK_BYTES = 100;

/** Milliseconds between two notes that an answer in memory was used. */
const TOUCH_INTERVAL_MS = 60_000;

/** Milliseconds for which an answer is in memory that another node may replace. */
const SHARED_MS = 5000;

const TRIM_INTERVAL_MS = 30_000;

/** What a request may get from the cache, and leave in it. */
export interface CachePolicy {
  readonly accountId: string;
  /** The model's public identifier. */
  readonly model: string;
  /** Milliseconds for which answers are kept. */
  readonly ttl: number;
  /** Age in milliseconds up to which answers are taken; null for none. */
  readonly maxAge: number | null;
}

interface Remembered {
  readonly answer: RecordedAnswer;
  readonly storedAt: number;
  readonly expiresAt: number;
  readonly size: number;
  readonly rememberedAt: number;
  touchedAt: number;
}

interface ExactCacheOptions {
  readonly storage: CacheStorage;
  /** Whether other nodes use the storage too. */
  readonly isShared: boolean;
  /** Where requests go that have no recorded answer. */
  readonly upstream: Upstream;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly sizes: () => CacheSizes;
  /** Whether this process removes old answers. */
  readonly mayTrim: () => boolean;
  /** Called where the storage fails; requests go on. */
  readonly onFault: (error: unknown) => void;
}

/** Answers that providers have given, for equal requests of the same account. */
export class ExactCache {
  readonly upstream: Upstream;
  readonly keys = new CacheKeys();
  readonly #options: ExactCacheOptions;
  /** The least recently used first. */
  readonly #memory = new Map<string, Remembered>();
  #memoryBytes = 0;
  /** Requests that others may join, by key. */
  readonly #flights = new Map<string, Flight>();
  /** Answers that are recorded now. */
  recordings = 0;
  #waitingBytes = 0;
  readonly #writes = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: ExactCacheOptions) {
    this.#options = options;
    this.upstream = options.upstream;
    this.#timer = setInterval(() => this.#trim(), TRIM_INTERVAL_MS).unref();
  }

  /** An answer in memory; undefined where the storage may have one. */
  remembered(key: string, policy: CachePolicy): RecordedAnswer | undefined {
    const entry = this.#memory.get(key);
    if (entry === undefined) return undefined;
    const now = this.#options.now();
    const isOld = this.#options.isShared && now - entry.rememberedAt > SHARED_MS;
    if (isOld || now >= entry.expiresAt) return void this.#forget(key);
    if (!isFresh(entry, policy, now)) return undefined;
    this.#memory.delete(key);
    this.#memory.set(key, entry);
    if (now - entry.touchedAt > TOUCH_INTERVAL_MS) {
      entry.touchedAt = now;
      this.#inBackground(this.#options.storage.touch(policy.accountId, key));
    }
    return entry.answer;
  }

  /** An answer in the storage, which is then in memory too. */
  async stored(key: string, policy: CachePolicy): Promise<RecordedAnswer | undefined> {
    const { storage, now, onFault } = this.#options;
    try {
      const found = await storage.find(policy.accountId, key);
      if (found === undefined || !isFresh(found, policy, now())) return undefined;
      const { answer } = decodeExchange(found.text, `cached answer ${key}`, noBlob);
      if (answer.end !== 'complete') return undefined;
      this.#remember(found, answer);
      return answer;
    } catch (error) {
      onFault(error);
      return undefined;
    }
  }

  /** The request that an equal one may wait for. */
  flight(key: string): Flight | undefined {
    return this.#flights.get(key);
  }

  /** Begins a request that others may wait for, in place of an older one, whose answer this one replaces. */
  begin(key: string): Flight {
    const flight: Flight = new Flight(() => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    });
    this.#flights.set(key, flight);
    return flight;
  }

  /** Keeps an answer. */
  add(key: string, { accountId, model, ttl }: CachePolicy, answer: RecordedAnswer): void {
    const { storage, now } = this.#options;
    const body = `sha256 ${key}`;
    const request = { model, method: 'POST', path: '', headers: {}, body };
    // What was asked stays out of the file: it is long, and only its key is needed.
    const { text, blobs } = encodeExchange({ request, answer }, Infinity);
    // Answers in text have none.
    if (blobs.size > 0) return;
    const storedAt = now();
    const entry = { accountId, key, model, storedAt, expiresAt: storedAt + ttl, text };
    this.#remember(entry, answer);
    // A slow disk gets no more than it writes: what it has not is asked again after a restart.
    if (this.#waitingBytes > MAX_WAITING) return;
    this.#waitingBytes += text.length;
    this.#inBackground(
      storage.add(entry).finally(() => {
        this.#waitingBytes -= text.length;
      }),
    );
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#writes);
  }

  #remember({ key, storedAt, expiresAt }: CachedAnswer, answer: RecordedAnswer): void {
    this.#forget(key);
    const bytes = answer.chunks.reduce((sum, { length }) => sum + length + CHUNK_BYTES, 0);
    const size = ENTRY_BYTES + bytes;
    const at = this.#options.now();
    const times = { storedAt, expiresAt, rememberedAt: at, touchedAt: at };
    this.#memory.set(key, { answer, size, ...times });
    this.#memoryBytes += size;
    for (const oldest of this.#memory.keys()) {
      if (this.#memoryBytes <= MAX_MEMORY) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#memoryBytes -= this.#memory.get(key)?.size ?? 0;
    this.#memory.delete(key);
  }

  #trim(): void {
    const { storage, sizes, mayTrim } = this.#options;
    if (mayTrim()) this.#inBackground(storage.trim(sizes()));
  }

  #inBackground(work: Promise<void>): void {
    const written = work.catch(this.#options.onFault).finally(() => this.#writes.delete(written));
    this.#writes.add(written);
  }
}

function isFresh(
  { storedAt, expiresAt }: Pick<CachedAnswer, 'storedAt' | 'expiresAt'>,
  { ttl, maxAge }: CachePolicy,
  now: number,
): boolean {
  return maxAge !== null && now < expiresAt && now - storedAt <= Math.min(ttl, maxAge);
}

function noBlob(): never {
  throw new Error('cached answers have no files beside them');
}
