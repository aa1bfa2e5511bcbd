import { fileFailure } from '../file-error.ts';
import type { ImageInput, Sharp } from '../input.ts';
import { pngWithDensity, pngWithProfile } from '../png/png.ts';
import { estimateDecoding } from './estimate.ts';
import type { Header, Size } from './header.ts';
import { readDeep, readSamples, type Samples, start } from './pixels.ts';
import type { RawSamples, Weights } from './samples.ts';
import { type ToneCurve, toSrgbTable } from './tone-curve.ts';

/**
 * An input whose decoder returns red, green and blue: the given one, or an uncompressed PNG of its first
 * page with the same metadata.
 *
 * @throws Failure unsupported_format for samples that cannot be converted
 */
export async function withTrueColours(input: ImageInput, header: Header): Promise<ImageInput> {
  const { raw } = header;
  if (raw === null) return input;
  if (raw.kind === 'unreadable') {
    throw fileFailure('unsupported_format', `TIFF images with ${raw.reason} cannot be decoded`);
  }
  const { bytes, limits, sharp } = input;
  const stored = sharp(bytes, { limitInputPixels: limits.pixels, ignoreIcc: true }).autoOrient();
  const converted = convert(stored, raw, header);
  const png = await converted.keepMetadata().png({ compressionLevel: 0 }).toBuffer();
  const profiled = raw.kind === 'coded' ? pngWithProfile(png, raw.profile) : png;
  return { ...input, bytes: profiled, limits, sharp };
}

/** The first page of deep greyscale in sRGB, as an uncompressed PNG without a profile. */
export async function withTone(
  input: ImageInput,
  curve: ToneCurve,
  { metadata: { density } }: Header,
): Promise<ImageInput> {
  const { bytes, limits, sharp } = input;
  const stored = sharp(bytes, { limitInputPixels: limits.pixels, ignoreIcc: true }).autoOrient();
  const pixels = await readDeep(stored, 'grey16');
  const { data } = pixels;
  const table = toSrgbTable(curve);
  for (let at = 0; at < data.length; at += pixels.channels) data[at] = table[data[at]!]!;
  const png = await start(input, pixels)
    .toColourspace('grey16')
    .png({ compressionLevel: 0 })
    .toBuffer();
  const dense = density === undefined ? png : pngWithDensity(png, density);
  return { ...input, bytes: dense, limits, sharp };
}

/**
 * The first frame in eight bits of sRGB, for operations that only measure it. The colours are converted
 * first: sharp converts deep colours with a profile to Display P3, and deep grey not at all (0.35.5).
 *
 * @throws Failure unsupported_format for samples that cannot be converted
 */
export async function openInEightBits(input: ImageInput, header: Header): Promise<Sharp> {
  input.admit(estimateDecoding(header, 1));
  const { bytes, limits, sharp } = await withTrueColours(input, header);
  const image = sharp(bytes, { limitInputPixels: limits.pixels });
  return header.deep ? image.pipelineColourspace(header.grey ? 'b-w' : 'srgb') : image;
}

function convert(image: Sharp, raw: RawSamples, header: Header): Sharp {
  if (raw.kind === 'limited-grey') return fromLimited(image, header);
  if (raw.kind === 'ycbcr') return fromYcbcr(image, raw.weights, raw.range);
  return header.deep ? image.toColourspace('rgb16') : image;
}

/** Expands the range 16 to 235 of eight bits, shifted by 8 in sixteen bits. Adds a half for rounding. */
function fromLimited(image: Sharp, { deep }: Header): Sharp {
  const [black, white, full] = deep ? [16 * 256, 235 * 256, 65_535] : [16, 235, 255];
  const scale = full / (white - black);
  return image.toColourspace(deep ? 'rgb16' : 'srgb').linear(scale, 0.5 - black * scale);
}

function fromYcbcr(image: Sharp, [red, green, blue]: Weights, range: readonly number[]): Sharp {
  const [black, white, cbZero, cbFull, crZero, crFull] = range as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const y = 255 / (white - black);
  const cb = (127 / (cbFull - cbZero)) * (2 - 2 * blue);
  const cr = (127 / (crFull - crZero)) * (2 - 2 * red);
  const matrix: [number[], number[], number[]] = [
    [y, 0, cr],
    [y, (-cb * blue) / green, (-cr * red) / green],
    [y, cb, 0],
  ];
  const offsets = matrix.map(([a, b, c]) => 0.5 - (a! * black + b! * cbZero + c! * crZero));
  return image.recomb(matrix as never).linear([1, 1, 1], offsets);
}

/**
 * The pixels of the first frame as displayed: oriented, in sRGB, with eight bits.
 *
 * @param size to which they are scaled
 */
export async function readDisplayed(
  input: ImageInput,
  header: Header,
  size?: Size,
): Promise<Samples> {
  const image = (await openInEightBits(input, header)).autoOrient();
  return readSamples(size ? image.resize({ ...size, fit: 'fill' }) : image);
}
