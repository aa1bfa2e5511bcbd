import { join } from 'node:path';
import { Failure } from '../../../../failure.ts';
import { makeFolder, namesIn, remove } from '../../../files.ts';
import {
  TASK_STATES,
  TASK_TYPES,
  type TaskQuery,
  type TaskState,
  type TaskTotals,
} from '../../../task.ts';
import {
  compareKeys,
  encodeKey,
  hashOf,
  type KeyKind,
  NO_TASK,
  type SegmentFile,
} from './layout.ts';
import { mergeInto, mergeSorted } from './merge.ts';
import { Segment, type SegmentOptions, type SegmentRecord } from './segment.ts';
import { type NewRecord, SegmentWriter } from './segment-writer.ts';

const NAME = /^\d{8,}\.segment(\.new)?$/;

/** Segments of about one size that are merged into one, so that a search reads few segments. */
const MERGE_FACTOR = 8;
/** Size of the smallest class of segments. Each class is `MERGE_FACTOR` times as large as the one before. */
const SMALLEST_BYTES = 128 * 1024;
/**
 * Size from which segments are not merged. A checkpoint waits for the merge, and a large segment is
 * removed without one when all of its records are deleted.
 */
const LARGEST_BYTES = 8 * 2 ** 20;
/** Share of deleted records above which a segment is rewritten without them. */
const MAX_DELETED_SHARE = 1 / 4;

/** Records that are deleted but still in a segment. */
interface Tombstones {
  has(segment: number, index: number): boolean;
  countIn(segment: number): number;
}

interface ArchiveOptions extends SegmentOptions {
  readonly tombstones: Tombstones;
}

/** Segments that a checkpoint names. */
export interface SegmentList {
  readonly files: readonly SegmentFile[];
  readonly next: number;
}

/** A record to write, with the hashes of its keys. */
export interface ArchivedRecord extends NewRecord {
  readonly keys: readonly Buffer[];
}

/** Segments on disk that become valid when a checkpoint names them. */
export interface ArchiveExtension {
  readonly list: SegmentList;
  /** Numbers of segments that are no longer part of the archive. */
  readonly dropped: readonly number[];
  /** Makes the new segments the ones that are read. */
  adopt(): void;
  /** Closes the new segments. @param keepFiles whether a checkpoint on disk may name them */
  cancel(keepFiles: boolean): Promise<void>;
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

  get list(): SegmentList {
    return { files: this.#segments.map(({ file }) => file), next: this.#next };
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
   * Writes records into new segments, and merges segments that are many or mostly deleted.
   *
   * @param batches records in the order of accounts and of creation; each batch becomes one segment
   */
  async extend(batches: Iterable<Iterable<ArchivedRecord>>): Promise<ArchiveExtension> {
    const made = new Set<Segment>();
    const { files, folder } = this.#options;
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
      for (let group = this.#toMerge(segments); group; group = this.#toMerge(segments)) {
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
        list: { files: segments.map(({ file }) => file), next: this.#next },
        dropped: dropped.map(({ number }) => number),
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
      if (NAME.test(name) && !names.has(name)) await remove(files, join(folder, name));
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
    const number = this.#next;
    this.#next += 1;
    await makeFolder(files, folder);
    const file = `${String(number).padStart(8, '0')}.segment`;
    const writer = await SegmentWriter.create({ files, folder, file, store, number });
    try {
      return await Segment.open(await work(writer), this.#options);
    } catch (error) {
      await writer.discard();
      throw error;
    }
  }

  /** Returns segments to rewrite as one; undefined if there are none. */
  #toMerge(segments: readonly Segment[]): readonly Segment[] | undefined {
    const { tombstones } = this.#options;
    const whole = segments.filter(({ number }) => !this.#damaged.has(number));
    const hasManyDeleted = ({ number, footer }: Segment) =>
      tombstones.countIn(number) > footer.entries * MAX_DELETED_SHARE;
    const toRewrite = whole.find((segment) => segment.hasRebuiltKeys || hasManyDeleted(segment));
    if (toRewrite) return [toRewrite];
    const sizes = new Map<number, Segment[]>();
    for (const segment of whole) {
      if (segment.file.length >= LARGEST_BYTES) continue;
      const power =
        Math.log(Math.max(1, segment.file.length / SMALLEST_BYTES)) / Math.log(MERGE_FACTOR);
      const same = [...(sizes.get(Math.floor(power)) ?? []), segment];
      if (same.length >= MERGE_FACTOR) return same;
      sizes.set(Math.floor(power), same);
    }
    return undefined;
  }

  /** @returns segments that replace the group: none if all records are deleted, the group if the merge failed */
  async #merge(group: readonly Segment[]): Promise<readonly Segment[]> {
    const { tombstones, onFault } = this.#options;
    const isEmpty = group.every(
      ({ number, footer }) => tombstones.countIn(number) === footer.entries,
    );
    if (isEmpty) return [];
    try {
      const isDeleted = (segment: number, index: number) => tombstones.has(segment, index);
      return [await this.#write((writer) => mergeInto(writer, group, isDeleted))];
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
    const hash = hashOf(kind, key);
    return this.read(async (segments) => {
      for (const segment of segments) {
        for await (const record of segment.find(hash)) {
          if (!this.#isLive(record)) continue;
          const found = take(record, await bodyOf(record));
          if (found !== undefined) return found;
        }
      }
      return undefined;
    });
  }

  /** Whether a record has a key, or another key with the same first 64 bits of its SHA-256. */
  async has(kind: KeyKind, key: string): Promise<boolean> {
    const hash = hashOf(kind, key);
    return this.read(async (segments) => {
      for (const segment of segments) {
        for await (const record of segment.find(hash)) if (this.#isLive(record)) return true;
      }
      return false;
    });
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
      for await (const record of segment.oldest()) {
        if (record.entry.endedAt < time && this.#isTask(record)) yield record;
      }
    }
  }

  /** Tasks of an account, oldest first. */
  async *oldestFirst(accountId: string): AsyncGenerator<SegmentRecord> {
    const records = mergeSorted(
      this.#segments.map((segment) => segment.oldest(accountId)),
      (one, other) => one.entry.order - other.entry.order,
    );
    for await (const record of records) if (this.#isTask(record)) yield record;
  }

  /** All tasks, oldest first, from the segments of one moment. */
  async *allOldestFirst(segments: readonly Segment[]): AsyncGenerator<SegmentRecord> {
    const records = mergeSorted(
      segments.flatMap((segment) => segment.footer.accounts.map(({ id }) => segment.oldest(id))),
      (one, other) => one.entry.order - other.entry.order,
    );
    for await (const record of records) if (this.#isTask(record)) yield record;
  }

  #isTask(record: SegmentRecord): boolean {
    return record.entry.status !== NO_TASK && this.#isLive(record);
  }

  /** Tasks with an order below `before`, newest first, without deleted ones. */
  async *newestFirst(
    segments: readonly Segment[],
    { accountId, status, type }: TaskQuery,
    before: number,
  ): AsyncGenerator<SegmentRecord> {
    const [wanted, kind] = [
      status && TASK_STATES.indexOf(status),
      type && TASK_TYPES.indexOf(type),
    ];
    const matches = ({ entry }: SegmentRecord) =>
      (wanted === undefined || entry.status === wanted) &&
      (kind === undefined || entry.type === kind);
    const sources = segments.flatMap((segment) =>
      accountId === undefined
        ? segment.footer.accounts.map(({ id }) => segment.newest(id, before))
        : segment.newest(accountId, before),
    );
    const records = mergeSorted(sources, (one, other) => other.entry.order - one.entry.order);
    for await (const record of records) if (matches(record) && this.#isTask(record)) yield record;
  }
}

async function writeRecords(
  writer: SegmentWriter,
  records: Iterable<ArchivedRecord>,
): Promise<SegmentFile> {
  const keys: Buffer[] = [];
  for (const { keys: hashes, ...record } of records) {
    const index = await writer.add(record);
    for (const hash of hashes) keys.push(encodeKey(hash, index));
  }
  return writer.finish(keys.sort(compareKeys));
}

export async function bodyOf({ segment, entry }: SegmentRecord): Promise<unknown> {
  return JSON.parse((await segment.body(entry)).toString());
}
