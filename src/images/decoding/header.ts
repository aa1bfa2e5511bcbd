import { exifOfTiff } from '../exif/copy.ts';
import { fileFailure } from '../file-error.ts';
import type { ImageInput } from '../input.ts';
import { checkPixels, type Limits } from '../limits.ts';
import type { Warning } from '../output.ts';
import { countApngFrames, hasDensity } from '../png/png.ts';
import { isProgramFormat, READERS } from '../program-formats.ts';
import type { Size } from '../sizes.ts';
import { codedColours, colourWarnings, findRawSamples } from './samples.ts';
import { type InputFormat, sniff, unsupportedMessage } from './sniff.ts';
import { toneCurveOf } from './tone-curve.ts';

/** The header of an image, with width and height after EXIF orientation. */
export type Header = Readonly<Awaited<ReturnType<typeof readHeader>>>;

/** Media types of formats that Oriel decodes to another one for libvips. */
const MEDIA_TYPES: Partial<Readonly<Record<InputFormat, string>>> = {
  ...Object.fromEntries(Object.entries(READERS).map(([name, { mediaType }]) => [name, mediaType])),
  bmp: 'image/bmp',
  ico: 'image/vnd.microsoft.icon',
};

/**
 * Reads the header and checks one frame against the limits before a pixel is decoded. Callers that decode
 * more than one frame call `checkFrames` first.
 *
 * @param options.decode whether a program decodes the pixels of its format; libvips reads the header of HEIC without
 * @throws Failure with a file error code
 */
export async function readHeader(input: ImageInput, { decode = true } = {}) {
  const { file, limits, sharp } = input;
  if (file.byteLength === 0) throw fileFailure('empty_file', 'the file is empty');
  const sniffed = sniff(file);
  if (sniffed === null) throw fileFailure('unsupported_format', 'not an image of a known format');
  if ('unsupported' in sniffed) {
    throw fileFailure('unsupported_format', unsupportedMessage(sniffed.unsupported));
  }
  if (sniffed.format === 'svg' && !limits.svg) {
    const { svgSwitch } = limits;
    throw fileFailure(
      'unsupported_format',
      `SVG images are not read${svgSwitch === undefined ? '' : ` without ${svgSwitch}`}`,
    );
  }
  const { format } = sniffed;
  const svg = format === 'svg' ? Buffer.from(file).toString('latin1') : '';
  if (HUGE_SVG.test(svg)) {
    throw fileFailure('image_too_large', 'a side of the SVG image is 10 million pixels or more');
  }
  const isHeader = format === 'heic' && !decode;
  const isLoaded = isProgramFormat(format) && !isHeader;
  // A later call may let a program decode the file to `input.bytes`.
  const bytes = isLoaded ? await input.load() : isHeader ? input.file : input.bytes;
  /** The format of the bytes for libvips. */
  const coding = isLoaded ? (format === 'raw' ? 'jpeg' : 'png') : format;
  const metadata = await sharp(bytes, { limitInputPixels: false }).metadata();
  if (coding === 'png' && !hasDensity(bytes)) delete metadata.density;
  // HEIF counts the tiles of a grid as pages unless they are marked hidden. The picture of such a
  // file is its primary item (ISO/IEC 23008-12, 6.6), which the decoder reads.
  const pages = format === 'avif' || format === 'heic' ? 1 : (metadata.pages ?? 1);
  const { width, height } = metadata.autoOrient;
  checkPixels({ width, height, pages: 1 }, limits);
  const isDeepGrey = metadata.space === 'grey16';
  /** Conversion that the decoder's samples need; null if they need none. */
  const raw = findRawSamples(coding, bytes, metadata.hasProfile);
  /** Warnings for every output of this image. */
  const warnings: readonly Warning[] = colourWarnings(
    codedColours(coding, bytes),
    metadata.hasProfile,
  );
  return {
    format,
    mediaType: MEDIA_TYPES[format] ?? metadata.mediaType,
    /** Pixels of one frame after EXIF orientation. */
    width,
    height,
    /** Frames or pages that the decoder can read. */
    pages,
    /** Frames or pages of the file: more than `pages` for an animated PNG, of which the first is read. */
    storedPages: coding === 'png' ? countApngFrames(bytes) : pages,
    /** Whether several frames are an animation, not pages of a document. */
    animated: pages > 1 && (format === 'gif' || format === 'webp'),
    hasAlpha: metadata.hasAlpha,
    /** Whether it has more than eight bits per channel. */
    deep: metadata.depth !== 'uchar',
    grey: metadata.space === 'b-w' || isDeepGrey,
    /** The EXIF block; for TIFF, whose decoder returns none, the tags that describe the picture. */
    exif: metadata.exif ?? (format === 'tiff' ? exifOfTiff(bytes) : null),
    /** Curve of deep greyscale with a profile, which the decoder does not apply; null for all others. */
    tone: isDeepGrey && metadata.icc ? toneCurveOf(metadata.icc) : null,
    raw,
    /** Elements of an SVG image that need a buffer of their own, such as filters; at most 8. */
    layers: countLayers(svg),
    /** Whether the picture has a colour profile, its own or one that `withTrueColours` adds. */
    profiled: metadata.hasProfile || raw?.kind === 'coded',
    warnings,
    oriented: (metadata.orientation ?? 1) > 1,
    /** All other metadata of the decoder. */
    metadata,
  };
}

/** Width or height from 10 million on, which libvips does not hold: GLib would print a warning, and the side be 1. */
const HUGE_SVG =
  /<(?:\w+:)?svg\b[^<>]*?\s(?:width|height)\s*=\s*["']\s*(?:\d{8}|[\d.]+e\+?(?:[7-9]|\d\d))/i;

const LAYER = /\b(?:filter|mask|opacity|clip-path|mix-blend-mode)\s*[=:]|<fe[A-Z]|<(?:\w+:)?use\b/g;
/** Only nested layers are buffered at once, and the count includes others. */
const MAX_LAYERS = 8;

function countLayers(svg: string): number {
  let layers = 0;
  for (const _ of svg.matchAll(LAYER)) {
    layers += 1;
    if (layers === MAX_LAYERS) break;
  }
  return layers;
}

/**
 * Checks all frames of an image against the limits, for callers that decode all of them.
 *
 * @throws Failure too_many_frames or image_too_large
 */
export function checkFrames(header: Header, limits: Limits): void {
  const { pages } = header;
  if (pages > limits.frames) {
    const message = `${pages} frames, more than the limit of ${limits.frames}`;
    throw fileFailure('too_many_frames', message);
  }
  checkPixels(header, limits);
}

export type { Size } from '../sizes.ts';

/** Properties of an image between two steps. Width and height are those of one frame. */
export type Facts = Readonly<ReturnType<typeof factsOf>>;

/** The facts of a decoded input. @param frames 1, or the number of frames (pages) that are processed */
export function factsOf(header: Header, frames: number) {
  const { width, height, hasAlpha, deep, grey } = header;
  // `moved`: whether steps have cut or turned it, so that places in the input are others now.
  return { width, height, frames, hasAlpha, deep, grey, moved: false };
}

export function isSameSize(one: Size, other: Size): boolean {
  return one.width === other.width && one.height === other.height;
}
