import { codedFailure, type Failure } from '../failure.ts';
import type { FairSemaphore, Release } from '../fair-semaphore.ts';
import type { Reservation } from '../store/budgets.ts';
import { changeDocument } from '../store/document.ts';
import { addCounts, type MeteredUsage, NO_USAGE } from '../store/ledger.ts';
import type { KeyHolder, Store } from '../store/store.ts';
import { type AbortSignalLike, sleep } from '../upstream/abort-signal.ts';
import type { BatchBody, BatchDocument, BatchRange } from './batch.ts';
import { type Line, linesOf } from './input.ts';
import { type LineResult, type LineServices, runLine } from './line-runner.ts';
import type { RemoteResults } from './remote-results.ts';
import { type FileServices, JSONL, type StoredFiles } from './stored-files.ts';

export interface RangeServices extends FileServices, LineServices {
  readonly files: StoredFiles;
  /** Limits the requests of batches that run at the same time, fairly between accounts. */
  readonly slots: FairSemaphore;
  /** Resolves when no client's request is waiting, or this one has waited long enough. */
  readonly turn: () => Promise<void>;
  /** Results of providers' batches. */
  readonly remote: RemoteResults;
  /** Name of this node in claims. */
  readonly node: string;
}

/** When consecutive results are stored: after so many milliseconds, or bytes. */
const [MAX_AGE_MS, MAX_BYTES] = [3000, 2 * 2 ** 20];

/** Marks of lines in segments. */
export const [SUCCEEDED, FAILED] = ['+', '-'] as const;

/** Results of consecutive lines that are stored together. */
interface Segment {
  readonly parts: Buffer[];
  readonly usage: Map<string, MeteredUsage>;
  readonly held: Reservation[];
  readonly since: number;
  last: Line | null;
  lines: number;
  bytes: number;
  failed: number;
  unrun: number;
}

const newSegment = (): Segment => ({
  ...{ parts: [], usage: new Map(), held: [], last: null, lines: 0, bytes: 0, failed: 0, unrun: 0 },
  since: performance.now(),
});

/**
 * Runs the lines of a range in order, several at once. Results of consecutive lines become durable as a segment: first
 * its file is stored; then the batch refers to it, which only the node that has claimed the range can write; then one
 * transaction records the file and charges the results; last they are counted.
 */
export async function runRange(
  services: RangeServices,
  claimed: BatchDocument,
  rangeId: number,
  { holder, stop }: { readonly holder: KeyHolder; readonly stop: AbortSignalLike },
): Promise<void> {
  const { store, assets, slots, turn, config } = services;
  const { input, ranges } = claimed.body;
  const range = ranges.find(({ id }) => id === rangeId)!;
  const running: (readonly [Line, Promise<LineResult | null>])[] = [];
  let segment = newSegment();
  let isCut = false;
  const release = async (held: Reservation[]) => {
    for (const one of held.splice(0)) await store.release(one);
  };
  const save = async () => {
    if (segment.lines > 0) await saveSegment(services, claimed, rangeId, segment);
    await release(segment.held);
    segment = newSegment();
  };
  const take = async () => {
    const [line, answer] = running.shift()!;
    const result = await answer;
    // Lines after the first one without a result run again.
    isCut ||= result === null;
    if (isCut) return release([...(result?.held ?? [])]);
    addResult(segment, line, result!);
    const isFull = segment.bytes > MAX_BYTES || performance.now() - segment.since > MAX_AGE_MS;
    return isFull ? save() : undefined;
  };
  const { bodyLimit } = config().server;
  const window = config().batches.parallel * 2;
  try {
    let left = range.lines;
    const part = { range: { first: range.at.offset, last: input.bytes - 1 } };
    for await (const line of linesOf(assets.chunks(input, part), bodyLimit, range.at)) {
      while (running.length >= window && !isCut) await take();
      const freed = await slots.acquire(holder.account.id);
      await turn();
      if (stop.aborted || isCut) {
        freed();
        break;
      }
      running.push([line, answerLine(services, line, claimed.body, { holder, stop, freed })]);
      left -= 1;
      if (left === 0) break;
    }
    while (running.length > 0) await take();
    await save();
  } finally {
    for (const [, answer] of running) await release([...((await answer)?.held ?? [])]);
    await release(segment.held);
  }
}

/** Runs a line, without a slot while it waits for its next attempt. @returns null once the range is stopped */
async function answerLine(
  services: RangeServices,
  { bytes, number }: Line,
  body: BatchBody,
  { holder, stop, freed }: { holder: KeyHolder; stop: AbortSignalLike; freed: Release },
): Promise<LineResult | null> {
  let release = freed;
  const given = await services.remote.answerOf(body, number).catch((error: unknown) => {
    freed();
    throw error;
  });
  for (let attempt = 1; ; attempt += 1) {
    const run = { holder, attempt, given };
    const result = await runLine(services, bytes, body, run).finally(release);
    if (typeof result !== 'number') return result;
    await sleep(result, stop).catch(() => {});
    if (stop.aborted) return null;
    release = await services.slots.acquire(holder.account.id);
  }
}

function addResult(segment: Segment, line: Line, result: LineResult): void {
  const part = Buffer.from(`${result.isFailed ? FAILED : SUCCEEDED}${result.line}\n`);
  segment.parts.push(part);
  segment.bytes += part.length;
  segment.lines += 1;
  segment.failed += result.isFailed && !result.isUnrun ? 1 : 0;
  segment.unrun += result.isUnrun ? 1 : 0;
  segment.last = line;
  segment.held.push(...result.held);
  for (const metered of result.usage) {
    const name = `${metered.model}\0${metered.tags ?? ''}`;
    const sum = segment.usage.get(name) ?? { ...metered, counts: NO_USAGE, charge: 0 };
    const counts = addCounts(sum.counts as typeof NO_USAGE, metered.counts);
    segment.usage.set(name, { ...sum, counts, charge: sum.charge + metered.charge });
  }
}

/** @throws Failure 409 `claim_lost` where another node has the range */
async function saveSegment(
  { store, files, node }: RangeServices,
  batch: BatchDocument,
  rangeId: number,
  { parts, lines, failed, unrun, last, usage, held }: Segment,
): Promise<void> {
  const asset = await files.write(JSONL, Buffer.concat(parts));
  const at = { offset: last!.end, number: last!.number + 1 };
  const pending = { asset, lines, failed, unrun, at, usage: [...usage.values()] };
  const decided = await changeDocument<BatchBody>(store.documents, batch, (body) => {
    const own = body.ranges.find(({ id, by }) => id === rangeId && by === node);
    return own && !own.pending ? withRange(body, { ...own, pending }) : null;
  });
  if (decided) return settleRange(store, decided, rangeId, held);
  await files.discard(batch.accountId, [asset]);
  throw codedFailure('claim_lost', `${batch.id}: another node has its lines`);
}

/** The body with a changed range, or without it once it has no lines left. */
export function withRange(body: BatchBody, changed: BatchRange) {
  const ranges = body.ranges.flatMap((range) => {
    if (range.id !== changed.id) return [range];
    return changed.lines === 0 ? [] : [changed];
  });
  return { body: { ...body, ranges } };
}

/**
 * Charges the decided results of a range once, and counts them. Any node may repeat this after a crash.
 *
 * @param held reservations for them
 */
export async function settleRange(
  store: Store,
  batch: BatchDocument,
  rangeId: number,
  held: readonly Reservation[] = [],
): Promise<void> {
  const pending = batch.body.ranges.find(({ id }) => id === rangeId)?.pending;
  if (pending === undefined) return;
  const { asset, usage, lines, failed, unrun = 0, at } = pending;
  const charged = { keyId: batch.body.keyId, usage, held };
  await store.addUpload(batch.accountId, asset, Infinity, charged).catch((error: Failure) => {
    if (error.code !== 'asset_exists') throw error;
  });
  await changeDocument<BatchBody>(store.documents, batch, (body) => {
    const own = body.ranges.find(({ id }) => id === rangeId);
    if (own?.pending?.asset.id !== asset.id) return null;
    const { pending: _, ...rest } = own;
    const counted = {
      ...body,
      segments: [...body.segments, asset],
      succeeded: body.succeeded + lines - failed - unrun,
      failed: body.failed + failed,
    };
    return withRange(counted, { ...rest, at, lines: own.lines - lines });
  });
}
