import type { Failure } from '../failure.ts';
import type { Payer } from './budgets.ts';
import type { NodeRecord } from './nodes.ts';

/** A clock that is too far ahead of the records, in milliseconds since the epoch. */
export interface ClockAhead {
  readonly now: number;
  /** Time of the newest record. */
  readonly newest: number;
}

/** Bytes at the end of a file that a crash left incomplete. Their transactions were never acknowledged. */
export interface Recovery {
  readonly file: string;
  readonly offset: number;
  /** Number of bytes that were cut off. */
  readonly dropped: number;
  /** File that the bytes were moved to. */
  readonly keptIn: string;
}

/** One write to the disk. */
export interface Commit {
  readonly milliseconds: number;
  readonly transactions: number;
  readonly bytes: number;
}

/** What every driver is opened with. */
export interface StoreOptions {
  /** How other nodes, and the owner, see this one. Absent for administration, which processes no tasks. */
  readonly node?: Pick<NodeRecord, 'name' | 'version'>;
  /** Folder of the store; created if it does not exist. */
  readonly directory: string;
  /** Clock, in milliseconds since the epoch; `Date.now` by default. */
  readonly now?: () => number;
  /** Distinct sets of tags that are counted for an account and a day; 1,000 by default. */
  readonly tagSets?: number;
  /** Until it aborts, calls wait for a database that is away instead of failing. */
  readonly starting?: AbortSignal | undefined;
  /** Called with each failure after which a call waits because of `starting`. */
  readonly onWait?: ((failure: Failure) => void) | undefined;
  /** Removes documents without a file, which were deleted while a backup of the folder was made. */
  readonly isRestored?: boolean;
  /** Trusts the clock although it may be far ahead of the newest record. */
  readonly acceptClock?: boolean;
  /** Called before the store is open if the clock is more than a day ahead of the newest record. */
  readonly onClockAhead?: (clock: ClockAhead) => void;
  /** Called with the milliseconds by which the clock is ahead of a database's, where they are many. */
  readonly onClockSkew?: (milliseconds: number) => void;
  /** Called if the system has no kernel locks, so that only processes of this host are excluded. */
  readonly onLockFallback?: () => void;
  /** Called before the store is open with each write that a crash left incomplete. */
  readonly onRecovery?: (recovery: Recovery) => void;
  /** Called before a store of a former version is upgraded, with the copy that was made of it. */
  readonly onUpgrade?: (upgrade: { readonly version: number; readonly copy: string }) => void;
  /** Called after every write. */
  readonly onCommit?: (commit: Commit) => void;
  /** Called with the payer of each request that was charged. Tasks are left out. */
  readonly onCharge?: ((payer: Payer) => void) | undefined;
  /** Called with errors of background work, which the store retries later. */
  readonly onFault?: (error: unknown) => void;
  /** Called when writes start to fail, and with null when they succeed again. */
  readonly onFailure?: (failure: Failure | null) => void;
}
