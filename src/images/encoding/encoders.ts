import type { Header } from '../decoding/header.ts';
import { type FileFormat, FORMATS, type OutputFormat } from '../formats.ts';
import type { Sharp } from '../input.ts';
import type { Warning } from '../output.ts';
import type { EncodingOptions } from './options.ts';

/** Warnings for the given options that this format does not have. */
export function ignoredSettings(to: FileFormat, options: EncodingOptions): Warning[] {
  const traits = FORMATS[to];
  const name = to.toUpperCase();
  const warnings: Warning[] = [];
  const ignored = (code: Warning['code'], setting: string) =>
    warnings.push({ code, message: `${name} has no ${setting} setting: it was ignored` });
  if (options.quality !== undefined && traits.quality === null)
    ignored('quality_ignored', 'quality');
  if (options.lossless && traits.lossless === 'never') ignored('lossless_ignored', 'lossless');
  if (options.nearLossless && to !== 'webp') ignored('near_lossless_ignored', 'near-lossless');
  if (options.colors !== undefined && !traits.palette) ignored('colors_ignored', 'colours');
  if (options.dither !== undefined && !isQuantised(to, options)) {
    const reason = to === 'png' ? 'keeps all colours' : 'has no dithering';
    warnings.push({ code: 'dither_ignored', message: `${name} ${reason}: dither was ignored` });
  }
  if (options.progressive && !traits.progressive) ignored('progressive_ignored', 'progressive');
  if (options.metadata !== 'none' && !traits.metadata) ignored('metadata_ignored', 'metadata');
  if (options.chromaSubsampling !== 'auto' && !traits.chromaSubsampling) {
    ignored('chroma_subsampling_ignored', 'chroma subsampling');
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

/** Whether an output loses colours to a palette. */
export function isQuantised(to: FileFormat, { colors }: Pick<EncodingOptions, 'colors'>): boolean {
  return to === 'gif' || (to === 'png' && colors !== undefined);
}

export function effortFor(to: FileFormat, { effort }: EncodingOptions): number {
  const scale = FORMATS[to].effort ?? { min: 0, max: 0, default: 0 };
  return Math.min(scale.max, Math.max(scale.min, effort ?? scale.default));
}

/** The level at which cwebp's authors see no difference; 100 changes nothing. */
const NEAR_LOSSLESS_QUALITY = 60;

export function writeAs(
  image: Sharp,
  to: OutputFormat,
  header: Header,
  timing: Timing,
  options: EncodingOptions & { readonly exact: boolean },
) {
  const { progressive, lossless, nearLossless, colors, dither } = options;
  const quality = options.quality ?? (nearLossless ? NEAR_LOSSLESS_QUALITY : FORMATS[to].quality!);
  const palette = {
    ...(colors !== undefined && { colours: colors }),
    ...(dither !== undefined && { dither }),
  };
  const effort = effortFor(to, options);
  // Full colour resolution adds nothing to an input with half of it, and costs bytes in AVIF.
  const { chromaSubsampling: stored } = header.metadata;
  const halved = to === 'jpeg' || stored?.startsWith('4:2:0') ? '4:2:0' : '4:4:4';
  const chromaSubsampling =
    options.chromaSubsampling === 'auto' ? halved : options.chromaSubsampling;
  switch (to) {
    case 'jpeg':
      return image.jpeg({ quality, progressive, chromaSubsampling, mozjpeg: effort >= 7 });
    case 'png':
      // Never `quality`: to sharp it means "quantise to a palette".
      return image.png({
        compressionLevel: effort,
        progressive,
        ...(colors !== undefined && { palette: true, ...palette }),
      });
    case 'webp':
      return image.webp({
        quality,
        lossless,
        nearLossless,
        exact: options.exact,
        effort,
        ...timing,
      });
    case 'avif':
      return image.avif({
        quality,
        lossless,
        effort,
        // Compared to sharp's default this saves a fifth of the time and, at equal PSNR, an eighth of
        // the bytes (measured on photographs at effort 3).
        tune: 'ssim',
        // Subsampled colour would not be lossless.
        chromaSubsampling: lossless ? '4:4:4' : chromaSubsampling,
        bitdepth: header.deep ? 10 : 8,
      });
    case 'gif':
      return image.gif({ effort, progressive, ...palette, ...timing });
    case 'jxl':
      // The input of the program that writes JPEG XL.
      return image.png({ compressionLevel: 1 });
    case 'tiff':
      return image.tiff({ compression: 'deflate', predictor: 'horizontal' });
  }
}

/** The encoders store 16 bits: milliseconds of a frame's delay, and the loop count. */
export const MAX_DELAY_MS = 65_535;
const MAX_LOOPS = 65_535;

export interface Timing {
  readonly loop?: number;
  readonly delay?: number[];
}

/** Loop count and delays of an animation, within the encoders' limits. */
export function timingOf(header: Header, frames: number): { timing: Timing; warnings: Warning[] } {
  if (frames === 1) return { timing: {}, warnings: [] };
  const { loop = 0, delay } = header.metadata;
  const warnings: Warning[] = [];
  const long = delay?.filter((milliseconds) => milliseconds > MAX_DELAY_MS).length ?? 0;
  if (long > 0) {
    const frame = long === 1 ? 'the delay of 1 frame was' : `the delays of ${long} frames were`;
    const message = `${frame} shortened to ${MAX_DELAY_MS / 1000} s, the longest that can be written`;
    warnings.push({ code: 'delay_adjusted', message });
  }
  // Raw pixels have no timing, so it is always set. A GIF with 65535 repetitions plays once more.
  const timing = {
    loop: Math.min(loop, MAX_LOOPS),
    ...(delay && { delay: delay.map((milliseconds) => Math.min(milliseconds, MAX_DELAY_MS)) }),
  };
  return { timing, warnings };
}
