import { join } from 'node:path';
import { Failure } from '../../../../failure.ts';
import { rethrowAfter } from '../../../../flow.ts';
import { makeFolder, namesIn, remove } from '../../../files.ts';
import {
  TASK_STATES,
  TASK_TYPES,
  type TaskQuery,
  type TaskState,
  type TaskTotals,
} from '../../../task.ts';
import {
  hashOf,
  isSegmentFile,
  type KeyKind,
  NO_TASK,
  type SegmentFile,
  type SegmentList,
  segmentName,
} from './layout.ts';
import { mergeInto, mergeSorted, segmentsToMerge, type Tombstones } from './merge.ts';
import { bodyOf, Segment, type SegmentOptions, type SegmentRecord } from './segment.ts';
import { type ArchivedRecord, SegmentWriter, writeRecords } from './segment-writer.ts';

interface ArchiveOptions extends SegmentOptions {
  readonly tombstones: Tombstones;
}

/**
 * Immutable records on disk, in segments. The checkpoint names the valid segments; tombstones in the state
 * mark deleted records.
 */
export class Archive {
  readonly #options: ArchiveOptions;
  /** Newest first. */
  #segments: readonly Segment[] = [];
  /** Number of the next segment. Numbers are not used again, since tombstones refer to segments by them. */
  #next: number;
  /** Segments that cannot be merged because they have a damaged record. */
  readonly #damaged = new Set<number>();
  #totals = new Map<string, TaskTotals>();
  #states = TASK_STATES.map(() => 0);

  private constructor(options: ArchiveOptions, next: number) {
    this.#options = options;
    this.#next = next;
  }

  /** @throws Failure service_error, code `store_corrupt`, with the segment that is missing or differs */
  static async open({ files, next }: SegmentList, options: ArchiveOptions): Promise<Archive> {
    const archive = new Archive(options, next);
    const segments: Segment[] = [];
    try {
      for (const file of files) segments.push(await Segment.open(file, options));
    } catch (error) {
      for (const segment of segments) await segment.close();
      throw error;
    }
    archive.#adopt(segments);
    return archive;
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /** Segments as a checkpoint names them. */
  listOf(segments: readonly Segment[] = this.#segments): SegmentList {
    return { files: segments.map(({ file }) => file), next: this.#next };
  }

  /** Time at which the last of its tasks ended, in milliseconds since the epoch; 0 if there are none. */
  get newest(): number {
    return Math.max(0, ...this.#segments.map(({ footer }) => footer.newest));
  }

  /** Number of tasks in a state, with the deleted ones. */
  count(state: TaskState): number {
    return this.#states[TASK_STATES.indexOf(state)]!;
  }

  /** Totals of an account, with the deleted tasks. */
  totalsOf(accountId: string): TaskTotals {
    return this.#totals.get(accountId) ?? { tasks: 0, bytes: 0 };
  }

  #isLive({ segment, index }: SegmentRecord): boolean {
    return !this.#options.tombstones.has(segment.number, index);
  }

  /**
   * Writes records into new segments, and merges segments that are many or mostly deleted. They become valid when a
   * checkpoint names them.
   *
   * @param batches records in the order of accounts and of creation; each batch becomes one segment
   */
  async extend(batches: Iterable<Iterable<ArchivedRecord>>) {
    const made = new Set<Segment>();
    const { files, folder } = this.#options;
    /** Closes the new segments. @param keepFiles whether a checkpoint on disk may name them */
    const cancel = async (keepFiles: boolean) => {
      for (const segment of made) {
        await segment.close().catch(() => {});
        if (!keepFiles) await remove(files, join(folder, segment.file.file)).catch(() => {});
      }
    };
    try {
      let segments = [...this.#segments];
      for (const records of batches) {
        const segment = await this.#write((writer) => writeRecords(writer, records));
        made.add(segment);
        segments.unshift(segment);
      }
      const toMerge = () => segmentsToMerge(segments, this.#options.tombstones, this.#damaged);
      for (let group = toMerge(); group; group = toMerge()) {
        const merged = await this.#merge(group);
        for (const segment of merged) made.add(segment);
        // A group whose merge failed is not tried again in this call.
        if (merged[0] === group[0]) break;
        segments = [...merged, ...segments.filter((segment) => !group.includes(segment))];
      }
      const dropped = this.#segments.filter((segment) => !segments.includes(segment));
      for (const segment of made) {
        if (segments.includes(segment)) continue;
        made.delete(segment);
        await segment.close();
        await remove(files, join(folder, segment.file.file));
      }
      return {
        list: this.listOf(segments),
        /** Numbers of segments that are no longer part of the archive. */
        dropped: dropped.map(({ number }) => number),
        /** Makes the new segments the ones that are read. */
        adopt: () => {
          this.#adopt(segments);
          for (const segment of dropped) segment.close().catch(this.#options.onFault);
        },
        cancel,
      };
    } catch (error) {
      await cancel(false);
      throw error;
    }
  }

  /** Removes files of segments that are not part of the archive, and unfinished ones. */
  async removeObsolete(): Promise<void> {
    const { files, folder } = this.#options;
    const names = new Set(this.#segments.map(({ file }) => file.file));
    for (const name of await namesIn(files, folder)) {
      if (isSegmentFile(name) && !names.has(name)) await remove(files, join(folder, name));
    }
  }

  async close(): Promise<void> {
    for (const segment of this.#segments) await segment.close();
  }

  #adopt(segments: readonly Segment[]): void {
    this.#segments = segments;
    this.#states = TASK_STATES.map(() => 0);
    this.#totals = new Map();
    for (const { footer } of segments) {
      for (const [at, count] of footer.states.entries()) this.#states[at]! += count;
      for (const { id, tasks, bytes } of footer.accounts) {
        const sum = this.totalsOf(id);
        this.#totals.set(id, { tasks: sum.tasks + tasks, bytes: sum.bytes + bytes });
      }
    }
  }

  async #write(work: (writer: SegmentWriter) => Promise<SegmentFile>): Promise<Segment> {
    const { files, folder, store } = this.#options;
    const number = this.#next++;
    await makeFolder(files, folder);
    const file = segmentName(number);
    const writer = await SegmentWriter.create({ files, folder, file, store, number });
    const written = work(writer).then((segment) => Segment.open(segment, this.#options));
    return written.catch(rethrowAfter(() => writer.discard()));
  }

  /** @returns segments that replace the group: none if all records are deleted, the group if the merge failed */
  async #merge(group: readonly Segment[]): Promise<readonly Segment[]> {
    const { tombstones, onFault } = this.#options;
    const isDeleted = (segment: Segment) =>
      tombstones.countIn(segment.number) === segment.footer.entries;
    if (group.every(isDeleted)) return [];
    try {
      return [await this.#write((writer) => mergeInto(writer, group, tombstones))];
    } catch (error) {
      // The checkpoint continues without the merge.
      onFault(error);
      if (error instanceof Failure && error.code === 'record_damaged') {
        for (const { number } of group) this.#damaged.add(number);
      }
      return group;
    }
  }

  /**
   * Finds the first record with a hash for which `take` returns a value: `take` compares the key itself.
   * Starts again if a merge closed a segment meanwhile.
   */
  async find<Value>(
    kind: KeyKind,
    key: string,
    take: (record: SegmentRecord, body: unknown) => Value | undefined,
  ): Promise<Value | undefined> {
    return this.read(async (segments) => {
      for await (const record of this.#withHash(hashOf(kind, key), segments)) {
        const found = take(record, await bodyOf(record));
        if (found !== undefined) return found;
      }
      return undefined;
    });
  }

  /** Whether a record has a key, or another key with the same first 64 bits of its SHA-256. */
  async has(kind: KeyKind, key: string): Promise<boolean> {
    return this.read(async (segments) => {
      for await (const _ of this.#withHash(hashOf(kind, key), segments)) return true;
      return false;
    });
  }

  async *#withHash(hash: Buffer, segments: readonly Segment[]): AsyncGenerator<SegmentRecord> {
    for (const segment of segments) {
      for await (const record of segment.find(hash)) if (this.#isLive(record)) yield record;
    }
  }

  /** Reads from the segments of one moment, and again if one of them was closed meanwhile. */
  async read<Value>(work: (segments: readonly Segment[]) => Promise<Value>): Promise<Value> {
    for (;;) {
      const segments = this.#segments;
      try {
        return await work(segments);
      } catch (error) {
        if (segments === this.#segments) throw error;
      }
    }
  }

  /** Tasks that ended before a time, from the oldest segment on. */
  async *endedBefore(time: number): AsyncGenerator<SegmentRecord> {
    for (const segment of [...this.#segments].reverse()) {
      if (segment.footer.oldest >= time) continue;
      for await (const record of this.#tasksIn(segment.oldest())) {
        if (record.entry.endedAt < time) yield record;
      }
    }
  }

  /** Tasks of an account, oldest first. */
  oldestFirst(accountId: string): AsyncGenerator<SegmentRecord> {
    const sources = this.#segments.map((segment) => segment.oldest(accountId));
    return this.#tasksIn(mergeSorted(sources, byOrder));
  }

  /** All tasks, oldest first, from the segments of one moment. */
  allOldestFirst(segments: readonly Segment[]): AsyncGenerator<SegmentRecord> {
    const sources = segments.flatMap((segment) =>
      segment.footer.accounts.map(({ id }) => segment.oldest(id)),
    );
    return this.#tasksIn(mergeSorted(sources, byOrder));
  }

  /** Tasks with an order below `before`, newest first. */
  async *newestFirst(
    segments: readonly Segment[],
    { accountId, status, type }: TaskQuery,
    before: number,
  ): AsyncGenerator<SegmentRecord> {
    const wanted = status && TASK_STATES.indexOf(status);
    const kind = type && TASK_TYPES.indexOf(type);
    const sources = segments.flatMap((segment) =>
      accountId === undefined
        ? segment.footer.accounts.map(({ id }) => segment.newest(id, before))
        : segment.newest(accountId, before),
    );
    const records = mergeSorted(sources, (one, other) => byOrder(other, one));
    for await (const record of this.#tasksIn(records)) {
      const { entry } = record;
      if (wanted !== undefined && entry.status !== wanted) continue;
      if (kind === undefined || entry.type === kind) yield record;
    }
  }

  /** Those records that are tasks, without the deleted ones. */
  async *#tasksIn(records: AsyncIterable<SegmentRecord>): AsyncGenerator<SegmentRecord> {
    for await (const record of records) {
      if (record.entry.status !== NO_TASK && this.#isLive(record)) yield record;
    }
  }
}

const byOrder = (one: SegmentRecord, other: SegmentRecord) => one.entry.order - other.entry.order;
