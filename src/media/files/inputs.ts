import { type CodeOf, Failure } from '../../failure.ts';
import type { Limits } from '../../images/limits.ts';
import type { ImagePool } from '../../operations/pool.ts';
import type { Asset, NewAsset } from '../../store/asset.ts';
import type { AssetFiles } from '../../store/asset-files.ts';
import type { Store } from '../../store/store.ts';
import type { AbortSignalLike } from '../../upstream/abort-signal.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import { fetchPublic } from '../../upstream/fetch-public.ts';
import type { NetworkPolicy } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';
import type { InputFile } from '../providers/provider.ts';
import type { Reference } from '../work.ts';
import { provePicture } from './pictures.ts';

/** Milliseconds for one image to arrive. */
const PATIENCE = 20_000;

interface Keeping {
  readonly files: AssetFiles;
  readonly store: Pick<Store, 'findAsset'>;
  readonly pool: ImagePool;
  readonly limits: Limits;
  /** Where inputs may be fetched from. */
  readonly network: NetworkPolicy;
}

interface Admitted {
  readonly reference: Reference;
  /** What was written for it, to be recorded with the task, or removed where none comes about. */
  readonly asset: NewAsset | null;
}

/**
 * Takes in one reference image as the client wrote it: an http(s) URL, which is fetched when the work
 * begins, the URL of an asset of ours, or a data: URL, whose image is proven and written.
 *
 * @param param `input_images[0]`
 * @param keeping `publicUrl` is what the addresses of our assets begin with
 * @throws Failure invalid_request naming `param`
 */
export async function admitInput(
  text: string,
  param: string,
  keeping: Keeping & { readonly publicUrl: string },
): Promise<Admitted> {
  if (/^data:/i.test(text)) return admitData(text, param, keeping);
  const ours = `${keeping.publicUrl}/assets/`;
  if (text.startsWith(ours)) {
    const id = text.slice(ours.length);
    await findImage(id, param, keeping);
    return { reference: { asset: id }, asset: null };
  }
  const { href } = checkPublicUrl(text, param, keeping.network, 'input');
  return { reference: { url: href }, asset: null };
}

async function admitData(text: string, param: string, keeping: Keeping): Promise<Admitted> {
  const { files, pool, limits } = keeping;
  const bytes = dataOf(text, param, limits);
  const { extension, mediaType } = await provePicture(pool, bytes, limits, param);
  await files.checkFreeSpace({ bytes: bytes.length, files: 1 });
  const id = files.newId(extension);
  const written = await files.write(id, bytes, limits.fileBytes);
  return { reference: { asset: id }, asset: { id, mediaType, ...written } };
}

/** What a data: URL holds. What type it says that is is not asked. */
function dataOf(text: string, param: string, limits: Limits): Buffer {
  const comma = text.indexOf(',');
  const data = text.slice(comma + 1).replace(/={1,2}$/, '');
  const size = Math.floor((data.length * 3) / 4);
  if (size > limits.fileBytes) {
    const message = `expected at most ${limits.fileBytes} bytes, received ${size}`;
    throw invalid(param, message, 'file_too_large', 413);
  }
  const bytes = Buffer.from(data, 'base64');
  // What is no Base64 is passed over. Not by an expression: there may be many megabytes.
  if (comma === -1 || !/;\s*base64\s*$/i.test(text.slice(0, comma)) || bytes.length !== size) {
    const start = JSON.stringify(text.slice(0, 40));
    throw invalid(param, `expected data:<media type>;base64,<data>, received ${start}…`);
  }
  return bytes;
}

/**
 * Gets the image that a reference leads to: fetched from its address and proven, or from our files.
 *
 * @param as where the client named it, `input_images[0]`, and what it is to be called, `input-1`
 * @throws Failure invalid_request naming the param where it is not to be had, or no image; `timeout`
 *   and `network_error`; the signal's reason
 */
export async function loadInput(
  reference: Reference,
  as: { readonly param: string; readonly name: string },
  loading: Keeping & {
    readonly upstream: Pick<UpstreamClient, 'open'>;
    readonly signal: AbortSignalLike;
  },
): Promise<InputFile> {
  const { files, pool, limits, upstream, network, signal } = loading;
  if ('asset' in reference) {
    const asset = await findImage(reference.asset, as.param, loading);
    const { mediaType } = asset;
    const bytes = await files.read(asset).catch((error: unknown) => {
      throw named(error, as.param);
    });
    const extension = reference.asset.slice(reference.asset.lastIndexOf('.') + 1);
    return { bytes, mediaType, filename: `${as.name}.${extension}` };
  }
  const { bytes } = await fetchPublic(upstream, reference.url, {
    maxBytes: limits.fileBytes,
    timeout: PATIENCE,
    networkPolicy: network,
    signal,
  }).catch((error: unknown) => {
    // Why the work ends is nothing that its input did.
    throw signal.aborted ? error : named(error, as.param);
  });
  const { extension, mediaType } = await provePicture(pool, bytes, limits, as.param);
  return { bytes, mediaType, filename: `${as.name}.${extension}` };
}

/** An asset that was proven to be an image when it was kept. */
async function findImage(id: string, param: string, { files, store }: Keeping): Promise<Asset> {
  const asset = files.isId(id) ? await store.findAsset(id) : undefined;
  if (asset === undefined) {
    throw invalid(param, 'there is no such asset, or no longer', 'asset_not_found');
  }
  if (!asset.mediaType.startsWith('image/')) {
    throw invalid(param, `expected an image, received ${asset.mediaType}`, 'unsupported_format');
  }
  return asset;
}

/** Failures that are not the client's fault, although its input is what they came over. */
const NOT_ITS_FAULT = ['timeout', 'network_error'];

/** What went wrong with an input, told as that. Faults of our own disk and defects stay what they are. */
function named(error: unknown, param: string): unknown {
  if (!(error instanceof Failure) || [500, 503].includes(error.status)) return error;
  const { type, message, code } = error;
  return new Failure(
    NOT_ITS_FAULT.includes(type) ? type : 'invalid_request',
    `${param}: ${message}`,
    {
      param,
      originalCode: code,
      cause: error,
    },
  );
}

function invalid(
  param: string,
  message: string,
  code?: CodeOf<'invalid_request'>,
  status = 400,
): Failure {
  return new Failure('invalid_request', `${param}: ${message}`, {
    param,
    status,
    ...(code !== undefined && { code }),
  });
}
