import type { Alerts } from '../alerts/alerts.ts';
import { backupFailed } from '../alerts/condition.ts';
import { newestBackup, runBackup } from '../backup/run.ts';
import { Failure } from '../failure.ts';
import type { Store } from '../store/store.ts';
import type { Upstream } from '../upstream/response.ts';
import type { Start } from './start.ts';

/** Maximum delay before a failed backup is retried, and between two checks of the settings. */
const RETRY_MS = 300_000;
const LOOK_MS = 60_000;

interface BackupParts {
  readonly alerts: Pick<Alerts, 'raise' | 'times'>;
  readonly store: Pick<Store, 'isShared' | 'nodes'>;
  /** The network without cassettes. */
  readonly network: Upstream;
}

/** Makes backups while the daemon runs. With several nodes, the leader makes them. */
export class BackupSchedule {
  readonly #start: Start;
  readonly #parts: BackupParts;
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;
  /** Place and time of the last backup; null until they are known. */
  #last: { readonly to: string; readonly at: number } | null = null;

  constructor(start: Start, parts: BackupParts) {
    this.#start = start;
    this.#parts = parts;
  }

  start(): void {
    this.#running = this.#work()
      .catch((error: unknown) => this.#failed(error))
      .then((wait) => {
        this.#running = null;
        if (this.#closing.signal.aborted) return;
        this.#timer = setTimeout(() => this.start(), wait).unref();
      });
  }

  /** Aborts a backup in progress, which the next start repeats. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** @returns milliseconds until the next check */
  async #work(): Promise<number> {
    const { state, log, options } = this.#start;
    const { store, network: upstream } = this.#parts;
    const { config, configuration } = state;
    const { to, every, keep } = config.backup;
    if (to === undefined || (store.isShared && !store.nodes.isLeader())) return LOOK_MS;
    const settings = { ...config, file: configuration.loaded.file, assets: () => config.assets };
    if (this.#last?.to !== to) this.#last = { to, at: await newestBackup(to, settings, upstream) };
    const wait = this.#last.at + every - Date.now();
    // It is longer if the clock was ahead at the last backup, and is no longer.
    if (wait > 0 && wait <= every) return Math.min(wait, LOOK_MS);
    const { signal } = this.#closing;
    const run = { program: options.version, keep, upstream, signal };
    const { place, ...report } = await runBackup(to, settings, run);
    this.#last = { to, at: Date.now() };
    log.info({ place, ...report, removed: report.removed.length }, 'backed up');
    return Math.min(every, LOOK_MS);
  }

  #failed(error: unknown): number {
    if (this.#closing.signal.aborted) return 0;
    const { alerts } = this.#parts;
    const { state, log } = this.#start;
    log.error({ err: error }, 'the backup failed; the former ones are unchanged');
    const detail = error instanceof Failure ? error.detail : null;
    alerts.raise(backupFailed(detail ?? (error as Error).message, alerts.times));
    return Math.min(RETRY_MS, state.config.backup.every);
  }
}
