import * as z from 'zod';
import { colour, isGrey, parseColour } from './colour.ts';
import { FORMATS, OUTPUT_FORMATS, type OutputFormat } from './formats.ts';
import type { Header } from './header.ts';
import { decodingFailure } from './header.ts';
import { keepMetadata, METADATA_POLICIES } from './keep.ts';
import {
  fileFailure,
  type OperationInput,
  type OperationResult,
  type Sharp,
  type Warning,
} from './operation.ts';
import type { Picture } from './picture.ts';

const formatNames = z.enum([...OUTPUT_FORMATS, 'jpg', 'tif']);

/** Output formats by every name that people type. */
export const format = formatNames.transform((name): OutputFormat => {
  if (name === 'jpg') return 'jpeg';
  return name === 'tif' ? 'tiff' : name;
});

/** The options that every operation which writes an image shares. */
export const encodingFields = {
  quality: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe('encoder quality (jpeg and webp 80, avif 50; png, gif and tiff have none)'),
  lossless: z.boolean().default(false).describe('lossless webp or avif'),
  effort: z
    .int()
    .min(0)
    .max(10)
    .optional()
    .describe(
      'CPU effort for smaller files (webp 0-6, avif 0-9, png 0-9, gif 1-10; jpeg 7 up: mozjpeg)',
    ),
  chromaSubsampling: z
    .enum(['auto', '4:2:0', '4:4:4'])
    .default('auto')
    .describe('colour resolution of jpeg and avif'),
  progressive: z.boolean().default(false).describe('progressive jpeg, interlaced png or gif'),
  background: colour
    .default('white')
    .describe('what transparency is laid on where the format has none'),
  metadata: z
    .enum(METADATA_POLICIES)
    .default('none')
    .describe('what the output keeps of EXIF, XMP, IPTC and the colour profile'),
  animated: z
    .enum(['auto', 'first', 'all'])
    .default('auto')
    .describe('frames: all that the format holds, the first, or all or nothing'),
};

export type EncodingOptions = z.output<z.ZodObject<typeof encodingFields>>;

/** The format of an output that was not asked to change: the input's own, or png where we cannot write that. */
export function sameFormat(header: Header): OutputFormat {
  const own = OUTPUT_FORMATS.find((candidate) => candidate === header.format);
  return own ?? 'png';
}

/** Says which of the asked-for settings this format does not have. */
function ignoredSettings(to: OutputFormat, options: EncodingOptions): Warning[] {
  const traits = FORMATS[to];
  const name = to.toUpperCase();
  const warnings: Warning[] = [];
  const ignored = (code: Warning['code'], setting: string) =>
    warnings.push({ code, message: `${name} has no ${setting} setting: it was ignored` });
  if (options.quality !== undefined && traits.quality === null)
    ignored('quality_ignored', 'quality');
  if (options.lossless && traits.lossless === 'never') ignored('lossless_ignored', 'lossless');
  if (options.progressive && !traits.progressive) ignored('progressive_ignored', 'progressive');
  if (options.chromaSubsampling !== 'auto' && !traits.chromaSubsampling) {
    ignored('chroma_subsampling_ignored', 'chromaSubsampling');
  }
  if (options.effort !== undefined) {
    if (traits.effort === null) ignored('effort_ignored', 'effort');
    else if (effortFor(to, options) !== options.effort) {
      const { min, max } = traits.effort;
      const message = `effort for ${name} is ${min} to ${max}: ${effortFor(to, options)} was used`;
      warnings.push({ code: 'effort_adjusted', message });
    }
  }
  return warnings;
}

function effortFor(to: OutputFormat, { effort }: EncodingOptions): number {
  const scale = FORMATS[to].effort ?? { min: 0, max: 0, default: 0 };
  return Math.min(scale.max, Math.max(scale.min, effort ?? scale.default));
}

function writeAs(
  image: Sharp,
  to: OutputFormat,
  { header, frames }: Picture,
  options: EncodingOptions,
) {
  const { progressive, lossless } = options;
  const quality = options.quality ?? FORMATS[to].quality ?? 80;
  const effort = effortFor(to, options);
  // Frames that went through raw pixels have lost their timing: always say it.
  const { loop = 0, delay } = header.metadata;
  const timing = frames > 1 ? { loop, ...(delay && { delay }) } : {};
  // What is stored at half colour resolution already gains nothing from more, and AVIF pays for it.
  const { chromaSubsampling: stored } = header.metadata;
  const halved = to === 'jpeg' || stored?.startsWith('4:2:0') ? '4:2:0' : '4:4:4';
  const chromaSubsampling =
    options.chromaSubsampling === 'auto' ? halved : options.chromaSubsampling;
  switch (to) {
    case 'jpeg':
      return image.jpeg({ quality, progressive, chromaSubsampling, mozjpeg: effort >= 7 });
    case 'png':
      // Never `quality`: to sharp it means "quantise to a palette".
      return image.png({ compressionLevel: effort, progressive });
    case 'webp':
      return image.webp({ quality, lossless, effort, ...timing });
    case 'avif':
      return image.avif({
        quality,
        lossless,
        effort,
        // Subsampled colour would not be lossless.
        chromaSubsampling: lossless ? '4:4:4' : chromaSubsampling,
        bitdepth: header.deep ? 10 : 8,
      });
    case 'gif':
      return image.gif({ effort, progressive, ...timing });
    case 'tiff':
      return image.tiff({ compression: 'deflate', predictor: 'horizontal' });
  }
}

/** Refuses an output that no viewer, or no caller's memory, should meet. */
export function checkOutputSize(
  { limits }: OperationInput,
  { width, height }: { width: number; height: number },
  frames = 1,
): void {
  if (Math.max(width, height) > limits.side) {
    throw fileFailure(
      'output_too_large',
      `the output would be ${width}x${height}, more than ${limits.side} pixels along a side`,
    );
  }
  if (width * height * frames > limits.pixels * 4) {
    throw fileFailure(
      'output_too_large',
      `the output would be ${width}x${height} in ${frames} frames`,
    );
  }
}

/**
 * Encodes what an operation made of a picture: colours to sRGB, transparency laid on the
 * background where the format has none, sixteen bits and greyscale kept where it can.
 *
 * @param image the operation's pipeline over `picture.image`
 */
export async function encode(
  input: OperationInput,
  picture: Picture,
  image: Sharp,
  to: OutputFormat,
  options: EncodingOptions,
): Promise<OperationResult> {
  const { header } = picture;
  const traits = FORMATS[to];
  const background = parseColour(options.background);
  let pipeline = image;
  if (!traits.alpha) pipeline = pipeline.flatten({ background });
  const grey = header.grey && traits.grey && isGrey(background);
  if (header.deep && traits.deep) pipeline = pipeline.toColourspace(grey ? 'grey16' : 'rgb16');
  else if (grey) pipeline = pipeline.toColourspace('b-w');
  pipeline = keepMetadata(pipeline, header, options.metadata);
  try {
    const { data, info } = await writeAs(pipeline, to, picture, options).toBuffer({
      resolveWithObject: true,
    });
    // Copied into memory of its own, which can be moved to another thread. Not by toUint8Array():
    // in sharp 0.35.5 it copies too, and then never frees what it copied (pipeline.cc, line 1468).
    const bytes = new Uint8Array(data);
    const pages = picture.frames > 1 ? await countPages(input, bytes) : 1;
    return {
      image: {
        bytes,
        format: to,
        width: info.width,
        height: info.pageHeight ?? info.height,
        ...(pages > 1 && { pages }),
      },
      warnings: [...picture.warnings, ...ignoredSettings(to, options)],
    };
  } catch (error) {
    throw decodingFailure(error, header.format);
  }
}

/** Encoders merge frames that look the same, adding their delays: only the output knows its count. */
async function countPages({ sharp }: OperationInput, bytes: Uint8Array): Promise<number> {
  const { pages = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata();
  return pages;
}
