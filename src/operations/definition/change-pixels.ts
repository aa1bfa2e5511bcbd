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
export const fullOf = ({ data }: Pixels): number => (data instanceof Uint16Array ? 65_535 : 255);

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

/** Bytes from which on a table of pairs of samples takes less time to make than it saves. */
const MANY = 2 ** 20;

/** Replaces the samples of colours. @param curves one for all, or one for each of red, green and blue */
export function applyCurves(pixels: Pixels, curves: readonly Curve[]): Pixels {
  const { data, channels } = pixels;
  const full = fullOf(pixels);
  const tables = curves.map((curve) =>
    Uint16Array.from({ length: full + 1 }, (_, sample) =>
      Math.round(Math.min(1, Math.max(0, curve(sample / full))) * full),
    ),
  );
  const [red, green = red!, blue = red!] = tables;
  const isAlike = tables.length === 1 && channels === 3 && full === 255;
  if (isAlike && data.length > MANY && data.byteOffset % 2 === 0) {
    replacePairs(data, red!);
    return pixels;
  }
  for (let at = 0; at < data.length; at += channels) {
    data[at] = red![data[at]!]!;
    data[at + 1] = green[data[at + 1]!]!;
    data[at + 2] = blue[data[at + 2]!]!;
  }
  return pixels;
}

/** Replaces two samples of eight bits at a time, which takes a third of the time. */
function replacePairs(data: Pixels['data'], table: Uint16Array): void {
  const pairs = new Uint16Array(data.buffer, data.byteOffset, data.length >> 1);
  const both = Uint16Array.from(
    { length: 65_536 },
    (_, pair) => table[pair & 255]! | (table[pair >> 8]! << 8),
  );
  for (let at = 0; at < pairs.length; at += 1) pairs[at] = both[pairs[at]!]!;
  const last = data.length - 1;
  if (last % 2 === 0) data[last] = table[data[last]!]!;
}
