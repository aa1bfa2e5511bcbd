import type sharp from 'sharp';
import type { Limits } from './limits.ts';

/** sharp's own function, handed in by the thread that owns it. */
export type SharpFactory = typeof sharp;
export type { Sharp, SharpOptions } from 'sharp';

/** One input, in memory, with what the thread lends to work on it. */
export interface ImageInput {
  readonly bytes: Uint8Array;
  readonly limits: Limits;
  /** Loads sharp at its first call: hashing bytes must not pay for a decoder. */
  readonly sharp: SharpFactory;
}
