import type { Config } from '../config/settings/schema.ts';

type Settings = Config['routing']['affinity'];
type Candidate = { readonly name: string };

/** A conversation whose routes are chosen. */
export interface Conversation {
  readonly accountId: string;
  /** Whether earlier requests may have filled a cache, so that its route is looked up. */
  readonly continues: boolean;
  /** Its name, no longer than a hash. Called at most when it is needed, since it takes time. */
  readonly key: () => string;
}

interface Entry {
  /** Name of the route that answered last. */
  readonly route: string;
  /** Time until which the provider may have the conversation in its cache. */
  readonly until: number;
}

/** The share of all entries that one eviction removes, so that its search is rare. */
const EVICTED_SHARE = 0.05;

/**
 * Remembers the routes of conversations that have left their model's first route, since only their
 * provider has them in its cache. All others need no memory where all begin at the first route.
 */
export class RouteAffinity {
  readonly #settings: () => Settings;
  readonly #now: () => number;
  /** Entries of each account, the least recently used first. */
  readonly #accounts = new Map<string, Map<string, Entry>>();
  #size = 0;

  /** @param now milliseconds of a monotonic clock */
  constructor(settings: () => Settings, now: () => number = () => performance.now()) {
    this.#settings = settings;
    this.#now = now;
  }

  /** Conversations in memory. */
  get size(): number {
    return this.#size;
  }

  /** The candidates, with the route that answered the conversation last in front. */
  order<One extends Candidate>(
    candidates: readonly One[],
    { accountId, continues, key }: Conversation,
  ): readonly One[] {
    if (candidates.length < 2 || !continues || this.#settings().for === 0) return candidates;
    const entries = this.#accounts.get(accountId);
    if (entries === undefined) return candidates;
    const entry = entries.get(key());
    if (entry === undefined || entry.until <= this.#now()) return candidates;
    const at = candidates.findIndex(({ name }) => name === entry.route);
    return at > 0 ? [candidates[at]!, ...candidates.toSpliced(at, 1)] : candidates;
  }

  /** Records the route that answered. @param candidates in the order of the configuration; none where requests are spread */
  answered(
    { name }: Candidate,
    candidates: readonly Candidate[],
    { accountId, key }: Conversation,
  ): void {
    const settings = this.#settings();
    if (candidates.length === 1) return;
    const entries = this.#accounts.get(accountId);
    if (name === candidates[0]?.name || settings.for === 0 || settings.conversations === 0) {
      if (entries !== undefined) this.#delete(accountId, entries, key());
      return;
    }
    const own = entries ?? new Map<string, Entry>();
    // Deleted first, so that the map stays in the order of use.
    if (own.delete(key())) this.#size -= 1;
    own.set(key(), { route: name, until: this.#now() + settings.for });
    this.#accounts.set(accountId, own);
    this.#size += 1;
    if (this.#size > settings.conversations) this.#evict(settings.conversations);
  }

  #delete(accountId: string, entries: Map<string, Entry>, key: string): void {
    if (!entries.delete(key)) return;
    this.#size -= 1;
    if (entries.size === 0) this.#accounts.delete(accountId);
  }

  /** Removes the oldest entries of the account that has most, so that no account displaces others. */
  #evict(limit: number): void {
    const size = Math.floor(limit * (1 - EVICTED_SHARE));
    while (this.#size > size) {
      let [largestId, largest] = this.#accounts.entries().next().value!;
      for (const [id, entries] of this.#accounts) {
        if (entries.size > largest.size) [largestId, largest] = [id, entries];
      }
      // Half of the largest at most: then another account may be the largest.
      let count = Math.min(this.#size - size, Math.ceil(largest.size / 2));
      for (const key of largest.keys()) {
        if (count === 0) break;
        this.#delete(largestId, largest, key);
        count -= 1;
      }
    }
  }
}
