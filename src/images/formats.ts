/** The formats that Oriel writes. */
export const OUTPUT_FORMATS = ['jpeg', 'png', 'webp', 'avif', 'gif', 'tiff'] as const;

export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export interface FormatTraits {
  /** File name extensions; Oriel writes the first. */
  readonly extensions: readonly [string, ...string[]];
  readonly mediaType: string;
  readonly alpha: boolean;
  readonly animation: boolean;
  /** Whether it holds more than eight bits per channel. */
  readonly deep: boolean;
  readonly grey: boolean;
  /** Default of `quality`; null if the encoder has no such setting. */
  readonly quality: number | null;
  /** Whether it holds a palette, so that fewer colours make it smaller. */
  readonly palette: boolean;
  readonly lossless: 'always' | 'optional' | 'never';
  /** The encoder's scale of CPU effort; null if it has none. */
  readonly effort: { readonly min: number; readonly max: number; readonly default: number } | null;
  readonly progressive: boolean;
  readonly chromaSubsampling: boolean;
  /** Whether it holds a colour profile, EXIF or XMP. */
  readonly metadata: boolean;
}

/**
 * Traits of the formats. Default efforts balance size against time: AVIF effort 4 takes five times as long
 * as effort 3 for 3 % of size, PNG level 9 six times as long as level 6 for 2 %. JPEG has no scale of its
 * own: 7 and above mean mozjpeg's trellis quantisation, eight times the time for a tenth of the size.
 */
export const FORMATS: Readonly<Record<OutputFormat, FormatTraits>> = {
  jpeg: {
    extensions: ['jpg', 'jpeg', 'jpe', 'jfif'],
    mediaType: 'image/jpeg',
    alpha: false,
    animation: false,
    deep: false,
    grey: true,
    quality: 80,
    palette: false,
    lossless: 'never',
    effort: { min: 0, max: 10, default: 0 },
    progressive: true,
    chromaSubsampling: true,
    metadata: true,
  },
  png: {
    extensions: ['png'],
    mediaType: 'image/png',
    alpha: true,
    animation: false,
    deep: true,
    grey: true,
    quality: null,
    palette: true,
    lossless: 'always',
    effort: { min: 0, max: 9, default: 6 },
    progressive: true,
    chromaSubsampling: false,
    metadata: true,
  },
  webp: {
    extensions: ['webp'],
    mediaType: 'image/webp',
    alpha: true,
    animation: true,
    deep: false,
    grey: false,
    quality: 80,
    palette: false,
    lossless: 'optional',
    effort: { min: 0, max: 6, default: 4 },
    progressive: false,
    chromaSubsampling: false,
    metadata: true,
  },
  avif: {
    extensions: ['avif'],
    mediaType: 'image/avif',
    alpha: true,
    animation: false,
    deep: true,
    grey: false,
    quality: 50,
    palette: false,
    lossless: 'optional',
    effort: { min: 0, max: 9, default: 3 },
    progressive: false,
    chromaSubsampling: true,
    metadata: true,
  },
  gif: {
    extensions: ['gif'],
    mediaType: 'image/gif',
    alpha: true,
    animation: true,
    deep: false,
    grey: false,
    quality: null,
    palette: true,
    lossless: 'never',
    effort: { min: 1, max: 10, default: 7 },
    progressive: true,
    chromaSubsampling: false,
    metadata: false,
  },
  tiff: {
    extensions: ['tiff', 'tif'],
    mediaType: 'image/tiff',
    alpha: true,
    animation: false,
    deep: true,
    grey: true,
    quality: null,
    palette: false,
    lossless: 'always',
    effort: null,
    progressive: false,
    chromaSubsampling: false,
    metadata: true,
  },
};

/** Extensions of images that are read in any case. */
export const READABLE_EXTENSIONS: readonly string[] = [
  ...OUTPUT_FORMATS.flatMap((format) => FORMATS[format].extensions),
  ...['bmp', 'dib', 'ico'],
];

/** Extensions of image files in folders, including unreadable formats, which are reported. */
export const IMAGE_EXTENSIONS: readonly string[] = [
  ...READABLE_EXTENSIONS,
  ...['heic', 'heif', 'svg', 'jxl', 'jp2'],
];

/** The format of a file name extension, or null. */
export function formatOfExtension(extension: string): OutputFormat | null {
  const ending = extension.toLowerCase();
  return OUTPUT_FORMATS.find((format) => FORMATS[format].extensions.includes(ending)) ?? null;
}

/**
 * The extension of an output's name, without a dot: the input's own if it is one of the format
 * (`IMG.JPG` stays `IMG.JPG`), else the format's first.
 */
export function outputExtension(inputFilename: string, format: OutputFormat): string {
  const own = /\.([^./\\]+)$/.exec(inputFilename)?.[1];
  return own !== undefined && formatOfExtension(own) === format
    ? own
    : FORMATS[format].extensions[0];
}
