import type { Store } from '../../../src/store/store.ts';

/** Options of every driver that the suite uses. */
export interface OpenOptions {
  /** Clock, in milliseconds since the epoch. */
  readonly now?: () => number;
}

/** What the conformance suite needs of a driver. */
export interface DriverFactory {
  /** Opens the store of a folder, which may be new. */
  open(folder: string, options?: OpenOptions): Promise<Store>;
  /** Copies the data of an open store to another folder, as a crash would leave it now. */
  copyAsCrashed(folder: string): string;
}
