import sharp from 'sharp';

/** Decodes the outputs of contenders for checks. Nothing here is measured. */

export const sharpVersions: Record<string, string> = {
  sharp: sharp.versions.sharp ?? 'unknown',
  libvips: sharp.versions.vips,
};

export interface Pixels {
  width: number;
  height: number;
  /** Red, green, blue, row by row. */
  data: Uint8Array;
}

/** Decodes a whole file, by path or in memory. @throws if it cannot be decoded to its end */
export async function pixels(file: string | Uint8Array): Promise<Pixels> {
  const { data, info } = await sharp(file, { failOn: 'truncated' })
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, data };
}

/** Peak signal to noise over all three channels, in decibels. */
export function psnr(one: Pixels, other: Pixels): number {
  if (one.data.length !== other.data.length) throw new Error('expected pictures of one size');
  let sum = 0;
  for (let index = 0; index < one.data.length; index++) {
    sum += (one.data[index]! - other.data[index]!) ** 2;
  }
  return 10 * Math.log10((255 ** 2 * one.data.length) / sum);
}

/**
 * Growth of the logarithm of an AVIF's size with each decibel around quality 50, over these pictures. It estimates
 * the size of a file at another one's quality. The slope hardly depends on the effort, so the quick one is used.
 */
export async function sizePerDecibel(files: readonly string[]): Promise<number> {
  const points: { bytes: number; quality: number }[] = [];
  for (const quality of [40, 60]) {
    const point = { bytes: 0, quality: 0 };
    const measure = async (file: string): Promise<void> => {
      const encoded = await sharp(file).avif({ quality, effort: 3 }).toBuffer();
      const near = psnr(await pixels(file), await pixels(encoded));
      point.bytes += encoded.length;
      point.quality += near / files.length;
    };
    await Promise.all(files.map(measure));
    points.push(point);
  }
  const [lower, upper] = points as [(typeof points)[0], (typeof points)[0]];
  return Math.log(upper.bytes / lower.bytes) / (upper.quality - lower.quality);
}
