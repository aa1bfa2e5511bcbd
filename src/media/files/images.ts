import type { AssetStorage } from '../../assets/storage/asset-storage.ts';
import { newAssetId } from '../../assets/storage/identifier.ts';
import type { Config } from '../../config/settings/schema.ts';
import { type CodeOf, codedFailure, Failure } from '../../failure.ts';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import { DEFAULT_LIMITS, type Limits } from '../../images/limits.ts';
import type { FileError } from '../../operations/definition/job.ts';
import type { ImagePool } from '../../operations/pool/pool.ts';
import type { VerifiedProperties } from '../../operations/tools/verify.ts';
import { invalid } from '../../schema/invalid.ts';
import type { NewAsset } from '../../store/asset.ts';
import type { SentFile } from '../task/call.ts';

/** Properties of an image of which every pixel was decoded. */
export interface VerifiedImage extends VerifiedProperties {
  readonly format: OutputFormat;
  /** File extension without a dot. */
  readonly extension: string;
}

/** Bytes of an image that a client sends. */
export const MAX_IMAGE_BYTES = DEFAULT_LIMITS.fileBytes;

/** The operator's limits for decoding one image. @param fileBytes bytes of its file */
export function imageLimits(batch: Config['batch'], fileBytes: number): Limits {
  const { pixels, frames, side, deadline } = batch;
  // Tasks neither take nor give SVG and formats of programs, whatever the operator allows in batches.
  return { fileBytes, pixels, frames, side, deadline, svg: false, programs: false };
}

interface StoreImageOptions {
  readonly files: AssetStorage;
  readonly pool: ImagePool;
  readonly limits: Limits;
}

/**
 * Verifies that a client's file is an image, and stores a copy of it.
 *
 * @param source the file, or its bytes
 * @param param path of the request's field
 * @throws Failure invalid_request that names `param`; `service_error` where the disk has no space or fails
 */
export async function storeImage(
  source: SentFile | Buffer,
  param: string,
  { files, pool, limits }: StoreImageOptions,
): Promise<{ readonly asset: NewAsset; readonly image: VerifiedImage }> {
  const isFile = 'path' in source;
  const image = await verifyImage(pool, isFile ? source.path : source, limits, param);
  await files.checkFreeSpace({ bytes: isFile ? source.size : source.length, files: 1 });
  const id = newAssetId(image.extension);
  const written = isFile
    ? await files.copy(id, source.path, limits.fileBytes)
    : await files.write(id, source, limits.fileBytes);
  return { asset: { id, mediaType: image.mediaType, ...written }, image };
}

/**
 * Verifies an image by decoding all of its frames.
 *
 * @param source its bytes, which the caller keeps, or the path of its file
 * @param param path of the request's field; null where the image is from elsewhere
 * @throws Failure invalid_request with code `unsupported_image`, `corrupt_image`, or `image_too_large`
 *   (413); service_error where this server could not decode it
 */
export async function verifyImage(
  pool: ImagePool,
  source: Uint8Array | string,
  limits: Limits,
  param: string | null = null,
): Promise<VerifiedImage> {
  const result = await pool.run({
    operation: 'verify',
    options: {},
    // The pool transfers bytes to a thread, so it gets a copy.
    source: typeof source === 'string' ? { path: source } : { bytes: new Uint8Array(source) },
    limits,
  });
  if (!result.ok) throw verificationFailure(result.error, param);
  const proof = result.data as VerifiedProperties;
  return { ...proof, extension: FORMATS[proof.format].extensions[0] };
}

const CODES: { readonly [Code in FileError['code']]?: CodeOf<'invalid_request'> } = {
  unsupported_format: 'unsupported_image',
  animation_unsupported: 'unsupported_image',
  empty_file: 'corrupt_image',
  corrupt_image: 'corrupt_image',
  file_too_large: 'image_too_large',
  image_too_large: 'image_too_large',
  too_many_frames: 'image_too_large',
  // The timeout starts when a process begins to decode, so the image itself takes too long.
  timeout: 'image_too_large',
  work_exceeds_deadline: 'image_too_large',
  work_exceeds_memory: 'image_too_large',
};

function verificationFailure({ code: reason, message }: FileError, param: string | null): Failure {
  const code = CODES[reason];
  if (code === undefined) {
    return codedFailure('image_not_read', `The image could not be decoded: ${message}`);
  }
  return param === null
    ? new Failure('invalid_request', message, { code })
    : invalid(param, message, code);
}
