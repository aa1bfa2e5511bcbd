/** Tags of a request by their names. */
export type Tags = Readonly<Record<string, string>>;

export const NO_TAGS: Tags = Object.freeze({});

/** Tags of one request at most. */
export const MAX_TAGS = 8;

export const TAG_NAME = /^[A-Za-z0-9][\w.-]{0,31}$/;
/** Neither `,` nor `=`, which separate tags, nor what a spreadsheet takes for a formula. */
export const TAG_VALUE = /^[A-Za-z0-9][\w.:/@+-]{0,63}$/;

/** In place of the tags of requests beyond the day's limit of sets. No request can have it. */
export const OTHER_TAGS = '(other)';

/** Sets of tags of an account and a day where the configuration does not set a limit. */
const DEFAULT_TAG_SETS = 1000;

/** Tags as one text, in the order of their names: `feature=search,run=42`. Empty without any. */
export function tagSetOf(tags: Tags): string {
  return Object.keys(tags)
    .sort()
    .map((name) => `${name}=${tags[name]}`)
    .join();
}

/** The tags of a set. */
export function tagsOf(set: string): Tags {
  const named = set === '' || set === OTHER_TAGS ? [] : set.split(',');
  return Object.fromEntries(named.map((tag) => tag.split('=') as [string, string]));
}

/** The value of a tag in a set; null for a set without it. */
export function tagIn(set: string | undefined, name: string): string | null {
  if (set === undefined || set === OTHER_TAGS) return set ?? null;
  const tag = set.split(',').find((one) => one.startsWith(`${name}=`));
  return tag === undefined ? null : tag.slice(name.length + 1);
}

/** Days of accounts whose sets are in memory. */
const MAX_DAYS = 1024;

/**
 * The distinct sets of tags that accounts have used on a day. Those beyond the limit become one, so that a client that
 * tags every request differently cannot fill the store.
 */
export class TagSets {
  limit = DEFAULT_TAG_SETS;
  /** By account and day. */
  readonly #days = new Map<string, Set<string>>();

  has(accountId: string, day: string): boolean {
    return this.#days.has(`${accountId} ${day}`);
  }

  /** Whether `admit` needs no look at the store. */
  isKnown(accountId: string, day: string, set: string): boolean {
    const sets = this.#days.get(`${accountId} ${day}`);
    return sets !== undefined && (sets.has(set) || sets.size >= this.limit);
  }

  /** Sets the stored sets of a day. */
  load(accountId: string, day: string, sets: Iterable<string>): void {
    if (this.#days.size >= MAX_DAYS) this.#days.clear();
    const named = [...sets].filter((set) => set !== '' && set !== OTHER_TAGS);
    this.#days.set(`${accountId} ${day}`, new Set(named));
  }

  /** The set under which a day counts a request, once its sets are loaded. */
  admit(accountId: string, day: string, set: string): string {
    if (set === '' || set === OTHER_TAGS) return set;
    const sets = this.#days.get(`${accountId} ${day}`)!;
    if (sets.has(set)) return set;
    if (sets.size >= this.limit) return OTHER_TAGS;
    sets.add(set);
    return set;
  }

  /** Forgets all, after a transaction that may not have been committed. */
  clear(): void {
    this.#days.clear();
  }
}
