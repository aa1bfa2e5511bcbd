import type { Facts } from '../../images/decoding/header.ts';
import { addAlpha, type Pixels, read, start } from '../../images/decoding/pixels.ts';
import type { Sharp } from '../../images/input.ts';
import { metadataPng } from '../../images/metadata/policy.ts';
import { pngWithMetadataOf } from '../../images/png/png.ts';
import { openPixels } from './progress.ts';
import type { Source } from './step.ts';

/** A sample for a sample, both of 0 to 1. Results beyond are clipped. */
export type Curve = (sample: number) => number;

/** The largest sample. */
export function fullOf({ data }: Pixels): number {
  return data instanceof Uint16Array ? 65_535 : 255;
}

/**
 * Continues in a new pipeline over changed pixels, with the metadata of the input if the output may keep it.
 *
 * @param change gets red, green and blue, and alpha if the image or the result has it
 */
export async function changePixels(
  { input, header, profiled }: Source,
  frame: Sharp,
  facts: Facts,
  after: Facts,
  change: (pixels: Pixels) => Pixels | Promise<Pixels>,
): Promise<Sharp> {
  const { sharp } = input;
  const open = { limitInputPixels: false };
  const png = profiled ? (await metadataPng(frame, header)).data : null;
  const opened = png ? sharp(png, { ...open, ignoreIcc: true }) : frame;
  const isNew = after.hasAlpha && !facts.hasAlpha;
  const whole = isNew ? addAlpha(opened, facts, facts).ensureAlpha() : opened;
  const found = await read(whole, facts);
  const pixels = found.channels < 3 ? await read(openPixels(input, found), facts) : found;
  const changed = await change(pixels);
  if (!png) return openPixels(input, changed);
  const encoded = start(input, changed).toColourspace(facts.deep ? 'rgb16' : 'srgb');
  const bytes = await encoded.png({ compressionLevel: 0 }).toBuffer();
  return sharp(pngWithMetadataOf(bytes, png), open);
}

/** Replaces the samples of colours. @param curves one for all, or one for each of red, green and blue */
export function applyCurves(pixels: Pixels, curves: readonly Curve[]): Pixels {
  const { data, channels } = pixels;
  const full = fullOf(pixels);
  const tables = curves.map((curve) =>
    Uint16Array.from({ length: full + 1 }, (_, sample) =>
      Math.round(Math.min(1, Math.max(0, curve(sample / full))) * full),
    ),
  );
  for (let colour = 0; colour < 3; colour += 1) {
    const table = tables[colour % tables.length]!;
    for (let at = colour; at < data.length; at += channels) data[at] = table[data[at]!]!;
  }
  return pixels;
}

/** Multiplies the opacity of each pixel. @param share its factor, 0 to 1 */
export function multiplyAlpha(pixels: Pixels, share: (x: number, y: number) => number): Pixels {
  const { data, width, height } = pixels;
  for (let y = 0, at = 3; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, at += 4) data[at] = Math.round(data[at]! * share(x, y));
  }
  return pixels;
}
