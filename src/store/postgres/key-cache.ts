import type { Team } from '../account.ts';
import type { KeyHolder } from '../store.ts';

/** Milliseconds for which a check of the revision holds: the longest time that a revoked key is accepted. */
const CHECKED_MS = 1000;

/** Interval of checks while keys are used. */
const CHECK_INTERVAL_MS = 400;

/**
 * Milliseconds for which known keys are accepted while the database is away, as long as escrows last: a key can
 * be revoked meanwhile only where this node alone is cut off.
 */
const GRACE_MS = 60_000;

const MAX_ENTRIES = 10_000;

export interface CachedKey extends KeyHolder {
  readonly team?: Team | undefined;
}

/** Keys at one revision, which every change of a key, a team or an account raises. */
export interface LoadedKeys {
  readonly revision: number;
  /** By hash. */
  readonly keys: ReadonlyMap<string, CachedKey>;
}

interface KeyCacheOptions {
  /**
   * Reads the revision and the keys of some hashes in one snapshot.
   *
   * @throws Failure `store_unavailable` in bounded time
   */
  readonly load: (hashes: readonly string[]) => Promise<LoadedKeys>;
  /** Monotonic clock in milliseconds; `performance.now` by default. */
  readonly now?: () => number;
}

interface Entry {
  readonly key: CachedKey;
  readonly revision: number;
}

/**
 * Keys in use, so that a request needs no query. One number is read from the database at intervals while
 * keys are used; when it has changed, every key is read again at its next use.
 */
export class KeyCache {
  readonly #load: KeyCacheOptions['load'];
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  #revision = -1;
  #checkedAt = -Infinity;
  #failedAt = -Infinity;
  #usedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  /** Hashes that the next load reads, and that load. */
  #pending: { readonly hashes: Set<string>; readonly loaded: Promise<LoadedKeys> } | null = null;
  #loading: Promise<unknown> = Promise.resolve();

  constructor({ load, now = () => performance.now() }: KeyCacheOptions) {
    this.#load = load;
    this.#now = now;
  }

  /** @throws Failure `store_unavailable` for a key that is not known while the database is away */
  async find(hash: string): Promise<CachedKey | undefined> {
    this.#usedAt = this.#now();
    this.#scheduleCheck();
    const entry = this.#entries.get(hash);
    const isChecked = this.#usedAt - this.#checkedAt < CHECKED_MS;
    if (entry && isChecked && entry.revision === this.#revision) return entry.key;
    const isKnown = entry !== undefined && this.#usedAt - this.#checkedAt < GRACE_MS;
    // While the database is away, requests with a known key do not wait for each attempt.
    if (isKnown && this.#usedAt - this.#failedAt < CHECK_INTERVAL_MS) return entry.key;
    try {
      const { keys } = await this.#read([hash]);
      return keys.get(hash);
    } catch (error) {
      if (isKnown) return entry.key;
      throw error;
    }
  }

  /** Reads every key again at its next use: another node has changed one. */
  invalidate(): void {
    this.#checkedAt = Math.min(this.#checkedAt, this.#now() - CHECKED_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Reads keys together with those that other calls ask for while a read is under way. */
  #read(hashes: readonly string[]): Promise<LoadedKeys> {
    if (this.#pending === null) {
      const wanted = new Set<string>();
      const loaded = this.#loading
        .catch(() => {})
        .then(() => {
          this.#pending = null;
          return this.#readNow([...wanted]);
        });
      this.#pending = { hashes: wanted, loaded };
      this.#loading = loaded;
    }
    for (const hash of hashes) this.#pending.hashes.add(hash);
    return this.#pending.loaded;
  }

  async #readNow(hashes: readonly string[]): Promise<LoadedKeys> {
    // Before the query: what is committed after it is not in the answer.
    const at = this.#now();
    try {
      const loaded = await this.#load(hashes);
      this.#checkedAt = at;
      this.#revision = loaded.revision;
      for (const hash of hashes) {
        this.#entries.delete(hash);
        const key = loaded.keys.get(hash);
        if (key) this.#entries.set(hash, { key, revision: loaded.revision });
      }
      while (this.#entries.size > MAX_ENTRIES) {
        this.#entries.delete(this.#entries.keys().next().value!);
      }
      return loaded;
    } catch (error) {
      this.#failedAt = this.#now();
      throw error;
    }
  }

  #scheduleCheck(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#now() - this.#usedAt > CHECK_INTERVAL_MS) return;
      this.#scheduleCheck();
      // A failure is seen by the next request.
      this.#read([]).catch(() => {});
    }, CHECK_INTERVAL_MS).unref();
  }
}
