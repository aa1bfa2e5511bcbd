import type sharp from 'sharp';
import type { Limits } from './limits.ts';

/** sharp's own function, handed in by the thread that owns it. */
export type SharpFactory = typeof sharp;
export type { Sharp, SharpOptions } from 'sharp';

/** What a piece of work is expected to take. */
export interface Estimate {
  /** CPU milliseconds for a typical photograph. */
  readonly milliseconds: number;
  /** Bytes of memory beyond what an idle process has. */
  readonly bytes: number;
}

/** One input, in memory, with what the thread lends to work on it. */
export interface ImageInput {
  /** The file as it came. */
  readonly file: Uint8Array;
  /** What decoders read: the file, changed only where its decoder would not see all of it. */
  readonly bytes: Uint8Array;
  readonly limits: Limits;
  /** Called before pixels are decoded. Throws where this is more than the job may take here. */
  readonly admit: (estimate: Estimate) => void;
  /** Loads sharp at its first call: hashing bytes must not pay for a decoder. */
  readonly sharp: SharpFactory;
}
