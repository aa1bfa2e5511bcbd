import type { Config } from '../../config/schema.ts';
import type { AssetFiles, SweepResult } from '../../store/asset-files.ts';
import type { DeletedRecords, Store, TimeRange } from '../../store/store.ts';
import type { Task } from '../../store/task.ts';

interface UpkeepOptions {
  readonly config: () => Config;
  readonly store: Store;
  readonly files: AssetFiles;
  /** Of the records as they were before this process added any. */
  readonly span: TimeRange | null;
  /** Files that no record names were found. */
  readonly onSwept: (swept: SweepResult) => void;
  /** Something could not be tidied up; it is tried again the next time. */
  readonly onFault: (error: unknown) => void;
}

/** Milliseconds between two rounds: often enough for the shortest retention, rarely enough to cost nothing. */
const SHORTEST = 10_000;
const LONGEST = 3_600_000;

/** Forgets what has been kept for long enough, and the files of it. */
export class Upkeep {
  readonly #options: UpkeepOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #closed = false;
  /** Accounts whose tasks have ended since they were looked after last. */
  #accounts = new Set<string>();
  #tidying: Promise<void> | null = null;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** A task has ended: its inputs go, and the oldest tasks of its account where they are too many. */
  ended({ accountId }: Pick<Task, 'accountId'>): void {
    this.#accounts.add(accountId);
    if (this.#closed) return;
    // Not while files are swept: one whose record has just gone would be taken for a lost one.
    this.#tidying ??= this.#round
      .then(() => this.#tidy())
      .catch(this.#options.onFault)
      .finally(() => {
        this.#tidying = null;
      });
  }

  /** Files that a crash left behind, at once; then round after round. */
  start(): void {
    const { store, files, span, onSwept } = this.#options;
    this.#run(async () => {
      // Before the files are looked through: these need no quarantine.
      await this.#removeInputs();
      const isKnown = async (id: string) => (await store.findAsset(id)) !== undefined;
      const swept = await files.sweep(isKnown, span);
      if (swept.quarantined + swept.foreign > 0) onSwept(swept);
      await this.#forget();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#round;
    await this.#tidying;
  }

  async #tidy(): Promise<void> {
    while (this.#accounts.size > 0 && !this.#closed) {
      const accounts = this.#accounts;
      this.#accounts = new Set();
      await this.#removeInputs();
      for (const id of accounts) await this.#trim(id);
    }
  }

  async #removeInputs(): Promise<void> {
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
    await this.#remove(() => store.trimTasks(accountId, { tasks: history, bytes: historySize }));
    const { ledger, ledgerLines } = config().limits;
    await store.compactLedger(accountId, { before: Date.now() - ledger, lines: ledgerLines });
  }

  /** Removes the files of what is forgotten, some tasks at a time. */
  async #remove(forget: () => Promise<DeletedRecords>): Promise<void> {
    for (;;) {
      // Records go first: a file that nobody knows is swept some time, a record without file is a lie.
      const { tasks, assets } = await forget();
      await this.#options.files.remove(assets.map(({ id }) => id));
      if (tasks.length === 0 || this.#closed) return;
    }
  }

  #run(round: () => Promise<void>): void {
    this.#round = round()
      .catch(this.#options.onFault)
      .then(() => {
        if (this.#closed) return;
        const { retention } = this.#options.config().limits;
        const pause = Math.min(Math.max(retention / 10, SHORTEST), LONGEST);
        this.#timer = setTimeout(() => this.#run(() => this.#forget()), pause);
        this.#timer.unref();
      });
  }

  async #forget(): Promise<void> {
    const { config, store, files } = this.#options;
    const { retention } = config().limits;
    const now = Date.now();
    await this.#removeInputs();
    await this.#remove(() => store.deleteTasks(now - retention));
    const uploads = await store.deleteUploads(now - retention);
    await files.remove(uploads.map(({ id }) => id));
    for (const { id } of await store.listAccounts()) await this.#trim(id);
    await files.emptyQuarantine(now);
  }
}
