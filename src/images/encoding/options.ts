import * as v from 'valibot';
import { boundedText, field, integer, number, optional, withDefault } from '../../schema/fields.ts';
import { byteSize } from '../byte-size.ts';
import { colourField } from '../colour.ts';
import { OUTPUT_FORMATS, type OutputFormat } from '../formats.ts';
import { METADATA_POLICIES } from '../output.ts';

/** A field for an output format by any of its usual names. */
export const formatField = (description: string) =>
  v.pipe(
    field(v.picklist([...OUTPUT_FORMATS, 'jpg', 'tif']), description),
    v.transform((name): OutputFormat => {
      if (name === 'jpg') return 'jpeg';
      return name === 'tif' ? 'tiff' : name;
    }),
  );

/** The options of every operation that writes an image. */
export const encodingFields = {
  quality: optional(
    integer(1, 100),
    'encoder quality: jpeg and webp 80, jxl 85, avif 50; png, gif and tiff have none',
  ),
  targetSsim: optional(
    number(0.5, 1),
    'find the smallest file with this SSIM against the source, by quality (jpeg, webp, avif, jxl) or palette (png, gif)',
  ),
  targetSize: optional(
    byteSize(),
    'find the best quality (or palette of png and gif) up to this size',
  ),
  lossless: withDefault(v.boolean(), false, 'lossless webp, avif or jxl'),
  nearLossless: withDefault(
    v.boolean(),
    false,
    'near-lossless webp; quality is from 0, and 60 by default',
  ),
  colors: optional(integer(2, 256), 'number of colours of a png or gif'),
  dither: optional(number(0, 1), 'strength of dithering when colours are reduced; 1 by default'),
  effort: optional(
    integer(0, 10),
    'CPU effort for smaller files: webp up to 6, avif, png and jxl up to 9, gif from 1; from 7 on, jpeg uses mozjpeg',
  ),
  chromaSubsampling: withDefault(
    v.picklist(['auto', '4:2:0', '4:4:4']),
    'auto',
    'colour resolution of jpeg and avif',
  ),
  progressive: withDefault(v.boolean(), false, 'progressive jpeg, interlaced png or gif'),
  background: v.optional(
    colourField('background of transparent images, if the format has no transparency'),
    'white',
  ),
  metadata: withDefault(
    v.picklist(METADATA_POLICIES),
    'none',
    'metadata to keep: EXIF, XMP, IPTC and colour profile',
  ),
  profile: optional(
    boundedText(4096),
    'convert colours to srgb, p3 (Display P3), adobe-rgb, cmyk (jpeg and tiff) or an ICC file, and embed it',
    { expects: 'srgb, p3, adobe-rgb, cmyk or a file', path: true },
  ),
  intent: optional(
    v.picklist(['perceptual', 'relative', 'saturation']),
    'how profile treats colours that it cannot hold; perceptual by default',
  ),
  animated: withDefault(
    v.picklist(['auto', 'first', 'all']),
    'auto',
    'frames to keep: as many as the format can hold, the first, or all or fail',
  ),
};

export type EncodingOptions = v.InferOutput<v.StrictObjectSchema<typeof encodingFields, undefined>>;

/** The option that contradicts another one, and the message; null where none does. */
export function encodingFault(
  options: Pick<
    EncodingOptions,
    | ('quality' | 'lossless' | 'nearLossless' | 'colors' | 'targetSsim' | 'targetSize')
    | ('profile' | 'intent')
  >,
): readonly [name: string, message: string] | null {
  const { quality, lossless, nearLossless, colors, targetSsim, targetSize } = options;
  const { profile, intent } = options;
  if (intent !== undefined && profile === undefined) return ['intent', 'only with profile'];
  if (profile !== undefined && targetSsim !== undefined) {
    return ['targetSsim', 'cannot be used with profile, whose colours are not compared'];
  }
  if (lossless && nearLossless) return ['nearLossless', 'cannot be used with lossless'];
  if (targetSsim !== undefined && targetSize !== undefined) {
    return ['targetSize', 'cannot be used with targetSsim'];
  }
  const target = targetSsim === undefined ? 'targetSize' : 'targetSsim';
  if ((targetSsim ?? targetSize) === undefined) return null;
  const conflict = `cannot be used with ${target}`;
  if (quality !== undefined) return ['quality', `${conflict}, which searches for it`];
  if (colors !== undefined) return ['colors', `${conflict}, which searches for it`];
  if (lossless) return ['lossless', conflict];
  return nearLossless ? ['nearLossless', conflict] : null;
}

/** Whether an encoding is searched, by trying several. */
export function isSearched({ targetSsim, targetSize }: EncodingOptions): boolean {
  return (targetSsim ?? targetSize) !== undefined;
}
