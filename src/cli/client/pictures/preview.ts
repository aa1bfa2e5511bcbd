import { DEFAULT_LIMITS } from '../../../images/limits.ts';
import { convert } from '../../../operations/convert.ts';
import type { Job } from '../../../operations/job.ts';
import { inlinePool } from '../../../operations/pool.ts';
import { resize } from '../../../operations/resize.ts';
import { parseFields } from '../../../schema.ts';

/** Pixels along the longer side: as much as a terminal has room for. */
const LONGEST = 800;

/**
 * A picture as terminals want it: a PNG of eight bits a channel that is not too large. Null where it
 * cannot be read.
 */
export async function previewOf(picture: Uint8Array): Promise<Buffer | null> {
  const pool = await inlinePool(1);
  // WebP on the way: whatever was deeper, or had more frames, is not so any more.
  const small = { width: LONGEST, height: LONGEST, format: 'webp', lossless: true, effort: 0 };
  const steps: readonly (readonly [operation: string, options: unknown])[] = [
    ['resize', parseFields(resize.options, { ...small, animated: 'first' })],
    ['convert', parseFields(convert.options, { format: 'png', effort: 1 })],
  ];
  let bytes = picture;
  for (const [operation, options] of steps) {
    const job: Job = { operation, options, source: { bytes }, limits: DEFAULT_LIMITS };
    const result = await pool.run(job);
    if (!result.ok || !result.image) return null;
    bytes = result.image.bytes;
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
