import { readAvifColours } from '../avif.ts';
import { type Fields, readDirectories, TiffBlock } from '../exif/tiff-block.ts';
import { type CodedColours, highRange, profileOfCode } from '../icc.ts';
import type { Warning } from '../output.ts';
import { readPngCode } from '../png/png.ts';
import type { InputFormat } from './sniff.ts';

/** Samples that libvips 8.18 returns as they are stored, as if they were red, green and blue. */
export type RawSamples =
  | { readonly kind: 'coded'; readonly profile: Uint8Array }
  | { readonly kind: 'limited-grey' }
  | { readonly kind: 'ycbcr'; readonly weights: Weights; readonly range: readonly number[] }
  | { readonly kind: 'unreadable'; readonly reason: string };

export type Weights = readonly [red: number, green: number, blue: number];

/** The conversion that an image's samples need; null if the decoder returns red, green and blue. */
export function findRawSamples(
  format: InputFormat,
  bytes: Uint8Array,
  profiled: boolean,
): RawSamples | null {
  if (format === 'tiff') return ycbcrOfTiff(bytes);
  const colours = format === 'avif' ? readAvifColours(bytes) : null;
  if (!colours?.coded) return null;
  // libheif 1.23 expands limited range only in colour images.
  if (colours.monochrome && !colours.coded.fullRange) return { kind: 'limited-grey' };
  const profile = profiled ? null : profileOfCode(colours.coded);
  return profile && { kind: 'coded', profile };
}

const TIFF = {
  bits: 258,
  compression: 259,
  photometric: 262,
  channels: 277,
  weights: 529,
  subsampling: 530,
  range: 532,
} as const;
const YCBCR = 6;
/** Compressions whose decoder converts to red, green and blue: JPEG, and its form in TIFF 6.0. */
const JPEG = [6, 7];

function ycbcrOfTiff(bytes: Uint8Array): RawSamples | null {
  const block = TiffBlock.open(bytes);
  const fields = block && readDirectories(block)?.image;
  if (!fields) return null;
  const [photometric] = numbers(block, fields, TIFF.photometric, [0]);
  const [compression] = numbers(block, fields, TIFF.compression, [1]);
  if (photometric !== YCBCR || JPEG.includes(compression!)) return null;
  const [across, down] = numbers(block, fields, TIFF.subsampling, [2, 2]);
  const [channels] = numbers(block, fields, TIFF.channels, [3]);
  const bits = numbers(block, fields, TIFF.bits, [8]);
  if (across !== 1 || down !== 1 || channels !== 3 || bits.some((count) => count !== 8)) {
    const reason = `YCbCr of ${channels} channels, ${bits[0]} bits, subsampled ${across}x${down}`;
    return { kind: 'unreadable', reason };
  }
  // The defaults of TIFF 6.0, sections 20 and 21: ITU-R 601, and the full range.
  const weights = numbers(block, fields, TIFF.weights, [0.299, 0.587, 0.114]);
  const range = numbers(block, fields, TIFF.range, [0, 255, 128, 255, 128, 255]);
  return { kind: 'ycbcr', weights: weights as readonly number[] as Weights, range };
}

/** A field's numbers, or the default if it has fewer. */
function numbers(
  block: TiffBlock,
  fields: Fields,
  tag: number,
  missing: readonly number[],
): readonly number[] {
  const field = fields.get(tag);
  const stored = field && field.count <= 8 ? (block.numbers(field) ?? []) : [];
  const whole = stored.filter((value) => value !== null);
  return whole.length >= missing.length ? whole : missing;
}

/** The code points (ITU-T H.273) of a file's colours; null if it has none. */
export function codedColours(format: InputFormat, bytes: Uint8Array): CodedColours | null {
  if (format === 'avif') return readAvifColours(bytes)?.coded ?? null;
  return format === 'png' ? readPngCode(bytes) : null;
}

/** Warns of a high dynamic range that is read as sRGB. A profile overrides the code points. */
export function colourWarnings(coded: CodedColours | null, profiled: boolean): Warning[] {
  const transfer = coded && !profiled ? highRange(coded) : undefined;
  if (transfer === undefined) return [];
  const message = `the colours have a high dynamic range (${transfer}) and were taken for sRGB`;
  return [{ code: 'colours_not_converted', message }];
}
