import { setImmediate } from 'node:timers/promises';
import { compareKeys, encodeKey, hashIn, indexIn, type SegmentFile } from './layout.ts';
import type { Segment, SegmentRecord } from './segment.ts';
import type { SegmentWriter } from './segment-writer.ts';

/** Records after which the merge yields to the event loop. */
const YIELD_INTERVAL = 64;

/** New index of a record that is left out. */
const DELETED = 0xffffffff;

/**
 * Writes the records of several segments into one, without the deleted ones. Needs four bytes of memory
 * for each record, and one record at a time.
 */
export async function mergeInto(
  writer: SegmentWriter,
  segments: readonly Segment[],
  isDeleted: (segment: number, index: number) => boolean,
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
    if (isDeleted(segment.number, index)) continue;
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
