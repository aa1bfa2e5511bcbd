import type { Config } from '../../config/schema.ts';
import type { AssetFiles, Swept } from '../../store/assets.ts';
import type { Span, Store } from '../../store/store.ts';

interface UpkeepOptions {
  readonly config: () => Config;
  readonly store: Store;
  readonly files: AssetFiles;
  /** Of the records as they were before this process added any. */
  readonly span: Span | null;
  /** Files that no record names were found. */
  readonly onSwept: (swept: Swept) => void;
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

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** Files that a crash left behind, at once; then round after round. */
  start(): void {
    const { store, files, span, onSwept } = this.#options;
    this.#run(async () => {
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
    const { retention, ledger } = config().limits;
    const now = Date.now();
    // Records go first: a file that nobody knows is swept some time, a record without file is a lie.
    const ended = await store.deleteTasks(now - retention);
    const uploads = await store.deleteUploads(now - retention);
    await files.remove([...ended.assets, ...uploads].map(({ id }) => id));
    await files.emptyQuarantine(now);
    await store.foldLedger(now - ledger);
  }
}
