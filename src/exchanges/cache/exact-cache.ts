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

/** Estimated overhead in bytes of an answer in memory, and of each of its chunks. */
const ENTRY_BYTES = 500;
const CHUNK_BYTES = 100;

/** How often the storage learns that an answer in memory was used, in milliseconds. */
const TOUCH_INTERVAL_MS = 60_000;

/** How long an answer stays in memory if another node may replace it, in milliseconds. */
const SHARED_MS = 5000;

const TRIM_INTERVAL_MS = 30_000;

/** Which cached answers a request may use, and how long its own is kept. */
export interface CachePolicy {
  readonly accountId: string;
  /** The model's public identifier. */
  readonly model: string;
  /** Milliseconds for which answers are kept. */
  readonly ttl: number;
  /** Maximum age of an answer in milliseconds; null if the cache is not read. */
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
  /** Answers requests that are not in the cache. */
  readonly upstream: Upstream;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly sizes: () => CacheSizes;
  /** Whether this process removes old answers. */
  readonly mayTrim: () => boolean;
  /** Called when the storage fails. Requests continue without it. */
  readonly onFault: (error: unknown) => void;
}

/** Caches answers of providers, and serves them to equal requests of the same account. */
export class ExactCache {
  readonly upstream: Upstream;
  readonly keys = new CacheKeys();
  readonly #options: ExactCacheOptions;
  /** The least recently used first. */
  readonly #memory = new Map<string, Remembered>();
  #memoryBytes = 0;
  /** Requests that others may join, by key. */
  readonly #flights = new Map<string, Flight>();
  /** Number of answers that are being recorded. */
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

  /** Reads an answer from the storage, and keeps it in memory. */
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

  /** Begins a request that others may wait for. Its answer replaces that of an older request. */
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
    // The file does not contain the request, which may be long: its key is enough.
    const { text, blobs } = encodeExchange({ request, answer }, Infinity);
    // Text answers have no binary parts.
    if (blobs.size > 0) return;
    const storedAt = now();
    const entry = { accountId, key, model, storedAt, expiresAt: storedAt + ttl, text };
    this.#remember(entry, answer);
    // If the disk is too slow, the answer stays in memory only, and is lost at a restart.
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
