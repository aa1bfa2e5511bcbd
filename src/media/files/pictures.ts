import type { Config } from '../../config/schema.ts';
import { type CodeOf, Failure } from '../../failure.ts';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import type { Limits } from '../../images/limits.ts';
import type { FileError } from '../../operations/job.ts';
import type { ImagePool } from '../../operations/pool.ts';
import type { VerifiedImage } from '../../operations/verify.ts';

/** What an image is, each pixel of which was decoded. */
export interface ProvenPicture extends VerifiedImage {
  readonly format: OutputFormat;
  /** Without a dot. */
  readonly extension: string;
}

/** What an image may ask of us, as the operator says. @param fileBytes bytes of its file */
export function pictureLimits(batch: Config['batch'], fileBytes: number): Limits {
  const { pixels, frames, side, deadline } = batch;
  // SVG is no image that a task takes or gives, whatever the operator allows in batches.
  return { fileBytes, pixels, frames, side, deadline, svg: false };
}

/**
 * Proves that something is an image: all of its frames are decoded.
 *
 * @param source its bytes, which stay with the caller, or the path of its file
 * @param param where it stands in the request; null where it does in none
 * @throws Failure invalid_request with code `unsupported_image`, `corrupt_image`, or `image_too_large`
 *   (413); service_error where we could not look
 */
export async function provePicture(
  pool: ImagePool,
  source: Uint8Array | string,
  limits: Limits,
  param: string | null = null,
): Promise<ProvenPicture> {
  const result = await pool.run({
    operation: 'verify',
    options: {},
    // Bytes are moved to a thread, so it gets a copy.
    source: typeof source === 'string' ? { path: source } : { bytes: new Uint8Array(source) },
    limits,
  });
  if (!result.ok) throw refusal(result.error, param);
  const proof = result.data as VerifiedImage;
  return { ...proof, extension: FORMATS[proof.format].extensions[0] };
}

type Refusal = readonly [code: CodeOf<'invalid_request'>, status: number];

const UNSUPPORTED: Refusal = ['unsupported_image', 400];
const CORRUPT: Refusal = ['corrupt_image', 400];
const TOO_LARGE: Refusal = ['image_too_large', 413];

const REFUSALS: { readonly [Code in FileError['code']]?: Refusal } = {
  unsupported_format: UNSUPPORTED,
  animation_unsupported: UNSUPPORTED,
  empty_file: CORRUPT,
  corrupt_image: CORRUPT,
  file_too_large: TOO_LARGE,
  image_too_large: TOO_LARGE,
  too_many_frames: TOO_LARGE,
  // The time counts from when a process takes it up: it is the image that takes so long.
  timeout: TOO_LARGE,
  work_exceeds_deadline: TOO_LARGE,
  work_exceeds_memory: TOO_LARGE,
};

function refusal({ code, message }: FileError, param: string | null): Failure {
  const [refused, status] = REFUSALS[code] ?? [];
  if (refused === undefined || status === undefined) {
    return new Failure('service_error', `The image could not be looked at: ${message}`, {
      code: 'image_not_read',
    });
  }
  const where = param === null ? message : `${param}: ${message}`;
  return new Failure('invalid_request', where, {
    code: refused,
    status,
    ...(param !== null && { param }),
  });
}
