import { isProgramFormat, READERS } from './program-formats.ts';

/** The formats that Oriel writes. */
export const OUTPUT_FORMATS = ['jpeg', 'png', 'webp', 'avif', 'gif', 'tiff', 'jxl'] as const;

export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** The formats of outputs: SVG is written from SVG alone. */
export const FILE_FORMATS = [...OUTPUT_FORMATS, 'svg'] as const;

export type FileFormat = (typeof FILE_FORMATS)[number];

/** Traits that most formats have. */
const USUAL = {
  alpha: true,
  animation: false,
  /** Whether it holds more than eight bits per channel. */
  deep: false,
  grey: false,
  /** Default of `quality`; null if the encoder has no such setting. */
  quality: null as number | null,
  /** Whether it holds a palette, so that fewer colours make it smaller. */
  palette: false,
  lossless: 'optional' as 'always' | 'optional' | 'never',
  progressive: false,
  chromaSubsampling: false,
  /** Most pixels along a side. */
  side: 65_535,
  /** Whether it holds a colour profile, EXIF or XMP. */
  metadata: true,
};

export interface FormatTraits extends Readonly<typeof USUAL> {
  /** File name extensions; Oriel writes the first. */
  readonly extensions: readonly [string, ...string[]];
  readonly mediaType: string;
  /** The encoder's scale of CPU effort; null if it has none. */
  readonly effort: { readonly min: number; readonly max: number; readonly default: number } | null;
}

/**
 * Traits of the formats. Default efforts balance size against time: AVIF effort 4 takes five times as long
 * as effort 3 for 3 % of size, PNG level 9 six times as long as level 6 for 2 %. JPEG has no scale of its
 * own: 7 and above mean mozjpeg's trellis quantisation, eight times the time for a tenth of the size. JPEG XL effort 7
 * takes twice the time and memory of 5 for no size.
 */
export const FORMATS: Readonly<Record<FileFormat, FormatTraits>> = {
  jpeg: {
    ...USUAL,
    extensions: ['jpg', 'jpeg', 'jpe', 'jfif'],
    mediaType: 'image/jpeg',
    alpha: false,
    grey: true,
    side: 65_500,
    quality: 80,
    lossless: 'never',
    effort: { min: 0, max: 10, default: 0 },
    progressive: true,
    chromaSubsampling: true,
  },
  png: {
    ...USUAL,
    extensions: ['png'],
    mediaType: 'image/png',
    deep: true,
    grey: true,
    palette: true,
    lossless: 'always',
    effort: { min: 0, max: 9, default: 6 },
    progressive: true,
  },
  webp: {
    ...USUAL,
    extensions: ['webp'],
    mediaType: 'image/webp',
    side: 16_383,
    animation: true,
    quality: 80,
    effort: { min: 0, max: 6, default: 4 },
  },
  avif: {
    ...USUAL,
    extensions: ['avif'],
    mediaType: 'image/avif',
    side: 16_384,
    deep: true,
    quality: 50,
    effort: { min: 0, max: 9, default: 3 },
    chromaSubsampling: true,
  },
  gif: {
    ...USUAL,
    extensions: ['gif'],
    mediaType: 'image/gif',
    animation: true,
    palette: true,
    lossless: 'never',
    effort: { min: 1, max: 10, default: 7 },
    progressive: true,
    metadata: false,
  },
  tiff: {
    ...USUAL,
    extensions: ['tiff', 'tif'],
    mediaType: 'image/tiff',
    deep: true,
    grey: true,
    lossless: 'always',
    effort: null,
  },
  jxl: {
    ...USUAL,
    extensions: ['jxl'],
    mediaType: 'image/jxl',
    deep: true,
    grey: true,
    quality: 85,
    effort: { min: 1, max: 9, default: 5 },
  },
  svg: {
    ...USUAL,
    extensions: ['svg'],
    mediaType: 'image/svg+xml',
    lossless: 'never',
    effort: null,
  },
};

/** Extensions of images that are read in any case. */
export const READABLE_EXTENSIONS: readonly string[] = [
  ...OUTPUT_FORMATS.filter((format) => !isProgramFormat(format)).flatMap(
    (format) => FORMATS[format].extensions,
  ),
  ...['bmp', 'dib', 'ico'],
];

/** Extensions of image files in folders, including unreadable formats, which are reported. */
export const IMAGE_EXTENSIONS: readonly string[] = [
  ...READABLE_EXTENSIONS,
  // Raw and PDF must be named: a raw file often lies beside its JPEG.
  ...READERS.heic.extensions,
  ...READERS.jxl.extensions,
  ...['svg', 'jp2'],
];

/** The format of a file name extension, or null. */
export function formatOfExtension(extension: string): FileFormat | null {
  const ending = extension.toLowerCase();
  return FILE_FORMATS.find((format) => FORMATS[format].extensions.includes(ending)) ?? null;
}

/**
 * The extension of an output's name, without a dot: the input's own if it is one of the format
 * (`IMG.JPG` stays `IMG.JPG`), else the format's first.
 */
export function outputExtension(inputFilename: string, format: FileFormat): string {
  const own = /\.([^./\\]+)$/.exec(inputFilename)?.[1];
  return own !== undefined && formatOfExtension(own) === format
    ? own
    : FORMATS[format].extensions[0];
}
