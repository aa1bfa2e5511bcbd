import type { TaskState } from './task.ts';

/** Numbers of records, for health checks and metrics. */
export interface StoreStatistics {
  readonly accounts: number;
  readonly keys: number;
  readonly tasks: Readonly<Record<TaskState, number>>;
  /** Totals of all accounts, in micro-credits. */
  readonly credits: { readonly granted: number; readonly reserved: number; readonly spent: number };
}

/** Journals of a driver that keeps records in memory. */
export interface JournalHealth {
  /** Reason why the last checkpoint failed; null if it succeeded. */
  readonly checkpointFault: string | null;
  /** Journals that the next start replays. */
  readonly journals: number;
  readonly bytes: number;
}

/** State of the store for health checks and metrics, as this node sees it. */
export interface StoreHealth {
  /** Reason why writes are rejected now, with the name of the engine that fails; null if they are accepted. */
  readonly fault: string | null;
  /** Reason why all text requests are rejected now: a node over a database goes on without it for a minute. */
  readonly textFault: string | null;
  /** Text requests whose charges are not booked yet. */
  readonly pendingCharges: number;
  /** Absent where the driver has no journals. */
  readonly journal?: JournalHealth;
  /** Absent where the driver has no database. */
  readonly database?: DatabaseHealth;
}

/** What this process uses of a database. */
export interface DatabaseHealth {
  readonly busyConnections: number;
  /** Calls that wait for a connection. */
  readonly waitingCalls: number;
  /** Micro-credits that were drawn in advance, and that no request has reserved or spent. */
  readonly idleEscrow: number;
}

/** From the first to the last time in the records, in milliseconds since the epoch. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}
