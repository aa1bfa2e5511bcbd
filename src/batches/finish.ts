import { changeDocument } from '../store/document.ts';
import type { BatchBody, BatchDocument, BatchEnd } from './batch.ts';
import { linesOf, MESSAGES, parseLine } from './input.ts';
import { unrunLine } from './line-runner.ts';
import { FAILED, type RangeServices, SUCCEEDED } from './range-run.ts';
import { JSONL } from './stored-files.ts';

type FinishServices = Pick<RangeServices, 'store' | 'assets' | 'files' | 'config'>;

/** Bytes of results that are written together. */
const WRITE_BYTES = 64 * 1024;

/** Writes the result files of a stopped batch, and ends it. Any node may repeat this after a crash. */
export async function finishBatch(
  services: FinishServices,
  batch: BatchDocument,
  as: BatchEnd,
): Promise<void> {
  const { store, files, config } = services;
  const { body, accountId, id } = batch;
  const isSplit = body.endpoint !== MESSAGES;
  const outputs = [
    await writeOutput(services, batch, as, isSplit ? SUCCEEDED : null),
    isSplit ? await writeOutput(services, batch, as, FAILED) : null,
  ] as const;
  if (body.inputFile !== null) await files.use(accountId, body.inputFile, id, false);
  const cleared = { ranges: [], segments: [], leases: {}, outputs, status: as };
  await changeDocument<BatchBody>(store.documents, batch, (found) => ({
    isOpen: false,
    expiresAt: store.now + config().limits.retention,
    body: { ...found, ...cleared, ended: store.now },
  }));
  const own = body.inputFile === null ? [body.input] : [];
  await files.discard(accountId, [...body.segments, ...(body.remote?.results ?? []), ...own]);
}

/** Writes one file of results. @returns its identifier; null where it would be empty */
async function writeOutput(
  services: FinishServices,
  batch: BatchDocument,
  as: BatchEnd,
  mark: string | null,
): Promise<string | null> {
  const { files, store } = services;
  const { accountId, id, body } = batch;
  const fileId = body.outputs[mark === FAILED ? 1 : 0]!;
  if (await store.documents.find({ kind: 'file', accountId, id: fileId })) return fileId;
  const chunks = inChunks(outputLines(services, batch, as, mark));
  const asset = await files.write(JSONL, chunks);
  if (asset.bytes === 0) {
    await files.discard(accountId, [asset]);
    return null;
  }
  const filename = `${id}_${mark === FAILED ? 'errors' : 'output'}.jsonl`;
  await files.record({ accountId, id: fileId }, { filename, purpose: 'batch_output', asset });
  return fileId;
}

async function* inChunks(lines: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer, void> {
  let waiting: Buffer[] = [];
  let size = 0;
  for await (const line of lines) {
    const bytes = Buffer.from(line);
    waiting.push(bytes, Buffer.from('\n'));
    size += bytes.length;
    if (size < WRITE_BYTES) continue;
    yield Buffer.concat(waiting);
    [waiting, size] = [[], 0];
  }
  if (size > 0) yield Buffer.concat(waiting);
}

async function* outputLines(
  { assets, config }: FinishServices,
  { body }: BatchDocument,
  as: BatchEnd,
  mark: string | null,
): AsyncGenerator<Buffer | string, void> {
  const { endpoint, input, segments, ranges } = body;
  for (const segment of segments) {
    for await (const { bytes } of linesOf(assets.chunks(segment), Infinity)) {
      if (mark === null || bytes[0] === mark.charCodeAt(0)) yield bytes.subarray(1);
    }
  }
  for (const { at, lines } of mark === SUCCEEDED ? [] : ranges) {
    let left = lines;
    const part = { range: { first: at.offset, last: input.bytes - 1 } };
    for await (const { bytes } of linesOf(assets.chunks(input, part), config().server.bodyLimit)) {
      yield unrunLine(endpoint, parseLine(bytes, endpoint).customId, as);
      left -= 1;
      if (left === 0) break;
    }
  }
}
