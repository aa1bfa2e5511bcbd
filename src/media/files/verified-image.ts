import type { Config } from '../../config/settings/schema.ts';
import { type CodeOf, Failure } from '../../failure.ts';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import type { Limits } from '../../images/limits.ts';
import type { FileError } from '../../operations/definition/job.ts';
import type { ImagePool } from '../../operations/pool/pool.ts';
import type { VerifiedProperties } from '../../operations/tools/verify.ts';

/** Properties of an image of which every pixel was decoded. */
export interface VerifiedImage extends VerifiedProperties {
  readonly format: OutputFormat;
  /** File extension without a dot. */
  readonly extension: string;
}

/** The operator's limits for decoding one image. @param fileBytes bytes of its file */
export function imageLimits(batch: Config['batch'], fileBytes: number): Limits {
  const { pixels, frames, side, deadline } = batch;
  // Tasks neither take nor give SVG, whatever the operator allows in batches.
  return { fileBytes, pixels, frames, side, deadline, svg: false };
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

type CodeAndStatus = readonly [code: CodeOf<'invalid_request'>, status: number];

const UNSUPPORTED: CodeAndStatus = ['unsupported_image', 400];
const CORRUPT: CodeAndStatus = ['corrupt_image', 400];
const TOO_LARGE: CodeAndStatus = ['image_too_large', 413];

const CODES: { readonly [Code in FileError['code']]?: CodeAndStatus } = {
  unsupported_format: UNSUPPORTED,
  animation_unsupported: UNSUPPORTED,
  empty_file: CORRUPT,
  corrupt_image: CORRUPT,
  file_too_large: TOO_LARGE,
  image_too_large: TOO_LARGE,
  too_many_frames: TOO_LARGE,
  // The timeout starts when a process begins to decode, so the image itself takes too long.
  timeout: TOO_LARGE,
  work_exceeds_deadline: TOO_LARGE,
  work_exceeds_memory: TOO_LARGE,
};

function verificationFailure({ code, message }: FileError, param: string | null): Failure {
  const [clientCode, status] = CODES[code] ?? [];
  if (clientCode === undefined || status === undefined) {
    return new Failure('service_error', `The image could not be decoded: ${message}`, {
      code: 'image_not_read',
    });
  }
  const text = param === null ? message : `${param}: ${message}`;
  return new Failure('invalid_request', text, {
    code: clientCode,
    status,
    ...(param !== null && { param }),
  });
}
