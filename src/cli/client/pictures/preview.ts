import { DEFAULT_LIMITS } from '../../../images/limits.ts';
import { inlinePool } from '../../../operations/pool.ts';
import type { Preview } from '../../../operations/preview.ts';

/** Pixels along the longer side: as much as a terminal has room for. */
const SIDE = 800;

/** A picture as terminals draw it; null where it cannot be read. */
export async function previewOf(picture: Uint8Array, as: 'png' | 'rgba'): Promise<Preview | null> {
  const pool = await inlinePool(1);
  const result = await pool.run({
    operation: 'preview',
    options: { as, side: SIDE },
    source: { bytes: picture },
    limits: DEFAULT_LIMITS,
  });
  return result.ok ? (result.data as Preview) : null;
}
