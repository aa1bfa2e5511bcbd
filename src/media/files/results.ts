import { isRemote } from '../../config/provider-kinds.ts';
import type { Provider as ProviderSettings } from '../../config/schema.ts';
import { Failure } from '../../failure.ts';
import type { Limits } from '../../images/limits.ts';
import type { ImagePool } from '../../operations/pool.ts';
import { waitBeforeRetry } from '../../routing/backoff.ts';
import { redactFailure } from '../../routing/redaction.ts';
import type { NewAsset } from '../../store/asset.ts';
import type { AssetFiles } from '../../store/asset-files.ts';
import type { AbortSignalLike } from '../../upstream/abort-signal.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import type { NetworkPolicy } from '../../upstream/network-policy.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { Order, Product, Production } from '../providers/provider.ts';
import type { StoredResult } from '../result.ts';
import type { Work } from '../work.ts';
import { mayPass, openDownload, piecesOf } from './download.ts';
import { describeBytes, HEAD, isText, type MediaType, sniffMedia } from './media-type.ts';
import { provePicture } from './pictures.ts';
import { isStorageFailure, retryStorage } from './retry-storage.ts';

/** What results are fetched, proven and kept with. */
export interface Keeping {
  /** The provider that made them. */
  readonly settings: ProviderSettings;
  readonly upstream: UpstreamClient;
  readonly pool: ImagePool;
  readonly files: AssetFiles;
  /** Of what is an image; how many bytes a file may have is said here. */
  readonly limits: Limits;
  /** Where results may be. */
  readonly network: NetworkPolicy;
  readonly timeouts: Timeouts;
  readonly signal: AbortSignalLike;
  /** Our own disk does not take a result; null once it did. */
  readonly onStorageFailure: (failure: Failure | null) => void;
}

const MB = 1024 * 1024;

/** Bytes of one result. */
const MOST: Readonly<Record<Work['type'], number>> = {
  image: 64 * MB,
  audio: 256 * MB,
  video: 2048 * MB,
};

/** Results of what is asked for one at a time, should a provider give several. */
const MOST_RESULTS = 10;

/** How often a download is tried: what is there has been paid for. */
const TRIES = 4;

/**
 * Keeps what a provider made as files, on disk when it resolves. What is broken, no media or of
 * another size than asked is left out, and so is what is more than was asked for. What our own disk
 * does not take is tried again until it does, or until the signal is aborted.
 *
 * @throws Failure `billable_error` with code `unusable_result` where nothing is left; the signal's
 *   reason once it is aborted. No file stays then.
 */
export async function keepResults(
  { work }: Pick<Order, 'work'>,
  { products, usage }: Production,
  keeping: Keeping,
): Promise<{ result: StoredResult; assets: NewAsset[] }> {
  const { signal, files, settings } = keeping;
  const wanted = products.slice(0, work.type === 'image' ? work.n : MOST_RESULTS);
  const outcomes = await keepAll(wanted, work, keeping);
  const kept = outcomes.flatMap((outcome, index) =>
    outcome instanceof Failure ? [] : [{ asset: outcome, product: wanted[index]! }],
  );
  if (signal.aborted || kept.length === 0) {
    await files.discard(kept.map(({ asset }) => asset.id));
    if (signal.aborted) throw signal.reason;
    // Why an address led nowhere repeats what the provider wrote there: our key, perhaps.
    const secret = isRemote(settings) ? settings.apiKey : undefined;
    const reasons = outcomes.filter((outcome) => outcome instanceof Failure);
    throw redactFailure(unusable(work, reasons), secret);
  }
  return {
    result: {
      created: Math.floor(Date.now() / 1000),
      outputs: kept.map(({ asset, product }) => ({
        asset: asset.id,
        revisedPrompt: product.revisedPrompt ?? null,
      })),
      usage,
    },
    assets: kept.map(({ asset }) => asset),
  };
}

/** What became of each product: its file, or why it cannot be used. */
async function keepAll(
  products: readonly Product[],
  work: Work,
  keeping: Keeping,
): Promise<(NewAsset | Failure)[]> {
  const outcomes: (NewAsset | Failure)[] = [];
  const keepRest = async () => {
    const settled = await Promise.allSettled(
      products.map(async (product, index) => {
        outcomes[index] ??= await keepProduct(product, work, keeping).catch((error: unknown) => {
          if (error instanceof Failure && !isStorageFailure(error)) return error;
          throw error;
        });
      }),
    );
    const failed = settled.find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
  };
  try {
    await retryStorage(keepRest, keeping.signal, keeping.onStorageFailure);
    return outcomes;
  } catch (error) {
    await keeping.files.discard(
      // There is none where the disk made it fail.
      outcomes.flatMap((outcome) => (outcome instanceof Failure ? [] : [outcome.id])),
    );
    throw keeping.signal.aborted ? keeping.signal.reason : error;
  }
}

function unusable({ type }: Work, reasons: readonly Failure[]): Failure {
  const told = reasons.map(({ message }, index) =>
    reasons.length === 1 ? message : `${index + 1}: ${message}`,
  );
  const what = told.length === 0 ? 'nothing came' : told.join('; ');
  const details = reasons.flatMap(({ detail }) => detail ?? []);
  return new Failure('billable_error', `The provider made no ${type} that can be used: ${what}`, {
    code: 'unusable_result',
    cause: reasons[0],
    ...(details.length > 0 && { detail: details.join('; ') }),
  });
}

async function keepProduct(product: Product, work: Work, keeping: Keeping): Promise<NewAsset> {
  if ('bytes' in product) return keepPieces([product.bytes], work, keeping);
  const { signal } = keeping;
  for (let tries = 1; ; tries += 1) {
    try {
      const home = homeOf(keeping.settings);
      const exchange = await openDownload(product.url, product.headers ?? {}, { ...keeping, home });
      return await keepPieces(piecesOf(exchange), work, keeping);
    } catch (error) {
      if (signal.aborted || !(error instanceof Failure) || !mayPass(error)) throw error;
      if (tries === TRIES) throw error;
      const patience = { signal, deadline: Number.POSITIVE_INFINITY };
      if (!(await waitBeforeRetry(tries, error, patience))) throw error;
    }
  }
}

function homeOf(settings: ProviderSettings): string | null {
  return isRemote(settings) ? new URL(settings.baseUrl).origin : null;
}

/** What is read of a file before it is known whether it is worth writing. */
async function firstOf(
  pieces: AsyncIterator<Uint8Array> | Iterator<Uint8Array>,
): Promise<Uint8Array> {
  const first: Uint8Array[] = [];
  for (let length = 0; length < HEAD; ) {
    const { value, done } = await pieces.next();
    if (done) break;
    first.push(value);
    length += value.length;
  }
  return first.length === 1 ? first[0]! : Buffer.concat(first);
}

async function keepPieces(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  work: Work,
  { files, pool, limits }: Keeping,
): Promise<NewAsset> {
  const pieces =
    Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  try {
    const first = await firstOf(pieces);
    const { mediaType, extension, kind } = mediaTypeFor(work, first);
    const id = files.newId(extension);
    const most = MOST[work.type];
    const asset = { id, mediaType, ...(await files.write(id, followedBy(first, pieces), most)) };
    try {
      if (kind === 'image') {
        const path = files.pathOf(id);
        checkSize(work, await provePicture(pool, path, { ...limits, fileBytes: most }));
      }
    } catch (error) {
      // What cannot be read back as it was written says nothing of the image.
      const isSound = await files.verify(asset).then(
        () => true,
        () => false,
      );
      await files.discard([id]);
      throw isSound ? error : notReadBack(error);
    }
    return asset;
  } finally {
    await pieces.return?.();
  }
}

function notReadBack(cause: unknown): Failure {
  return new Failure('service_error', 'files cannot be kept: they do not read back as written', {
    code: 'storage_unavailable',
    cause,
  });
}

async function* followedBy(
  first: Uint8Array,
  pieces: AsyncIterator<Uint8Array> | Iterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  yield first;
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
}

/** Samples without a header, of which only the request tells that they are sound. */
const PCM: MediaType = { kind: 'audio', mediaType: 'audio/pcm', extension: 'pcm' };

/** An animated image is a film, too, and the films of MPEG-4 may have sound alone. */
const ALSO: Readonly<Record<Work['type'], readonly string[]>> = {
  image: [],
  video: ['image/webp', 'image/gif'],
  audio: ['video/mp4', 'video/webm'],
};

function mediaTypeFor(work: Work, first: Uint8Array): MediaType {
  const found = sniffMedia(first);
  if (found !== null && (found.kind === work.type || ALSO[work.type].includes(found.mediaType))) {
    return work.type === 'audio'
      ? { ...found, mediaType: found.mediaType.replace('video/', 'audio/') }
      : found;
  }
  const samples = work.type === 'audio' && work.format === 'pcm' && first.length > 0;
  if (found === null && samples && !isText(first)) return PCM;
  const noun = work.type === 'image' ? 'an image' : work.type === 'video' ? 'a video' : 'sound';
  throw new Failure('service_error', `it is ${describeBytes(first)} rather than ${noun}`, {
    code: 'unusable_result',
  });
}

function checkSize(
  work: Work,
  { width, height }: { readonly width: number; readonly height: number },
): void {
  if (work.type !== 'image' || !work.native || work.size === null || work.size === 'auto') return;
  const size = `${width}x${height}`;
  if (size === work.size) return;
  throw new Failure('service_error', `it is ${size} rather than ${work.size}`, {
    code: 'unusable_result',
  });
}
