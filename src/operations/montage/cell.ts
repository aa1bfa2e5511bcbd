import { readHeader } from '../../images/header.ts';
import { openInEightBits } from '../../images/true-colours.ts';
import type { ThreadOperation } from '../operation.ts';

export interface CellOptions {
  readonly width: number;
  readonly height: number;
  /** `cover` fills the cell and cuts the rest off. */
  readonly fit: 'contain' | 'cover';
}

/** The first frame of an image as a PNG for one cell of a contact sheet, not enlarged unless to cover it. */
export const montageCell: ThreadOperation<CellOptions> = {
  name: 'montage-cell',
  async run(input, { width, height, fit }) {
    const header = await readHeader(input);
    const image = (await openInEightBits(input, header)).autoOrient();
    const resized =
      fit === 'cover'
        ? image.resize({ width, height, fit })
        : image.resize({ width, height, fit: 'inside', withoutEnlargement: true });
    const { data, info } = await resized
      .toColourspace('srgb')
      .png({ compressionLevel: 1 })
      .toBuffer({ resolveWithObject: true });
    const size = { width: info.width, height: info.height };
    return { image: { bytes: data, format: 'png', ...size }, warnings: header.warnings };
  },
};
