import type { KeyHolder } from '../../../store.ts';

/** Milliseconds for which a check of the revision holds: the longest time that a revoked key is accepted. */
const CHECKED_MS = 1000;

/** Interval of checks while keys are used. */
const CHECK_INTERVAL_MS = 400;

/**
 * Milliseconds for which known keys are accepted while the database is away, as long as escrows last: a key can
 * be revoked meanwhile only where this node alone is cut off. Keys that were not used for as long have no escrow.
 */
const GRACE_MS = 60_000;

/** Steps, and milliseconds of each, for which a request with a known key waits for an answer. */
const SILENT_STEPS = 10;
const STEP_MS = 50;

/** Keys that one check reads again. */
const MAX_REFRESHED = 1000;

const MAX_ENTRIES = 10_000;

/** Keys at one revision, which every change of a key, a team or an account raises. */
export interface LoadedKeys {
  readonly revision: number;
  /** By hash. */
  readonly keys: ReadonlyMap<string, KeyHolder>;
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
  readonly key: KeyHolder;
  readonly revision: number;
  /** Monotonic time in milliseconds. */
  usedAt: number;
}

/** A query, or one that starts after the query before it. */
interface Load {
  readonly hashes: Set<string>;
  readonly loaded: Promise<LoadedKeys>;
  /** Resolves with false where the query fails, and before its end when the database gave no answer for a while. */
  readonly isAnswered: Promise<boolean>;
}

/**
 * Keys in use, so that a request needs no query. One number is read from the database at intervals while
 * keys are used; when it has changed, every key is read again at its next use, and those in use at the next check.
 */
export class KeyCache {
  readonly #load: KeyCacheOptions['load'];
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  #revision = -1;
  #checkedAt = -Infinity;
  #failedAt = -Infinity;
  #usedAt = -Infinity;
  /** Loads that had an answer, and calls of `forget`. */
  #answers = 0;
  #changes = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The load that has not started yet. */
  #pending: Load | null = null;
  #loading: Promise<unknown> = Promise.resolve();

  constructor({ load, now = () => performance.now() }: KeyCacheOptions) {
    this.#load = load;
    this.#now = now;
  }

  /** @throws Failure `store_unavailable` for a key that is not known while the database is away */
  async find(hash: string): Promise<KeyHolder | undefined> {
    this.#usedAt = this.#now();
    this.#scheduleCheck();
    const entry = this.#entries.get(hash);
    if (entry?.revision !== this.#revision) return (await this.#read([hash]).loaded).keys.get(hash);
    const age = this.#usedAt - this.#checkedAt;
    entry.usedAt = this.#usedAt;
    if (age < CHECKED_MS) return entry.key;
    const isAccepted = () => age < GRACE_MS && this.#entries.get(hash) === entry;
    // While the database is away, requests with a known key do not wait for each attempt.
    if (isAccepted() && this.#usedAt - this.#failedAt < CHECK_INTERVAL_MS) return entry.key;
    const { loaded, isAnswered } = this.#read([hash]);
    if (!(await isAnswered) && isAccepted()) return entry.key;
    return (await loaded).keys.get(hash);
  }

  /** Reads every key again at its next use. */
  invalidate(): void {
    this.#checkedAt = Math.min(this.#checkedAt, this.#now() - CHECKED_MS);
  }

  /** Forgets the keys of accounts of which one has changed: they are not accepted while the database is away. */
  forget(accountIds: readonly string[]): void {
    this.#changes += 1;
    for (const [hash, { key }] of this.#entries) {
      if (accountIds.includes(key.account.id)) this.#entries.delete(hash);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Reads keys together with those that other calls ask for while a read is under way. */
  #read(hashes: readonly string[]): Load {
    if (this.#pending === null) {
      const wanted = new Set<string>();
      const loaded = this.#loading
        .catch(() => {})
        .then(() => {
          this.#pending = null;
          return this.#readNow([...wanted]);
        });
      this.#pending = { hashes: wanted, loaded, isAnswered: this.#wait(loaded) };
      this.#loading = loaded;
    }
    for (const hash of hashes) this.#pending.hashes.add(hash);
    return this.#pending;
  }

  async #wait(loaded: Promise<unknown>): Promise<boolean> {
    let isOver = false;
    const end = (isAnswered: boolean) => () => {
      isOver = true;
      return isAnswered;
    };
    const silence = async () => {
      let answers = this.#answers;
      // In steps, because a process that was stopped meanwhile has not waited.
      for (let step = 0; step < SILENT_STEPS && !isOver; step += 1) {
        await new Promise((resolve) => setTimeout(resolve, STEP_MS).unref());
        if (answers === this.#answers) continue;
        answers = this.#answers;
        step = 0;
      }
      return false;
    };
    return Promise.race([loaded.then(end(true), end(false)), silence()]);
  }

  async #readNow(hashes: readonly string[]): Promise<LoadedKeys> {
    // Before the query: what is committed after it is not in the answer.
    const at = this.#now();
    const changes = this.#changes;
    try {
      const loaded = await this.#load(hashes);
      this.#answers += 1;
      if (changes !== this.#changes) return loaded;
      this.#checkedAt = at;
      this.#revision = loaded.revision;
      for (const hash of hashes) {
        const usedAt = this.#entries.get(hash)?.usedAt ?? at;
        this.#entries.delete(hash);
        const key = loaded.keys.get(hash);
        if (key) this.#entries.set(hash, { key, revision: loaded.revision, usedAt });
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
      this.#read(this.#outdated()).loaded.catch(() => {});
    }, CHECK_INTERVAL_MS).unref();
  }

  /** Hashes of keys in use that were read at an earlier revision. */
  #outdated(): readonly string[] {
    const usedAfter = this.#now() - GRACE_MS;
    const hashes: string[] = [];
    for (const [hash, { revision, usedAt }] of this.#entries) {
      if (hashes.length === MAX_REFRESHED) break;
      if (revision !== this.#revision && usedAt > usedAfter) hashes.push(hash);
    }
    return hashes;
  }
}
