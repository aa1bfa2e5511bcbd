import { readHeader } from '../../images/decoding/header.ts';
import { checkOutputSize } from '../../images/encoding/encoding.ts';
import type { EncodingOptions } from '../../images/encoding/options.ts';
import { fileFailure } from '../../images/file-error.ts';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import type { ImageInput } from '../../images/input.ts';
import { hasGainMap } from '../../images/jpeg/pictures.ts';
import { transcodeJpeg } from '../../images/jpeg/transcode.ts';
import { compose, rotation } from '../../images/jpeg/transform.ts';
import type { Warning } from '../../images/output.ts';
import type { OperationResult } from '../definition/operation.ts';

export interface LosslessOptions extends EncodingOptions {
  readonly angle?: number | undefined;
  readonly flip: boolean;
  readonly flop: boolean;
  readonly losslessTrim?: boolean;
}

/**
 * Turns a JPEG by its blocks of coefficients.
 *
 * @returns null where decoding and encoding lose nothing either: between other formats that can be lossless
 * @throws Failure lossless_impossible
 */
export async function rotateLossless(
  input: ImageInput,
  options: LosslessOptions,
  format: OutputFormat | undefined,
): Promise<OperationResult | null> {
  const header = await readHeader(input);
  const to = format ?? header.format;
  if (header.format !== 'jpeg' || to !== 'jpeg') {
    if (!(to in FORMATS) || FORMATS[to as OutputFormat].lossless !== 'never') return null;
    const message = `${header.format} cannot be turned to ${to} without loss; png, webp, avif and tiff can`;
    throw fileFailure('lossless_impossible', message);
  }
  const { angle = 0, flip, flop, metadata, progressive, losslessTrim = false } = options;
  const quarters = (angle / 90 + 4) % 4;
  if (!Number.isInteger(quarters)) {
    const message = `JPEG can be turned without loss by multiples of 90 degrees, not by ${angle}`;
    throw fileFailure('lossless_impossible', message);
  }
  const { width, height, bytes, lostTrailer } = transcodeJpeg(input, {
    transform: compose(rotation(quarters), { flip, flop, transpose: false }),
    trim: losslessTrim,
    progressive: progressive || 'auto',
    metadata,
  });
  checkOutputSize(input, { width, height, frames: 1 });
  const warnings = [...header.warnings, ...ignoredSettings(options)];
  if (lostTrailer && (metadata === 'all' || hasGainMap(input.file))) {
    const message = 'data after the picture, such as a gain map, was left out';
    warnings.push({ code: 'trailer_lost', message });
  }
  return { image: { bytes, format: 'jpeg', width, height }, warnings };
}

/** Warnings for settings that only encoding pixels has. */
function ignoredSettings({ quality, effort, chromaSubsampling }: EncodingOptions): Warning[] {
  const warnings: Warning[] = [];
  const ignored = (code: Warning['code'], setting: string) => {
    const message = `JPEG turned without loss has no ${setting} setting: it was ignored`;
    warnings.push({ code, message });
  };
  if (quality !== undefined) ignored('quality_ignored', 'quality');
  if (effort !== undefined) ignored('effort_ignored', 'effort');
  if (chromaSubsampling !== 'auto') ignored('chroma_subsampling_ignored', 'chroma subsampling');
  return warnings;
}
