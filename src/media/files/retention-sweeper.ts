import { uptime } from 'node:os';
import type { AssetStorage, SweepResult } from '../../assets/storage/asset-storage.ts';
import type { Config } from '../../config/settings/schema.ts';
import type { TimeRange } from '../../store/health.ts';
import { utcDayOf } from '../../store/ledger.ts';
import { inParts } from '../../store/selection.ts';
import type { Store } from '../../store/store.ts';
import type { DeletedRecords, Task } from '../../store/task.ts';

interface RetentionSweeperOptions {
  readonly config: () => Config;
  readonly store: Store;
  readonly files: AssetStorage;
  /** Time span of the records before this process added any. */
  readonly span: TimeRange | null;
  /** Called when the sweep finds files that no record names. */
  readonly onSwept: (swept: SweepResult) => void;
  /** Called with errors of a sweep; the next sweep tries again. */
  readonly onFault: (error: unknown) => void;
}

/** Bounds of the interval between two sweeps: a tenth of the retention, within these. */
const MIN_INTERVAL_MS = 10_000;
const MAX_INTERVAL_MS = 3_600_000;

/** Seconds that the clock may jump ahead by between two sweeps, and for which nothing is deleted if it has. */
const DAY = 86_400;

const CLOCK_AHEAD =
  'the clock has jumped ahead by more than a day: nothing is deleted for a day, in which you can set it right';

/** Time of the machine's start by its clock. It changes where the clock jumps, but not while the machine sleeps. */
const bootTime = () => Date.now() / 1000 - uptime();

/** Deletes records and files whose retention is over, and unneeded inputs and tasks of accounts. */
export class RetentionSweeper {
  readonly #options: RetentionSweeperOptions;
  #timer: NodeJS.Timeout | undefined;
  #sweep: Promise<void> = Promise.resolve();
  #closed = false;
  #bootTime = bootTime();
  /** When the clock was last as before, in seconds since the machine's start. */
  #trustedAt = uptime();
  /** Accounts with tasks that ended since the last trim. */
  #endedAccounts = new Set<string>();
  #trimming: Promise<void> | null = null;

  constructor(options: RetentionSweeperOptions) {
    this.#options = options;
  }

  /** Deletes the inputs of an ended task, and the account's oldest tasks beyond its limits. */
  ended({ accountId }: Pick<Task, 'accountId'>): void {
    this.#endedAccounts.add(accountId);
    if (this.#closed) return;
    // After the sweep under way, which would take a file whose record was just deleted for an orphan.
    this.#trimming ??= this.#sweep
      .then(() => this.#trimEnded())
      .catch(this.#options.onFault)
      .finally(() => {
        this.#trimming = null;
      });
  }

  /** Sweeps the files that a crash left behind, then sweeps at intervals. */
  start(): void {
    this.#sweep = this.#deleteExpired()
      // After the inputs that are not needed, since these need no quarantine.
      .then(() => this.#sweepOrphans())
      .catch(this.#options.onFault)
      .then(() => {
        if (this.#closed) return;
        const { retention } = this.#options.config().limits;
        const interval = Math.min(Math.max(retention / 10, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
        this.#timer = setTimeout(() => this.start(), interval);
        this.#timer.unref();
      });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#sweep;
    await this.#trimming;
  }

  async #trimEnded(): Promise<void> {
    while (this.#endedAccounts.size > 0 && !this.#closed) {
      const accounts = this.#endedAccounts;
      this.#endedAccounts = new Set();
      await this.#deleteInputs();
      for (const id of accounts) await this.#trim(id);
    }
  }

  async #deleteInputs(): Promise<void> {
    const { store, files } = this.#options;
    for (;;) {
      const inputs = await store.deleteInputs();
      if (inputs.length === 0) return;
      await files.remove(inputs.map(({ id }) => id));
    }
  }

  async #trim(accountId: string): Promise<void> {
    const { config, store } = this.#options;
    const account = await store.findAccount(accountId);
    if (!account) return;
    const { history, historySize } = config().limits[account.plan];
    await this.#delete(() => store.trimTasks(accountId, { tasks: history, bytes: historySize }));
    // By number alone: by age the whole ledger is read, which is too slow for the end of each task.
    await store.compactLedger(accountId, { lines: config().limits.ledgerLines });
  }

  /** Deletes records, a number of tasks at a time, and then their files. */
  async #delete(deleteRecords: () => Promise<DeletedRecords>): Promise<void> {
    for (;;) {
      // Records first: an orphaned file is swept later, a record without its file would be invalid.
      const { tasks, assets } = await deleteRecords();
      await this.#options.files.remove(assets.map(({ id }) => id));
      if (tasks.length === 0 || this.#closed) return;
    }
  }

  async #deleteExpired(): Promise<void> {
    const booted = bootTime();
    if (booted <= this.#bootTime + DAY) this.#trustedAt = uptime();
    else if (uptime() < this.#trustedAt + DAY) throw new Error(CLOCK_AHEAD);
    this.#bootTime = booted;
    const { config, store, files } = this.#options;
    const { limits, requests } = config();
    const { retention, ledger, ledgerLines, usage } = limits;
    const { now } = store;
    await files.emptyQuarantine(now);
    // One node is enough; during a change of the leader two do no harm.
    if (!store.nodes.isLeader()) return;
    await this.#deleteInputs();
    await this.#delete(() => store.deleteTasks(now - retention));
    const uploads = await store.deleteUploads(now - retention);
    await files.remove(uploads.map(({ id }) => id));
    for await (const { id } of inParts((part) => store.listAccounts(part))) {
      await this.#trim(id);
      await store.compactLedger(id, { before: now - ledger, lines: ledgerLines });
    }
    const firstDay = utcDayOf(now - usage);
    while (!this.#closed && (await store.deleteUsage(firstDay)) > 0);
    while (!this.#closed && (await store.documents.sweep()) > 0);
    await store.requests.trim({
      before: now - requests.retention,
      bodiesBefore: now - Math.min(requests.retention, requests.bodyRetention),
      maxBytes: requests.maxSize,
    });
  }

  async #sweepOrphans(): Promise<void> {
    const { store, files, span, onSwept } = this.#options;
    const isKnown = async (id: string) => (await store.findAsset(id)) !== undefined;
    const swept = await files.sweep(isKnown, span, () => !this.#closed);
    if (swept.quarantined + swept.foreign > 0) onSwept(swept);
  }
}
