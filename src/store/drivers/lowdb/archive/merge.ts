import { setImmediate } from 'node:timers/promises';
import { compareKeys, encodeKey, hashIn, indexIn, type SegmentFile } from './layout.ts';
import type { Segment, SegmentRecord } from './segment.ts';
import type { SegmentWriter } from './segment-writer.ts';

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

/** Records after which the merge yields to the event loop. */
const YIELD_INTERVAL = 64;

/** New index of a record that is left out. */
const DELETED = 0xffffffff;

/** Records that are deleted but still in a segment. */
export interface Tombstones {
  has(segment: number, index: number): boolean;
  countIn(segment: number): number;
}

/**
 * Segments to rewrite as one; undefined if there are none.
 *
 * @param damaged numbers of segments that cannot be merged
 */
export function segmentsToMerge(
  segments: readonly Segment[],
  tombstones: Tombstones,
  damaged: ReadonlySet<number>,
): readonly Segment[] | undefined {
  const whole = segments.filter(({ number }) => !damaged.has(number));
  const hasManyDeleted = ({ number, footer }: Segment) =>
    tombstones.countIn(number) > footer.entries * MAX_DELETED_SHARE;
  const toRewrite = whole.find((segment) => segment.hasRebuiltKeys || hasManyDeleted(segment));
  if (toRewrite) return [toRewrite];
  const sizes = new Map<number, Segment[]>();
  for (const segment of whole) {
    const { length } = segment.file;
    if (length >= LARGEST_BYTES) continue;
    const power = Math.log(Math.max(1, length / SMALLEST_BYTES)) / Math.log(MERGE_FACTOR);
    const same = [...(sizes.get(Math.floor(power)) ?? []), segment];
    if (same.length >= MERGE_FACTOR) return same;
    sizes.set(Math.floor(power), same);
  }
  return undefined;
}

/**
 * Writes the records of several segments into one, without the deleted ones. Needs four bytes of memory
 * for each record, and one record at a time.
 */
export async function mergeInto(
  writer: SegmentWriter,
  segments: readonly Segment[],
  tombstones: Tombstones,
): Promise<SegmentFile> {
  const places = new Map(
    segments.map(({ number, footer }) => [number, new Uint32Array(footer.entries).fill(DELETED)]),
  );
  const records = mergeSorted(
    segments.map((segment) => segment.oldest()),
    compareRecords,
  );
  let count = 0;
  for await (const { segment, index, entry } of records) {
    count += 1;
    if (count % YIELD_INTERVAL === 0) await setImmediate();
    if (tombstones.has(segment.number, index)) continue;
    const body = await segment.body(entry);
    const account = segment.accountOf(entry);
    places.get(segment.number)![index] = await writer.add({ ...entry, account, body });
  }
  return writer.finish(
    mergeSorted(
      segments.map((segment) => keysOf(segment, places.get(segment.number)!)),
      compareKeys,
    ),
  );
}

/** Keys of a segment with the new indexes of their records. */
async function* keysOf(segment: Segment, places: Uint32Array): AsyncGenerator<Buffer> {
  let count = 0;
  for await (const key of segment.keys()) {
    count += 1;
    if (count % (16 * YIELD_INTERVAL) === 0) await setImmediate();
    const place = places[indexIn(key)]!;
    if (place !== DELETED) yield encodeKey(hashIn(key), place);
  }
}

function compareRecords(one: SegmentRecord, other: SegmentRecord): number {
  const [account, second] = [
    one.segment.accountOf(one.entry),
    other.segment.accountOf(other.entry),
  ];
  if (account !== second) return account < second ? -1 : 1;
  return one.entry.order - other.entry.order;
}

/** Merges sorted sources into one sorted sequence. */
export async function* mergeSorted<Value>(
  sources: readonly AsyncIterator<Value>[],
  compare: (one: Value, other: Value) => number,
): AsyncGenerator<Value> {
  const heads: { value: Value; readonly source: AsyncIterator<Value> }[] = [];
  for (const source of sources) {
    const { done, value } = await source.next();
    if (!done) heads.push({ value, source });
  }
  while (heads.length > 0) {
    let first = 0;
    for (let at = 1; at < heads.length; at += 1) {
      if (compare(heads[at]!.value, heads[first]!.value) < 0) first = at;
    }
    const head = heads[first]!;
    yield head.value;
    const { done, value } = await head.source.next();
    if (done) heads.splice(first, 1);
    else head.value = value;
  }
}
