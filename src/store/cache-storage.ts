/** A recorded answer of a provider, which equal requests of an account get again. */
export interface CachedAnswer {
  readonly accountId: string;
  /** Name of the request: 64 hexadecimal digits. Accounts have none in common. */
  readonly key: string;
  /** The model's public identifier, whose size bounds the entry. */
  readonly model: string;
  /** Milliseconds since the epoch. */
  readonly storedAt: number;
  readonly expiresAt: number;
  /** The exchange in the format of cassettes. */
  readonly text: string;
}

/** Bytes that the answers of each configured model may have in all. */
export type CacheSizes = ReadonlyMap<string, number>;

/** Where cached answers are kept: the disk of one daemon, or the store that several share. */
export interface CacheStorage {
  find(accountId: string, key: string): Promise<CachedAnswer | undefined>;
  /** Keeps an answer in place of the former one of its key. */
  add(answer: CachedAnswer): Promise<void>;
  /** Notes that an answer was used; those that were not used for longest are removed first. */
  touch(accountId: string, key: string): Promise<void>;
  /** Removes what has expired, and what is beyond the sizes of models. */
  trim(sizes: CacheSizes): Promise<void>;
}
