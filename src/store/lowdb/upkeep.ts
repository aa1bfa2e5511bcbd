import { join } from 'node:path';
import { type Files, namesIn, remove } from '../files.ts';
import { type Checkpoint, isShard } from './checkpoint.ts';
import type { Commits } from './commits.ts';
import { type Journal, sequenceOf } from './journal.ts';
import type { Journals } from './journals.ts';

interface UpkeepOptions {
  readonly files: Files;
  readonly journals: Journals;
  readonly journalFolder: string;
  readonly shardFolder: string;
  readonly checkpoint: Checkpoint;
  /** Bytes after which a journal is closed and its changes go into shards. */
  readonly journalLimit: number;
  readonly onFault: (error: unknown) => void;
}

/** Keeps the journal short: begins a new one in time, and has the older ones' changes put into shards. */
export class Upkeep {
  readonly #options: UpkeepOptions;
  #limit: number;
  #underWay: Promise<void> | null = null;

  /** @param length bytes of journals that are to be replayed at the next start already */
  constructor(options: UpkeepOptions, length: number) {
    this.#options = options;
    this.#limit = length >= options.journalLimit ? 0 : options.journalLimit;
  }

  /** To be called between two batches. Resolves with the journal for the next. */
  async between(journal: Journal, commits: Commits): Promise<Journal> {
    if (journal.length < this.#limit || this.#underWay) return journal;
    const { journals, journalLimit, onFault } = this.#options;
    this.#limit = journalLimit;
    let next: Journal;
    try {
      next = await journals.next(journal);
    } catch (error) {
      // The present one does; when it has grown by as much again there may be room.
      this.#limit = journal.length + journalLimit;
      onFault(error);
      return journal;
    }
    await journal.close().catch(onFault);
    this.#underWay = this.#checkpoint(next, commits).finally(() => {
      this.#underWay = null;
    });
    return next;
  }

  /** Resolves when no checkpoint is under way. */
  async idle(): Promise<void> {
    await this.#underWay;
  }

  async #checkpoint(journal: Journal, commits: Commits): Promise<void> {
    const { checkpoint, onFault } = this.#options;
    const changed = commits.takeChanged();
    try {
      await checkpoint.write(journal, changed.values(), (collection, order) =>
        commits.durable(collection, order),
      );
    } catch (error) {
      commits.returnChanged(changed);
      onFault(error);
      return;
    }
    await this.tidy().catch(onFault);
  }

  /** Removes journals and shards that the checkpoint has made superfluous, and what a crash left. */
  async tidy(): Promise<void> {
    const { files, journalFolder, shardFolder, checkpoint } = this.#options;
    for (const name of await namesIn(files, shardFolder)) {
      if (isShard(name) && !checkpoint.names.has(name))
        await remove(files, join(shardFolder, name));
    }
    for (const name of await namesIn(files, journalFolder)) {
      // One that was being made bears a longer name. Names that are not ours are left alone.
      const sequence = sequenceOf(name.replace(/\.new$/, ''));
      const stale = sequence !== null && sequence < checkpoint.journal;
      if (stale || (sequence !== null && name.endsWith('.new'))) {
        await remove(files, join(journalFolder, name));
      }
    }
  }
}
