import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { type Header, readHeader } from '../../images/decoding/header.ts';
import { openInEightBits } from '../../images/decoding/true-colours.ts';
import { fileFailure } from '../../images/file-error.ts';
import type { ImageInput } from '../../images/input.ts';
import {
  DIFFERENCE_HASH_RASTER,
  differenceHash,
  PERCEPTUAL_HASH_RASTER,
  perceptualHash,
} from '../../images/similarity/perceptual.ts';
import { withDefault } from '../../schema/fields.ts';
import { defineOperation } from '../definition/operation.ts';

const PERCEPTUAL = {
  dhash: { raster: DIFFERENCE_HASH_RASTER, hash: differenceHash },
  phash: { raster: PERCEPTUAL_HASH_RASTER, hash: perceptualHash },
} as const;

type Perceptual = keyof typeof PERCEPTUAL;

interface PerceptualHash {
  readonly algorithm: Perceptual;
  readonly bits: number;
  readonly hex: string;
}

/** The perceptual hash of an image, and the grey raster that it was computed from. */
export async function hashOfPixels(
  input: ImageInput,
  header: Header,
  algorithm: Perceptual,
): Promise<{ readonly perceptual: PerceptualHash; readonly grey: Uint8Array }> {
  const { raster, hash: digest } = PERCEPTUAL[algorithm];
  const { width, height } = header;
  // Reduced to eight bits before averaging, so that the bit depth does not change the hash.
  const image = await openInEightBits(input, header);
  const grey = await image
    .autoOrient()
    // Before a resize, sharp decodes JPEG and WebP at a reduced size unless something is cut out
    // first (0.35.5, shouldPreShrink); then the same pixels would have another hash as PNG.
    .extract({ left: 0, top: 0, width, height })
    // Transparent areas count as white.
    .flatten({ background: 'white' })
    .resize({ ...raster, fit: 'fill' })
    .toColourspace('b-w')
    .raw()
    .toBuffer();
  return { perceptual: { algorithm, bits: 64, hex: digest(grey) }, grey };
}

export const hash = defineOperation({
  name: 'hash',
  summary: 'Hash files with SHA-256, or pixels perceptually',
  gives: 'data',
  endpoint: 'batch-image-hash',
  cost: 0.7,
  options: v.strictObject({
    perceptual: withDefault(
      v.picklist(['none', 'dhash', 'phash']),
      'none',
      'perceptual hash: similar for similar pictures',
    ),
  }),
  columns: ({ perceptual }) => (perceptual === 'none' ? ['sha256'] : ['sha256', 'perceptual']),
  checksum: (data) => (data as { sha256: string }).sha256,
  examples: ['hash *.jpg', 'hash --sha256sum *.jpg', 'hash --perceptual phash --json *.jpg'],
  async run(input, { perceptual }) {
    // A digest needs no decoding: any bytes have one, whatever they hold.
    if (input.file.byteLength === 0) throw fileFailure('empty_file', 'the file is empty');
    const sha256 = createHash('sha256').update(input.file).digest('hex');
    if (perceptual === 'none') return { data: { algorithm: 'sha256', sha256 } };
    const pixels = await hashOfPixels(input, await readHeader(input), perceptual);
    return { data: { algorithm: 'sha256', sha256, perceptual: pixels.perceptual } };
  },
});
