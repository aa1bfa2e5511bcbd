import { readHeader } from '../../images/decoding/header.ts';
import { readRaw } from '../../images/decoding/pixels.ts';
import { openInEightBits } from '../../images/decoding/true-colours.ts';
import type { ThreadOperation } from '../definition/operation.ts';

/** An image for a terminal: a PNG of eight bits a channel, or opaque pixels. */
export type Preview =
  | { readonly png: Uint8Array }
  | {
      readonly width: number;
      readonly height: number;
      /** Four bytes a pixel, row by row. */
      readonly rgba: Uint8Array;
    };

interface PreviewOptions {
  readonly as: 'png' | 'rgba';
  /** Maximum pixels of the longer side. */
  readonly side: number;
}

/** Shrinks the first frame of an image for a terminal, oriented by EXIF. */
export const preview: ThreadOperation<PreviewOptions> = {
  name: 'preview',
  async run(input, { as, side }) {
    const image = (await openInEightBits(input, await readHeader(input)))
      .autoOrient()
      .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })
      .toColourspace('srgb');
    if (as === 'png') {
      const png = await image.png({ compressionLevel: 1 }).toBuffer();
      return { data: { png } satisfies Preview };
    }
    const opaque = image.flatten({ background: 'white' }).ensureAlpha();
    const { data, width, height } = await readRaw(opaque.raw());
    return { data: { width, height, rgba: data } satisfies Preview };
  },
};
