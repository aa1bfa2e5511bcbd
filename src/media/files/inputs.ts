import type { AssetStorage } from '../../assets/storage/asset-storage.ts';
import type { DiskSpace } from '../../assets/storage/disk-space.ts';
import { isAssetId } from '../../assets/storage/identifier.ts';
import { Failure } from '../../failure.ts';
import type { Limits } from '../../images/limits.ts';
import type { ImagePool } from '../../operations/pool/pool.ts';
import { invalid } from '../../schema/invalid.ts';
import type { Asset, NewAsset } from '../../store/asset.ts';
import type { Store } from '../../store/store.ts';
import { fetchPublic } from '../../upstream/fetch-public.ts';
import type { NetworkPolicy } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';
import type { Upstream } from '../../upstream/response.ts';
import type { InputFile } from '../provider/provider.ts';
import type { InputReference, TaskRequest } from '../task/task-request.ts';
import { storeImage, type VerifiedImage, verifyImage } from './images.ts';

/** Timeout for the download of one image. */
const FETCH_TIMEOUT_MS = 20_000;

interface InputOptions {
  readonly files: AssetStorage;
  readonly store: Pick<Store, 'findAsset'>;
  readonly pool: ImagePool;
  readonly limits: Limits;
  /** Policy for the URLs of inputs. */
  readonly networkPolicy: NetworkPolicy;
}

interface AcceptedInput {
  readonly reference: InputReference;
  /** The file that was stored for the input: to be recorded with the task, or else discarded. */
  readonly asset: NewAsset | null;
  /** What the stored file shows. */
  readonly image?: VerifiedImage;
}

/**
 * Accepts one reference image of a request: an http(s) URL, which is fetched when the task runs, the
 * URL of an asset of this server, or a data: URL, whose image is verified and stored.
 *
 * @param param `input_images[0]`
 * @param options `publicUrl` is the base URL of this server's assets
 * @throws Failure invalid_request naming `param`
 */
export async function acceptInput(
  text: string,
  param: string,
  options: InputOptions & { readonly publicUrl: string },
): Promise<AcceptedInput> {
  if (/^data:/i.test(text)) {
    const bytes = bytesOfDataUrl(text, param, options.limits);
    const { asset, image } = await storeImage(bytes, param, options);
    return { reference: { asset: asset.id }, asset, image };
  }
  const assetPrefix = `${options.publicUrl}/assets/`;
  if (text.startsWith(assetPrefix)) {
    const id = text.slice(assetPrefix.length);
    await findImage(id, param, options);
    return { reference: { asset: id }, asset: null };
  }
  const { href } = checkPublicUrl(text, param, options.networkPolicy, 'input');
  return { reference: { url: href }, asset: null };
}

/** Decodes a data: URL; its media type is ignored. */
export function bytesOfDataUrl(text: string, param: string, limits: Limits): Buffer {
  const comma = text.indexOf(',');
  const data = text.slice(comma + 1).replace(/={1,2}$/, '');
  const size = Math.floor((data.length * 3) / 4);
  if (size > limits.fileBytes) {
    const message = `expected at most ${limits.fileBytes} bytes, received ${size}`;
    throw invalid(param, message, 'file_too_large');
  }
  const bytes = Buffer.from(data, 'base64');
  // Buffer skips invalid characters, which shows in the length. A regular expression would have to
  // scan many megabytes.
  if (comma === -1 || !/;\s*base64\s*$/i.test(text.slice(0, comma)) || bytes.length !== size) {
    const start = JSON.stringify(text.slice(0, 40));
    throw invalid(param, `expected data:<media type>;base64,<data>, received ${start}…`);
  }
  return bytes;
}

/**
 * Loads the image of a reference: fetched from its URL and verified, or read from the asset files.
 *
 * @param as the request's field, `input_images[0]`, and the file's name without extension, `input-1`
 * @throws Failure invalid_request naming the field where the image is unavailable or invalid;
 *   `timeout` and `network_error`; the signal's reason
 */
export async function loadInput(
  reference: InputReference,
  as: { readonly param: string; readonly name: string },
  options: InputOptions & {
    readonly upstream: Upstream;
    readonly signal: AbortSignal;
  },
): Promise<InputFile> {
  const { files, pool, limits, upstream, networkPolicy, signal } = options;
  if ('asset' in reference) {
    const asset = await findImage(reference.asset, as.param, options);
    const { mediaType } = asset;
    const bytes = await files.read(asset, { signal }).catch((error: unknown) => {
      throw withParam(error, as.param);
    });
    const extension = reference.asset.slice(reference.asset.lastIndexOf('.') + 1);
    return { bytes, mediaType, filename: `${as.name}.${extension}` };
  }
  const bytes = await fetchPublic(upstream, reference.url, {
    maxBytes: limits.fileBytes,
    timeout: FETCH_TIMEOUT_MS,
    networkPolicy,
    signal,
  }).catch((error: unknown) => {
    // An abort is not the input's fault.
    throw signal.aborted ? error : withParam(error, as.param);
  });
  const { extension, mediaType } = await verifyImage(pool, bytes, limits, as.param);
  return { bytes, mediaType, filename: `${as.name}.${extension}` };
}

/** Finds an asset that was verified as an image when it was stored. */
async function findImage(id: string, param: string, { store }: InputOptions): Promise<Asset> {
  const asset = isAssetId(id) ? await store.findAsset(id) : undefined;
  if (asset === undefined) {
    throw invalid(param, 'there is no such asset, or no longer', 'asset_not_found', 400);
  }
  if (!asset.mediaType.startsWith('image/')) {
    throw invalid(param, `expected an image, received ${asset.mediaType}`, 'unsupported_format');
  }
  return asset;
}

/** Failure types that keep their type: the client did not cause them, although its input is concerned. */
const NOT_THE_CLIENTS_FAULT = ['timeout', 'network_error'];

/** Names the request's field in a failure. Errors of this server's disk and defects stay as they are. */
function withParam(error: unknown, param: string): unknown {
  if (!(error instanceof Failure) || [500, 503].includes(error.status)) return error;
  const { type, message, code } = error;
  return new Failure(
    NOT_THE_CLIENTS_FAULT.includes(type) ? type : 'invalid_request',
    `${param}: ${message}`,
    { param, originalCode: code, cause: error },
  );
}

const MB = 2 ** 20;

/** Pixels of an image whose size the client left to the model. */
const DEFAULT_PIXELS = 1024 * 1024;

/** Bytes per pixel of a photograph as PNG. */
const BYTES_PER_PIXEL = 2;

const VIDEO_BYTES_PER_SECOND = MB;
const AUDIO_BYTES = 4 * MB;

/** Disk space that the results of a task usually need. */
export function expectedDiskSpace(request: TaskRequest): DiskSpace {
  switch (request.type) {
    case 'image':
      return { bytes: request.n * pixelsOf(request.size) * BYTES_PER_PIXEL, files: request.n };
    case 'video':
      return { bytes: request.duration * VIDEO_BYTES_PER_SECOND, files: 1 };
    case 'audio':
      return { bytes: AUDIO_BYTES, files: 1 };
  }
}

function pixelsOf(size: string | null): number {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(size ?? '') ?? [];
  return width === undefined ? DEFAULT_PIXELS : Number(width) * Number(height);
}
