import { join } from 'node:path';
import type { Failure } from '../../failure.ts';
import { type Files, namesIn, remove } from '../files.ts';
import type { StoreHealth } from '../store.ts';
import type { Archive } from './archive/archive.ts';
import { type Checkpoint, isShard, nameOf, shardOf } from './checkpoint.ts';
import type { Commits } from './commits.ts';
import type { Ended, Move } from './ended.ts';
import { unavailable } from './faults.ts';
import { type ClosedJournal, type Journal, sequenceOf } from './journal.ts';
import type { Journals } from './journals.ts';
import { COLLECTIONS, type State } from './state.ts';

/** Journals that may wait for a checkpoint, however short they are. */
const MOST_JOURNALS = 16;

/** Backoff after a failed checkpoint, in milliseconds: first and longest. */
const [FIRST_BACKOFF, LONGEST_BACKOFF] = [1000, 600_000];

interface UpkeepOptions {
  readonly files: Files;
  readonly journals: Journals;
  readonly journalFolder: string;
  readonly shardFolder: string;
  readonly checkpoint: Checkpoint;
  readonly state: State;
  readonly archive: Archive;
  readonly ended: Ended;
  /** Bytes after which a journal is closed and its changes go into shards. */
  readonly journalLimit: number;
  /** Bytes of journals beyond which new work is refused while checkpoints fail. */
  readonly backlogLimit: number;
  readonly onFault: (error: unknown) => void;
}

/** Keeps the journal short: begins a new one in time, and has the older ones' changes put into shards. */
export class Upkeep {
  readonly #options: UpkeepOptions;
  #closed: ClosedJournal[];
  /** Bytes at which the present journal is followed by another. */
  #limit: number;
  #underWay: Promise<void> | null = null;
  /** Why the last checkpoint failed. */
  #fault: Failure | null = null;
  #backoff = FIRST_BACKOFF;
  #retry: NodeJS.Timeout | null = null;

  /** @param length bytes of the present journal */
  constructor(options: UpkeepOptions, closed: readonly ClosedJournal[], length: number) {
    this.#options = options;
    this.#closed = [...closed];
    this.#limit = this.#bytes(length) >= options.journalLimit ? 0 : options.journalLimit;
  }

  /** @param length bytes of the present journal */
  health(length: number): Pick<StoreHealth, 'checkpointFault' | 'journals' | 'journalBytes'> {
    return {
      checkpointFault: this.#fault?.message ?? null,
      journals: this.#closed.length + 1,
      journalBytes: this.#bytes(length),
    };
  }

  /**
   * Why new work is refused although the journal can be written; null where it is not.
   *
   * @param length bytes of the present journal
   */
  refusal(length: number): Failure | null {
    return this.#fault && this.#bytes(length) > this.#options.backlogLimit ? this.#fault : null;
  }

  /**
   * To be called between two batches. Resolves with the journal for the next.
   */
  async between(journal: Journal, commits: Commits): Promise<Journal> {
    const areMany = this.#closed.length >= MOST_JOURNALS && !this.#fault;
    if (this.#underWay || !(journal.length >= this.#limit || areMany)) return journal;
    let next: Journal;
    try {
      next = await this.#options.journals.next(journal);
    } catch (error) {
      // The present journal stays in use until it has grown by as much again.
      this.#limit = journal.length + this.#options.journalLimit;
      this.#fail(error, commits);
      return journal;
    }
    this.#limit = this.#options.journalLimit;
    await this.#follow(journal);
    this.#underWay = this.#checkpoint(next, commits).finally(() => {
      this.#underWay = null;
    });
    return next;
  }

  /** Begins the journal after one that failed. @param first a batch that it has from the first moment */
  async renew(failed: Journal, first: string | null): Promise<Journal> {
    const next = await this.#options.journals.renew(failed, first);
    await this.#follow(failed);
    return next;
  }

  /** Resolves when no checkpoint is under way, and none will be. */
  async close(): Promise<void> {
    await this.#underWay;
    this.#stopRetrying();
  }

  async #follow(journal: Journal): Promise<void> {
    this.#closed.push({ sequence: journal.sequence, length: journal.extent.length });
    await journal.close().catch(this.#options.onFault);
  }

  #bytes(length: number): number {
    return this.#closed.reduce((sum, closed) => sum + closed.length, length);
  }

  async #checkpoint(first: Journal, commits: Commits): Promise<void> {
    const { checkpoint, state, archive, ended, onFault } = this.#options;
    const changed = commits.takeChanged();
    // Both belong to one moment: what the journal that has just been begun will have is in neither.
    const moving = ended.move(commits);
    let move: Move | null = null;
    try {
      move = await moving;
      const moved = new Set(move?.rows.map(({ collection, order }) => `${collection} ${order}`));
      const shards = new Map(changed);
      for (const { collection, order } of move?.rows ?? []) {
        const number = shardOf(order);
        shards.set(nameOf(collection, number), { collection, number });
      }
      await checkpoint.write(first, shards.values(), {
        durable: (collection, order) =>
          moved.has(`${collection} ${order}`) ? null : commits.durable(collection, order),
        segments: move?.extension.list ?? archive.list,
        next: Object.fromEntries(COLLECTIONS.map((name) => [name, state[name].next])),
      });
      move?.complete();
    } catch (error) {
      await move?.abandon(checkpoint.isInDoubt);
      commits.returnChanged(changed);
      this.#fail(error, commits);
      return;
    }
    this.#closed = this.#closed.filter(({ sequence }) => sequence >= first.sequence);
    this.#fault = null;
    this.#stopRetrying();
    await this.tidy().catch(onFault);
  }

  /** Schedules another attempt. It begins another journal, since shards are named after it and never rewritten. */
  #fail(error: unknown, commits: Commits): void {
    const { onFault } = this.#options;
    const { journals, journalBytes } = this.health(commits.journalLength);
    const backoff = this.#backoff / 1000;
    this.#fault = unavailable(error, 'checkpoint failed');
    const { message } = this.#fault;
    const waiting = `${journals} journals with ${journalBytes} bytes wait for it`;
    onFault(new Error(`${message}; ${waiting}; retrying within ${backoff} s`, { cause: error }));
    // A journal that grows to its limit meanwhile causes an attempt as well.
    this.#retry ??= setTimeout(() => {
      this.#retry = null;
      this.#backoff = Math.min(2 * this.#backoff, LONGEST_BACKOFF);
      this.#limit = 0;
      commits.poll();
    }, this.#backoff).unref();
  }

  #stopRetrying(): void {
    if (this.#retry) clearTimeout(this.#retry);
    this.#retry = null;
    this.#backoff = FIRST_BACKOFF;
  }

  /** Removes journals and shards that the checkpoint has made superfluous, and what a crash left. */
  async tidy(): Promise<void> {
    const { files, journalFolder, shardFolder, checkpoint, archive } = this.#options;
    await archive.tidy();
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
