import { isStorageFailure, retryStorage } from '../../assets/retry-storage.ts';
import type { AssetStorage } from '../../assets/storage/asset-storage.ts';
import { newAssetId } from '../../assets/storage/identifier.ts';
import type { SpooledFile } from '../../assets/storage/spooled-file.ts';
import { isRemote } from '../../config/providers/provider-kinds.ts';
import { codedFailure, Failure } from '../../failure.ts';
import type { Limits } from '../../images/limits.ts';
import { waitBeforeRetry } from '../../routing/backoff.ts';
import { redactFailure } from '../../routing/redaction.ts';
import { answerSeconds } from '../../store/answer-identity.ts';
import type { NewAsset } from '../../store/asset.ts';
import { responseChunks } from '../../upstream/response-chunks.ts';
import type { MediaJob, MediaOutput, OutputFile, ProviderContext } from '../provider/provider.ts';
import type { StoredResult, TaskRequest } from '../task/task-request.ts';
import { type DownloadOptions, isTransientFailure, openDownload } from './download.ts';
import { verifyImage } from './images.ts';
import { describeBytes, HEAD_BYTES, isText, type MediaType, sniffMedia } from './media-type.ts';

export interface StoreOptions extends DownloadOptions, Pick<ProviderContext, 'pool'> {
  readonly files: AssetStorage;
  /** Limits for decoding images; MAX_BYTES replaces their limit of the file's size. */
  readonly limits: Limits;
  /** Called when the storage of files rejects a file, and with null once it accepts it. */
  readonly onStorageFailure: (failure: Failure | null) => void;
}

const MB = 1024 * 1024;

/** Bytes of one output file. */
const MAX_BYTES: Readonly<Record<TaskRequest['type'], number>> = {
  image: 64 * MB,
  audio: 256 * MB,
  video: 2048 * MB,
};

/** Files of one video or audio task, in case a provider returns several. */
const MAX_FILES = 10;

/** A file of the output on the local disk. */
interface SpooledOutput {
  readonly file: SpooledFile;
  readonly mediaType: string;
}

/** Attempts at a download: the provider has already charged for the file. */
const MAX_DOWNLOAD_ATTEMPTS = 4;

/**
 * Stores a provider's output as files, which are stored when this resolves. Files that are corrupt,
 * of another media type or size than requested, or more than requested are left out. Retries while
 * the storage of files fails, until the signal is aborted; files wait on the local disk meanwhile.
 *
 * @throws Failure `billable_error` with code `unusable_result` where no file is left; the signal's
 *   reason once it is aborted. No file is stored then.
 */
export async function storeResults(
  { request }: Pick<MediaJob, 'request'>,
  output: MediaOutput,
  options: StoreOptions,
): Promise<{ result: StoredResult; assets: NewAsset[] }> {
  const { signal, settings } = options;
  const wanted = output.files.slice(0, request.type === 'image' ? request.n : MAX_FILES);
  const outcomes = await storeAll(wanted, request, options);
  const stored = outcomes.flatMap((outcome, index) =>
    outcome instanceof Failure ? [] : [{ ...outcome, output: wanted[index]! }],
  );
  if (signal.aborted || stored.length === 0) {
    await discardAll(outcomes);
    if (signal.aborted) throw signal.reason;
    // The provider chose the URLs that failures of downloads quote, and may have put the key there.
    const apiKey = isRemote(settings) ? settings.apiKey : undefined;
    const failures = outcomes.filter((outcome) => outcome instanceof Failure);
    throw redactFailure(unusableResult(request, failures), apiKey);
  }
  return {
    result: {
      created: answerSeconds(),
      outputs: stored.map(({ file, output: { revisedPrompt = null } }) => ({
        asset: file.id,
        revisedPrompt,
      })),
      usage: output.usage,
    },
    assets: stored.map(({ file: { id, bytes, sha256 }, mediaType }) => ({
      id,
      mediaType,
      bytes,
      sha256,
    })),
  };
}

/** Stores each file; returns the failure where it is unusable. */
async function storeAll(
  outputFiles: readonly OutputFile[],
  request: TaskRequest,
  options: StoreOptions,
): Promise<(SpooledOutput | Failure)[]> {
  const outcomes: (SpooledOutput | Failure)[] = [];
  const storeRemaining = async () => {
    const settled = await Promise.allSettled(
      outputFiles.map(async (file, index) => {
        outcomes[index] ??= await spoolFile(file, request, options).catch((error: unknown) => {
          if (error instanceof Failure && !isStorageFailure(error)) return error;
          throw error;
        });
        const outcome = outcomes[index];
        if (!(outcome instanceof Failure)) await outcome.file.store(options.signal);
      }),
    );
    const failed = settled.find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
  };
  try {
    await retryStorage(storeRemaining, options.signal, options.onStorageFailure);
    return outcomes;
  } catch (error) {
    await discardAll(outcomes);
    throw options.signal.aborted ? options.signal.reason : error;
  }
}

/** Entries are missing where the disk failed. */
async function discardAll(outcomes: readonly (SpooledOutput | Failure)[]): Promise<void> {
  const spooled = outcomes.flatMap((outcome) => (outcome instanceof Failure ? [] : [outcome.file]));
  await Promise.all(spooled.map((file) => file.discard()));
}

function unusableResult({ type }: TaskRequest, failures: readonly Failure[]): Failure {
  const messages = failures.map(({ message }, index) =>
    failures.length === 1 ? message : `${index + 1}: ${message}`,
  );
  const reason = messages.length === 0 ? 'nothing came' : messages.join('; ');
  const details = failures.flatMap(({ detail }) => detail ?? []);
  return new Failure('billable_error', `The provider made no ${type} that can be used: ${reason}`, {
    code: 'unusable_result',
    cause: failures[0],
    ...(details.length > 0 && { detail: details.join('; ') }),
  });
}

async function spoolFile(
  file: OutputFile,
  request: TaskRequest,
  options: StoreOptions,
): Promise<SpooledOutput> {
  if ('bytes' in file) return spoolChunks([file.bytes], request, options);
  const { signal } = options;
  for (let attempts = 1; ; attempts += 1) {
    try {
      const response = await openDownload(file, options);
      return await spoolChunks(responseChunks(response), request, options);
    } catch (error) {
      if (signal.aborted || !(error instanceof Failure) || !isTransientFailure(error)) throw error;
      if (attempts === MAX_DOWNLOAD_ATTEMPTS) throw error;
      const deadline = Number.POSITIVE_INFINITY;
      if (!(await waitBeforeRetry(attempts, error, { signal, deadline }))) throw error;
    }
  }
}

type ChunkIterator = AsyncIterator<Uint8Array> | Iterator<Uint8Array>;

/** Reads as many bytes as tell the media type, before anything is written. */
async function readHead(chunks: ChunkIterator): Promise<Uint8Array> {
  const head: Uint8Array[] = [];
  for (let length = 0; length < HEAD_BYTES; ) {
    const { value, done } = await chunks.next();
    if (done) break;
    head.push(value);
    length += value.length;
  }
  return head.length === 1 ? head[0]! : Buffer.concat(head);
}

async function spoolChunks(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  request: TaskRequest,
  { files, pool, limits }: StoreOptions,
): Promise<SpooledOutput> {
  const chunks =
    Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  try {
    const head = await readHead(chunks);
    const { mediaType, extension, kind } = mediaTypeFor(request, head);
    const maxBytes = MAX_BYTES[request.type];
    const file = await files.spool(newAssetId(extension), concat(head, chunks), maxBytes);
    try {
      if (kind === 'image') {
        const image = await verifyImage(pool, file.path, { ...limits, fileBytes: maxBytes });
        checkSize(request, image);
      }
    } catch (error) {
      // Where the file does not read back as written, the disk is at fault and not the image.
      const isIntact = await file.isIntact();
      await file.discard();
      if (isIntact) throw error;
      const message = 'files cannot be kept: they do not read back as written';
      throw codedFailure('storage_unavailable', message, { cause: error });
    }
    return { file, mediaType };
  } finally {
    await chunks.return?.();
  }
}

async function* concat(head: Uint8Array, chunks: ChunkIterator): AsyncGenerator<Uint8Array, void> {
  yield head;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
}

/** Headerless samples, which only the request identifies as audio. */
const PCM: MediaType = { kind: 'audio', mediaType: 'audio/pcm', extension: 'pcm' };

/** Media types of another kind that are accepted: animated images as video, MPEG-4 with audio only. */
const ALSO_ACCEPTED: Readonly<Record<TaskRequest['type'], readonly string[]>> = {
  image: [],
  video: ['image/webp', 'image/gif'],
  audio: ['video/mp4', 'video/webm'],
};

function mediaTypeFor(request: TaskRequest, head: Uint8Array): MediaType {
  const { type } = request;
  const found = sniffMedia(head);
  if (found !== null && (found.kind === type || ALSO_ACCEPTED[type].includes(found.mediaType))) {
    return type === 'audio'
      ? { ...found, mediaType: found.mediaType.replace('video/', 'audio/') }
      : found;
  }
  const mayBePcm = type === 'audio' && request.format === 'pcm' && head.length > 0;
  if (found === null && mayBePcm && !isText(head)) return PCM;
  const noun = type === 'image' ? 'an image' : type === 'video' ? 'a video' : 'sound';
  throw codedFailure('unusable_result', `it is ${describeBytes(head)} rather than ${noun}`);
}

function checkSize(
  request: TaskRequest,
  { width, height }: { readonly width: number; readonly height: number },
): void {
  if (request.type !== 'image' || !request.native) return;
  if (request.size === null || request.size === 'auto') return;
  const size = `${width}x${height}`;
  if (size === request.size) return;
  throw codedFailure('unusable_result', `it is ${size} rather than ${request.size}`);
}
