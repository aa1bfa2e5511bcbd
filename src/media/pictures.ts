import { Failure } from '../failure.ts';
import type { Limits } from '../images/limits.ts';
import type { ImagePool } from '../operations/pool.ts';

interface Picture {
  readonly format: string;
  readonly mediaType: string;
  readonly extension: string;
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
  readonly frames: number;
}

/** Stands here until the operation that decodes is there: it reads no more than the header. */
export async function provePicture(
  pool: ImagePool,
  source: Uint8Array | string,
  limits: Limits,
  param: string,
): Promise<Picture> {
  const result = await pool.run({
    operation: 'metadata',
    options: { exif: 'none', gps: false },
    source: typeof source === 'string' ? { path: source } : { bytes: new Uint8Array(source) },
    limits,
  });
  if (!result.ok) {
    const { code, message } = result.error;
    throw new Failure('invalid_request', `${param}: ${message}`, { param, code });
  }
  const data = result.data as Omit<Picture, 'extension' | 'frames'> & { readonly pages?: number };
  return { ...data, extension: data.format, frames: data.pages ?? 1 };
}
