import { join } from 'node:path';
import type { Failure } from '../../../failure.ts';
import { namesIn, remove } from '../../files.ts';
import type { JournalHealth } from '../../health.ts';
import type { Archive } from './archive/archive.ts';
import type { Checkpoint } from './checkpoint.ts';
import { storeUnavailable } from './files/errors.ts';
import type { Place } from './files/place.ts';
import type { CommitQueue } from './journal/commit-queue.ts';
import type { Journal } from './journal/journal.ts';
import { type ClosedJournal, sequenceOf } from './journal/journal-file.ts';
import type { Journals } from './journal/journals.ts';
import type { ArchiveMove, TaskArchiver } from './records/archiver.ts';
import { COLLECTIONS, isShardFile, type State, shardName, shardNumber } from './state/state.ts';

/** Number of closed journals at which a checkpoint is made, however short they are. */
const MAX_JOURNALS = 16;

/** Backoff after a failed checkpoint, in milliseconds: first and longest. */
const [FIRST_BACKOFF_MS, LONGEST_BACKOFF_MS] = [1000, 600_000];

interface CompactorOptions {
  readonly place: Place;
  readonly journals: Journals;
  readonly checkpoint: Checkpoint;
  readonly state: State;
  readonly archive: Archive;
  readonly archiver: TaskArchiver;
  /** Journal size in bytes at which the next journal is started and a checkpoint made. */
  readonly journalLimit: number;
  /** Size of all journals in bytes above which new work is rejected while checkpoints fail. */
  readonly backlogLimit: number;
  readonly onFault: (error: unknown) => void;
}

/** Limits the journals: starts a new one in time, and moves the changes of older ones to shards. */
export class JournalCompactor {
  readonly #options: CompactorOptions;
  #closed: ClosedJournal[];
  /** Size in bytes at which the next journal is started. */
  #limit: number;
  #running: Promise<void> | null = null;
  /** Failure of the last checkpoint; null if it succeeded. */
  #checkpointFailure: Failure | null = null;
  #backoffMs = FIRST_BACKOFF_MS;
  #retry: NodeJS.Timeout | null = null;

  /** @param length bytes of the current journal */
  constructor(options: CompactorOptions, closed: readonly ClosedJournal[], length: number) {
    this.#options = options;
    this.#closed = [...closed];
    this.#limit = this.#bytes(length) >= options.journalLimit ? 0 : options.journalLimit;
  }

  /** @param length bytes of the current journal */
  health(length: number): JournalHealth {
    return {
      checkpointFault: this.#checkpointFailure?.message ?? null,
      journals: this.#closed.length + 1,
      bytes: this.#bytes(length),
    };
  }

  /**
   * Failure with which new work is rejected although the journal accepts writes; null if it is accepted.
   *
   * @param length bytes of the current journal
   */
  backlogFailure(length: number): Failure | null {
    return this.#checkpointFailure && this.#bytes(length) > this.#options.backlogLimit
      ? this.#checkpointFailure
      : null;
  }

  /** Starts the next journal and a checkpoint when it is time. Called between batches; returns the journal to use. */
  async afterBatch(journal: Journal, commits: CommitQueue): Promise<Journal> {
    // Writes wait for a checkpoint that a whole journal has overtaken: on a slow disk, ended tasks would
    // else pile up in memory faster than checkpoints remove them.
    if (this.#running && journal.length >= this.#limit) await this.#running;
    const areMany = this.#closed.length >= MAX_JOURNALS && !this.#checkpointFailure;
    if (this.#running || !(journal.length >= this.#limit || areMany)) return journal;
    let next: Journal;
    try {
      next = await this.#options.journals.next(journal);
    } catch (error) {
      // The current journal stays in use until it has grown by the limit again.
      this.#limit = journal.length + this.#options.journalLimit;
      this.#fail(error, commits);
      return journal;
    }
    this.#limit = this.#options.journalLimit;
    await this.#closeJournal(journal);
    this.#running = this.#checkpoint(next, commits).finally(() => {
      this.#running = null;
    });
    return next;
  }

  /** Starts the journal after a failed one. @param first batch to write with its header */
  async replaceJournal(failed: Journal, first: string | null): Promise<Journal> {
    const next = await this.#options.journals.replaceFailed(failed, first);
    await this.#closeJournal(failed);
    return next;
  }

  /** Waits for a checkpoint in progress, and starts no other. */
  async close(): Promise<void> {
    await this.#running;
    this.#stopRetrying();
  }

  async #closeJournal(journal: Journal): Promise<void> {
    this.#closed.push({ sequence: journal.sequence, length: journal.extent.length });
    await journal.close().catch(this.#options.onFault);
  }

  #bytes(length: number): number {
    return this.#closed.reduce((sum, closed) => sum + closed.length, length);
  }

  async #checkpoint(first: Journal, commits: CommitQueue): Promise<void> {
    const { checkpoint, state, archive, archiver, onFault } = this.#options;
    const changed = commits.takeChanged();
    // Both are taken at the same moment: changes to the journal that was just started are in neither.
    const moving = archiver.startMove(commits);
    let move: ArchiveMove | null = null;
    try {
      move = await moving;
      const moved = new Set(move?.rows.map(({ collection, order }) => `${collection} ${order}`));
      const shards = new Map(changed);
      for (const { collection, order } of move?.rows ?? []) {
        const shard = { collection, number: shardNumber(order) };
        shards.set(shardName(shard), shard);
      }
      await checkpoint.write(first, shards.values(), {
        durable: (collection, order) =>
          moved.has(`${collection} ${order}`) ? null : commits.durable(collection, order),
        segments: move?.extension.list ?? archive.listOf(),
        next: Object.fromEntries(COLLECTIONS.map((name) => [name, state[name].next])),
      });
      move?.complete();
    } catch (error) {
      await move?.cancel(checkpoint.isInDoubt);
      commits.returnChanged(changed);
      this.#fail(error, commits);
      return;
    }
    this.#closed = this.#closed.filter(({ sequence }) => sequence >= first.sequence);
    this.#checkpointFailure = null;
    this.#stopRetrying();
    await this.removeObsolete().catch(onFault);
  }

  /** Schedules another attempt. It starts another journal, since shards are named after it and never rewritten. */
  #fail(error: unknown, commits: CommitQueue): void {
    const { onFault } = this.#options;
    const { journals, bytes } = this.health(commits.journalLength);
    const backoff = this.#backoffMs / 1000;
    this.#checkpointFailure = storeUnavailable(error, 'checkpoint failed');
    const { message } = this.#checkpointFailure;
    const waiting = `${journals} journals with ${bytes} bytes wait for it`;
    onFault(new Error(`${message}; ${waiting}; retrying within ${backoff} s`, { cause: error }));
    // A journal that reaches its limit earlier also causes an attempt.
    this.#retry ??= setTimeout(() => {
      this.#retry = null;
      this.#backoffMs = Math.min(2 * this.#backoffMs, LONGEST_BACKOFF_MS);
      this.#limit = 0;
      commits.runAfterBatch();
    }, this.#backoffMs).unref();
  }

  #stopRetrying(): void {
    if (this.#retry) clearTimeout(this.#retry);
    this.#retry = null;
    this.#backoffMs = FIRST_BACKOFF_MS;
  }

  /** Removes journals, shards and segments that the checkpoint replaced, and unfinished files of a crash. */
  async removeObsolete(): Promise<void> {
    const { place, checkpoint, archive } = this.#options;
    const { files, journals, shards } = place;
    await archive.removeObsolete();
    for (const name of await namesIn(files, shards)) {
      if (isShardFile(name) && !checkpoint.names.has(name)) await remove(files, join(shards, name));
    }
    for (const name of await namesIn(files, journals)) {
      // `.new` is the suffix of an unfinished file. Files with other names are left alone.
      const sequence = sequenceOf(name.replace(/\.new$/, ''));
      const stale = sequence !== null && sequence < checkpoint.journal;
      if (stale || (sequence !== null && name.endsWith('.new'))) {
        await remove(files, join(journals, name));
      }
    }
  }
}
