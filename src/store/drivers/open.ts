import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import type { StoreOptions } from '../options.ts';
import type { Store } from '../store.ts';
import { openLowdbStore } from './lowdb/open.ts';
import { snapshotFolder, storeIdIn } from './lowdb/snapshot.ts';

/** Average delay between two attempts to open a locked store, in milliseconds. */
const RETRY_DELAY_MS = 30;

/** Which engine keeps the records. */
export interface StoreSettings {
  readonly driver: 'lowdb' | 'postgres';
  readonly url?: string | undefined;
  readonly listenUrl?: string | undefined;
  readonly poolSize: number;
  readonly schema: string;
}

/** The place of the records in messages, without the user and the password. */
export function placeOf({ driver, url, schema }: StoreSettings): string {
  if (driver === 'lowdb') return driver;
  const { hostname, port, pathname, searchParams } = new URL(url!);
  const host = hostname || searchParams.get('host');
  return `postgres://${host}:${port || 5432}${pathname}?schema=${schema}`;
}

/** Reads the state of a database without changing it. @throws Failure `store_unavailable` */
export async function databaseState({ url, schema }: StoreSettings) {
  const { readDatabaseState } = await import('./postgres/state.ts');
  return readDatabaseState(url!, schema);
}

interface OpenOptions extends StoreOptions {
  /** lowdb where not given. */
  readonly settings?: StoreSettings;
  /** Whether the store is opened for one command: in a database it is no node beside the daemons. */
  readonly isCommand?: boolean;
  /** Milliseconds for which one process may hold the lock before opening fails; 0 by default. */
  readonly lockTimeoutMs?: number;
}

/**
 * Opens the store, in a folder that no other process may use meanwhile. Chooses the driver: nothing else
 * imports one.
 *
 * @throws Failure service_error: `store_locked` once one process has held the lock for
 *   `lockTimeoutMs`, `store_corrupt`, `store_unavailable`
 */
export function openStore({
  lockTimeoutMs = 0,
  settings = { driver: 'lowdb', poolSize: 0, schema: '' },
  isCommand = false,
  ...options
}: OpenOptions): Promise<Store> {
  return retryWhileLocked(lockTimeoutMs, async () => {
    const { driver, url, ...others } = settings;
    if (driver === 'lowdb') return openLowdbStore(options);
    // Loaded where it is used: `pg` takes as long to load as the rest of a command.
    const { openPostgresStore } = await import('./postgres/open.ts');
    return openPostgresStore({ ...options, ...others, url: url!, isCommand });
  });
}

/**
 * Repeats an operation that needs the store while it fails with `store_locked`.
 *
 * @param timeoutMs milliseconds for which one process may hold the lock. They start again when another
 *   process gets it: where several processes take turns, this one gets its turn too
 * @throws the last failure at the timeout; every other failure at once
 */
export async function retryWhileLocked<Result>(
  timeoutMs: number,
  operation: () => Promise<Result>,
): Promise<Result> {
  let holder: string | undefined;
  let end = 0;
  for (;;) {
    try {
      return await operation();
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'store_locked') throw error;
      const now = Date.now();
      // The message names the process that holds the lock.
      if (error.message !== holder) {
        holder = error.message;
        end = now + timeoutMs;
      }
      if (now >= end) throw error;
      // Random, so that waiting processes do not retry at the same time.
      await delay(RETRY_DELAY_MS * (0.5 + Math.random()));
    }
  }
}

export type { SnapshotFile } from './lowdb/snapshot.ts';

/** Opens the files of a store in a folder as they are at one moment. */
export const openSnapshot = snapshotFolder;

/** Identifier of the store in a folder; null if there is none. @throws Failure `store_corrupt` */
export const storeIdOf = storeIdIn;
