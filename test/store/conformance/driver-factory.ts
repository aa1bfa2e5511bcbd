import type { Store } from '../../../src/store/store.ts';

/** Options of every driver that the suite uses. */
export interface OpenOptions {
  /** Clock, in milliseconds since the epoch. */
  readonly now?: () => number;
  /** Distinct sets of tags of an account and a day. */
  readonly tagSets?: number;
}

/** What the conformance suite needs of a driver. */
export interface DriverFactory {
  /** Opens the store of a folder, which may be new, as a node. */
  open(folder: string, options?: OpenOptions): Promise<Store>;
  /** Opens the store of a folder as one more node, while it is open; absent where one store excludes others. */
  openAnother?(folder: string, options?: OpenOptions): Promise<Store>;
  /** Copies the data of an open store to another folder, as a crash would leave it now; absent where impossible. */
  copyAsCrashed?(folder: string): Promise<string>;
  /** Ends an open store as a crash would. Its calls under way may reject. Needed without `copyAsCrashed`. */
  crash?(store: Store): Promise<void>;
}
