import type { Store } from '../../src/store/store.ts';

export interface OpenOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** A way to keep records that the suite is run against. */
export interface DriverFactory {
  /** Opens the store in a folder, new or not. */
  open(folder: string, options?: OpenOptions): Promise<Store>;
  /** Copies what a store under way has on disk to another folder, as if its machine died now. */
  copyOfCrashed(folder: string): string;
}
