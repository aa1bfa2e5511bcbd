import * as v from 'valibot';
import { field, integer } from '../schema/fields.ts';
import { colourField, isGrey, onWhite, parseColour } from './colour.ts';
import { estimateEncoding } from './estimate.ts';
import { tiffWithExif } from './exif/copy.ts';
import { fileFailure } from './file-error.ts';
import { FORMATS, OUTPUT_FORMATS, type OutputFormat } from './formats.ts';
import type { Header } from './header.ts';
import type { ImageInput, Sharp } from './input.ts';
import { attachExif, keepMetadata, METADATA_POLICIES } from './keep.ts';
import type { Encoded, Warning } from './output.ts';
import type { Picture } from './picture.ts';
import { smallestPng } from './png-size.ts';

/** A field that takes an output format by every name that people type. */
export const formatField = (description: string) =>
  v.pipe(
    field(v.picklist([...OUTPUT_FORMATS, 'jpg', 'tif']), description),
    v.transform((name): OutputFormat => {
      if (name === 'jpg') return 'jpeg';
      return name === 'tif' ? 'tiff' : name;
    }),
  );

/** The options that every operation which writes an image shares. */
export const encodingFields = {
  quality: v.optional(
    field(
      integer(1, 100),
      'encoder quality: jpeg and webp 80, avif 50; png, gif and tiff have none',
    ),
  ),
  lossless: v.optional(field(v.boolean(), 'lossless webp or avif'), false),
  effort: v.optional(
    field(
      integer(0, 10),
      'CPU effort for smaller files: webp to 6, avif and png to 9, gif from 1; jpeg from 7 by mozjpeg',
    ),
  ),
  chromaSubsampling: v.optional(
    field(v.picklist(['auto', '4:2:0', '4:4:4']), 'colour resolution of jpeg and avif'),
    'auto',
  ),
  progressive: v.optional(field(v.boolean(), 'progressive jpeg, interlaced png or gif'), false),
  background: v.optional(
    colourField('what transparency is laid on where the format has none'),
    'white',
  ),
  metadata: v.optional(
    field(v.picklist(METADATA_POLICIES), 'what is kept of EXIF, XMP, IPTC and colour profile'),
    'none',
  ),
  animated: v.optional(
    field(
      v.picklist(['auto', 'first', 'all']),
      'frames: as many as the format holds, the first, or all or nothing',
    ),
    'auto',
  ),
};

export type EncodingOptions = v.InferOutput<v.StrictObjectSchema<typeof encodingFields, undefined>>;

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
  if (options.metadata !== 'none' && !traits.metadata) ignored('metadata_ignored', 'metadata');
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

/** The encoders take 16 bits: milliseconds of a frame's delay, and the loop count. */
const LONGEST_DELAY = 65_535;
const MOST_LOOPS = 65_535;

interface Timing {
  readonly loop?: number;
  readonly delay?: number[];
}

/** Loop count and delays of an animation, within the encoders' limits. */
function timingOf({ header, frames }: Picture): { timing: Timing; warnings: Warning[] } {
  if (frames === 1) return { timing: {}, warnings: [] };
  const { loop = 0, delay } = header.metadata;
  const warnings: Warning[] = [];
  const long = delay?.filter((milliseconds) => milliseconds > LONGEST_DELAY).length ?? 0;
  if (long > 0) {
    const frame = long === 1 ? 'the delay of 1 frame was' : `the delays of ${long} frames were`;
    const message = `${frame} shortened to ${LONGEST_DELAY / 1000} s, the longest that can be written`;
    warnings.push({ code: 'delay_adjusted', message });
  }
  // Frames that went through raw pixels have lost their timing, so it is always set. A GIF that
  // says 65535 repetitions plays once more.
  const timing = {
    loop: Math.min(loop, MOST_LOOPS),
    ...(delay && { delay: delay.map((milliseconds) => Math.min(milliseconds, LONGEST_DELAY)) }),
  };
  return { timing, warnings };
}

function writeAs(
  image: Sharp,
  to: OutputFormat,
  header: Header,
  timing: Timing,
  options: EncodingOptions,
) {
  const { progressive, lossless } = options;
  const quality = options.quality ?? FORMATS[to].quality ?? 80;
  const effort = effortFor(to, options);
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
        // Against sharp's default this saves a fifth of the time and, at equal PSNR, an eighth of
        // the bytes (measured on photographs at effort 3).
        tune: 'ssim',
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

/** Bytes of EXIF that libexif writes at most, whatever the format: a segment of JPEG. */
const LONGEST_EXIF = 65_527;

/** Refuses an output that no viewer, or no caller's memory, should meet. */
export function checkOutputSize(
  { limits }: ImageInput,
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

/** What an operation asks of the encoder beyond the user's options. */
export interface EncodingOrder {
  readonly to: OutputFormat;
  /** Of one frame of the output. */
  readonly size: { readonly width: number; readonly height: number };
  /** Whether the pipeline leaves the picture as it is. */
  readonly unchanged?: boolean;
  /** Bytes a pixel of the input that the pipeline holds whole; 0 where it goes row by row. */
  readonly held?: number;
}

/**
 * Encodes what an operation made of a picture: colours to sRGB, transparency laid on the
 * background where the format has none, sixteen bits and greyscale kept where it can.
 *
 * @param image the operation's pipeline over `picture.image`
 */
export async function encode(
  input: ImageInput,
  picture: Picture,
  image: Sharp,
  { to, size, unchanged = false, held = 0 }: EncodingOrder,
  options: EncodingOptions,
): Promise<Encoded> {
  const { header, frames } = picture;
  const effort = effortFor(to, options);
  const { lossless, progressive } = options;
  const fileBytes = input.file.byteLength;
  input.admit(
    estimateEncoding(header, { to, effort, lossless, progressive, size, frames, held, fileBytes }),
  );
  const traits = FORMATS[to];
  const background = parseColour(options.background);
  let pipeline = traits.alpha ? image : image.flatten({ background: onWhite(background) });
  const deep = header.deep && traits.deep;
  const grey = header.grey && isGrey(background);
  // sharp draws a background in the colours of the input: on grey that is its luminance, and with
  // sixteen bits white is 255 x 256, which eight bits would then round to something less.
  if (deep !== header.deep || grey !== header.grey) {
    // Grey stays grey, or its profile would not fit.
    pipeline = pipeline.pipelineColourspace(deep ? 'rgb16' : grey ? 'b-w' : 'srgb');
  }
  const policy = traits.metadata ? options.metadata : 'none';
  pipeline = await keepMetadata(input, pipeline, header, policy, { grey: grey && traits.grey });
  const inItsColours = (given: Sharp) => {
    if (grey && traits.grey) return given.toColourspace(deep ? 'grey16' : 'b-w');
    return deep ? given.toColourspace('rgb16') : given;
  };
  pipeline = inItsColours(pipeline);
  // libvips 8.18 neither reads EXIF from TIFF files nor writes it to them.
  const exif = policy === 'all' ? header.exif : null;
  const tooLong = exif !== null && to !== 'tiff' && exif.length > LONGEST_EXIF;
  if (exif && header.format === 'tiff' && to !== 'tiff' && !tooLong) {
    pipeline = inItsColours(await attachExif(input, pipeline, exif));
  }
  const { timing, warnings } = timingOf(picture);
  if (tooLong) {
    const message = `EXIF of ${exif.length} bytes was left out: ${LONGEST_EXIF} can be written`;
    warnings.push({ code: 'exif_lost', message });
  }
  const keepsProfile = (policy === 'icc' || policy === 'all') && grey && traits.grey;
  // sharp 0.35.5 applies a grey profile neither to sixteen bits nor to red, green and blue.
  if (header.grey && header.profiled && !keepsProfile && (deep || !grey)) {
    const message = 'the colour profile of greyscale was not applied';
    warnings.push({ code: 'colours_not_converted', message });
  }
  const { data, info } = await writeAs(pipeline, to, header, timing, options).toBuffer({
    // Not toUint8Array(): sharp 0.35.5 never frees what that gives (pipeline.cc, line 1468).
    resolveWithObject: true,
  });
  const bytes =
    to === 'png' ? await smallestPng(data, picture, { level: effort, unchanged, input }) : data;
  const pages = frames > 1 ? await countPages(input, data) : 1;
  return {
    image: {
      bytes: exif && to === 'tiff' ? tiffWithExif(data, exif) : bytes,
      format: to,
      width: info.width,
      height: info.pageHeight ?? info.height,
      ...(pages > 1 && { pages }),
    },
    warnings: [
      ...header.warnings,
      ...picture.warnings,
      ...warnings,
      ...ignoredSettings(to, options),
    ],
  };
}

/** Encoders merge frames that look the same, adding their delays: only the output knows its count. */
async function countPages({ sharp }: ImageInput, bytes: Uint8Array): Promise<number> {
  const { pages = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata();
  return pages;
}
