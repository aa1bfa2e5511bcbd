import { createHash } from 'node:crypto';
import { readHeader } from '../../images/decoding/header.ts';
import { fileFailure } from '../../images/file-error.ts';
import type { ThreadOperation } from '../definition/operation.ts';
import { hashOfPixels } from './hash.ts';

/** Properties by which duplicates are found and ordered. */
export interface Fingerprint {
  readonly sha256: string;
  /** Only where pixels are hashed. */
  readonly width?: number;
  readonly height?: number;
  /** Perceptual hash of 16 hexadecimal digits; left out for plain pictures, whose hash says nothing. */
  readonly perceptual?: string;
}

interface FingerprintOptions {
  readonly perceptual: 'none' | 'dhash' | 'phash';
}

/**
 * Difference of the brightest and the darkest grey below which a picture counts as plain. The bits of its hash come
 * from noise, or are those of every other plain picture.
 */
const PLAIN_RANGE = 8;

/** Hashes bytes and pixels of one file for the search of duplicates. */
export const fingerprint: ThreadOperation<FingerprintOptions> = {
  name: 'fingerprint',
  async run(input, { perceptual: algorithm }) {
    if (input.file.byteLength === 0) throw fileFailure('empty_file', 'the file is empty');
    const sha256 = createHash('sha256').update(input.file).digest('hex');
    if (algorithm === 'none') return { data: { sha256 } satisfies Fingerprint };
    const header = await readHeader(input);
    const { width, height } = header;
    const { perceptual, grey } = await hashOfPixels(input, header, algorithm);
    const isPlain = Math.max(...grey) - Math.min(...grey) < PLAIN_RANGE;
    return {
      data: {
        sha256,
        width,
        height,
        ...(!isPlain && { perceptual: perceptual.hex }),
      } satisfies Fingerprint,
    };
  },
};
