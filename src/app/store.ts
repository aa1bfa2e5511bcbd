import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config/settings/schema.ts';
import { Failure } from '../failure.ts';
import { checkDataFolder, checkStorePresent } from '../store/data-folder.ts';
import { openStore, placeOf } from '../store/drivers/open.ts';
import type { Recovery } from '../store/options.ts';
import type { Start } from './start.ts';

/** Milliseconds for an administration command to release the store. Another daemon keeps its lock longer. */
const LOCK_TIMEOUT_MS = 3000;

const LOCK_FALLBACK =
  'this system or file system has no locks: start no second process on this data folder from another host or container';
const CLOCK_AHEAD =
  'the clock is more than a day ahead of the newest record: nothing is deleted or folded; if the clock is right, restart with --accept-clock';
/** Milliseconds between two lines of the log about one outage. */
const OUTAGE_LOG_INTERVAL_MS = 10_000;

const CLOCK_SKEW =
  'the clock of this machine differs from the clock of the database, which counts; synchronise both by NTP';

export type OpenedStore = Awaited<ReturnType<typeof openDaemonStore>>;

/** Hosts that are the same on all machines. */
const COMMON_HOST = /^(0\.0\.0\.0|::|::1|localhost|127\..+)$/;

/** Host and port of a daemon, and its number among several processes, by which people tell nodes apart. */
export function nameOf({ host, port }: Config['server'], process?: number): string {
  const suffix = process === undefined ? '' : `#${process}`;
  return `${COMMON_HOST.test(host) ? hostname() : host}:${port}${suffix}`;
}

export function isOutage(error: unknown): error is Failure {
  return error instanceof Failure && error.code === 'store_unavailable';
}

/** Opens the store of a data folder and logs what the store reports. */
export async function openDaemonStore({ state, log, metrics, options, started, charged }: Start) {
  const { server, store: settings, dataDir, limits } = state.config;
  const { acceptClock = false, newStore = false, version, stop } = options;
  for (const warning of await checkDataFolder(dataDir)) {
    log.warn({ folder: warning }, 'others may write in the data folder');
  }
  if (settings.driver === 'lowdb') {
    const former = await checkStorePresent(dataDir, newStore);
    if (former !== null)
      log.warn(
        { dataDir, former },
        'a new store begins; what was left of the former one was renamed',
      );
  }
  let isClockAhead = false;
  let loggedAt = -Infinity;
  const logOutage = ({ message: reason }: Failure, what: string) => {
    if (performance.now() < loggedAt + OUTAGE_LOG_INTERVAL_MS) return;
    loggedAt = performance.now();
    log.warn({ store: placeOf(settings), reason }, what);
  };
  const recoveries: Recovery[] = [];
  const store = await openStore({
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    directory: join(dataDir, 'store'),
    settings,
    acceptClock,
    tagSets: limits.tagSets,
    // Until the start has succeeded or is cancelled, calls wait for the database.
    starting: stop ? AbortSignal.any([stop, started.signal]) : started.signal,
    onWait: (failure) => logOutage(failure, 'waiting for the database'),
    node: { name: nameOf(server, options.peers?.place.number), version },
    onCommit: (commit) => metrics.observeCommit(commit),
    onCharge: (payer) => charged.add(payer),
    onRecovery: (recovery) => {
      recoveries.push(recovery);
      log.warn(recovery, 'moved the torn end of the journal to a file');
    },
    onUpgrade: (upgrade) =>
      log.warn(upgrade, 'upgraded the store, and kept a copy of the former one'),
    onLockFallback: () => log.warn(LOCK_FALLBACK),
    onClockAhead: ({ now, newest }) => {
      isClockAhead = true;
      const times = { clock: new Date(now).toISOString(), newest: new Date(newest).toISOString() };
      log.warn(times, CLOCK_AHEAD);
    },
    onClockSkew: (milliseconds) => log.warn({ milliseconds }, CLOCK_SKEW),
    onFault: (error) => {
      // Each request and each heartbeat of an outage has such a failure, with the same stack.
      if (isOutage(error)) logOutage(error, 'background work of the store waits');
      else log.error({ err: error }, 'the cleanup of the store failed');
    },
    onFailure: (failure) => {
      if (!failure) log.warn('the store can be written again');
      else log.error({ err: failure }, 'the store cannot be written; retrying every second');
    },
  });
  return {
    store,
    /** Torn ends of the journal that were moved to files, for the audit log. */
    recoveries,
    /** Whether the clock is more than a day ahead of the newest record. */
    isClockAhead,
  };
}
