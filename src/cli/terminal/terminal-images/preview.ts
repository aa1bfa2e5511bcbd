import { DEFAULT_LIMITS } from '../../../images/limits.ts';
import { inlinePool } from '../../../operations/pool/pool.ts';
import type { Preview } from '../../../operations/tools/preview.ts';

/** Pixels of the longer side, about the width of a terminal. */
const MAX_SIDE = 800;

/** Shrinks an image for a terminal; null where it cannot be read. */
export async function previewOf(image: Uint8Array, as: 'png' | 'rgba'): Promise<Preview | null> {
  const pool = await inlinePool(1);
  const result = await pool.run({
    operation: 'preview',
    options: { as, side: MAX_SIDE },
    source: { bytes: image },
    limits: DEFAULT_LIMITS,
  });
  return result.ok ? (result.data as Preview) : null;
}
