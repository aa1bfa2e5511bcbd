import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { colourField, isGrey, onWhite, parseColour, premultiplied } from '../../images/colour.ts';
import { type Header, readHeader } from '../../images/decoding/header.ts';
import { addAlpha } from '../../images/decoding/pixels.ts';
import { checkOutputSize } from '../../images/encoding/encoding.ts';
import type { EncodingOptions } from '../../images/encoding/options.ts';
import { fileFailure } from '../../images/file-error.ts';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import type { ImageInput } from '../../images/input.ts';
import { attachGainMap, readGainMap } from '../../images/jpeg/gain-map.ts';
import { hasGainMap } from '../../images/jpeg/pictures.ts';
import { transcodeJpeg } from '../../images/jpeg/transcode.ts';
import {
  compose,
  rotation,
  type Transform,
  uprightTransform,
} from '../../images/jpeg/transform.ts';
import type { Warning } from '../../images/output.ts';
import type { Size } from '../../images/sizes.ts';
import { number, optional, withDefault } from '../../schema/fields.ts';
import type { OperationResult } from '../definition/operation.ts';
import { PLACE, placeOfPaint } from '../definition/step.ts';
import { stepOperation } from '../definition/step-operation.ts';

/** The bounding box of a rectangle rotated by `angle` degrees, rounded as by libvips. */
function rotatedSize({ width, height }: Size, angle: number) {
  const radians = (angle * Math.PI) / 180;
  const [sine, cosine] = [Math.abs(Math.sin(radians)), Math.abs(Math.cos(radians))];
  return {
    width: Math.round(width * cosine + height * sine),
    height: Math.round(width * sine + height * cosine),
  };
}

export const rotate = stepOperation({
  name: 'rotate',
  summary: 'Rotate and mirror images',
  cost: 70,
  fields: {
    angle: optional(number(-360, 360), 'degrees clockwise'),
    flip: withDefault(v.boolean(), false, 'mirror top to bottom, after the rotation'),
    flop: withDefault(v.boolean(), false, 'mirror left to right, after the rotation'),
    background: v.optional(
      colourField(
        'colour of the corners; transparent by default, or white if the format has no transparency',
      ),
    ),
  },
  extra: {
    lossless: withDefault(
      v.boolean(),
      false,
      'rotate jpeg without encoding pixels again; lossless webp or avif',
    ),
    losslessTrim: withDefault(
      v.boolean(),
      false,
      'with lossless, cut off partial jpeg blocks that would have to move',
    ),
  },
  check: (options) => {
    const { angle, flip, flop } = options;
    const { lossless, losslessTrim } = options as Partial<LosslessOptions>;
    if (losslessTrim && !lossless) return ['losslessTrim', 'is of no use without lossless'];
    return angle === undefined && !flip && !flop
      ? ['angle', 'one of angle, flip and flop is required']
      : null;
  },
  examples: [
    'rotate --angle 90 --out turned *.jpg',
    'rotate --flop --format png *.jpg',
    'rotate --angle 0 --lossless --lossless-trim --metadata all --out upright *.jpg',
  ],
  direct: async (input, options, format) =>
    options.lossless && options.profile === undefined
      ? rotateLossless(input, options, format)
      : null,
  sample: { angle: 90 },
  plan(facts, { angle: given = 0, flip, flop, background }, { alpha }) {
    const angle = ((given % 360) + 360) % 360;
    const colour = parseColour(background ?? (alpha ? 'transparent' : 'white'));
    const fill = alpha ? colour : onWhite(colour);
    const hasCorners = angle % 90 !== 0;
    // sharp mirrors before it rotates. Rotating and then mirroring along one axis is the same as
    // mirroring and then rotating in the other direction.
    const degrees = flip === flop ? angle : (360 - angle) % 360;
    const after = {
      ...facts,
      ...rotatedSize(facts, angle),
      hasAlpha: facts.hasAlpha || (hasCorners && fill.alpha < 1),
      grey: facts.grey && (!hasCorners || isGrey(fill)),
      moved: true,
    };
    return {
      after,
      from: placeOfPaint(facts, after, PLACE.RESIZE),
      to: PLACE.CUT,
      keepsGainMap: true,
      // Bytes a pixel: libvips buffers the whole image to rotate it, and its transform uses floats.
      held: degrees === 0 ? 0 : hasCorners ? 16 : 8,
      apply(frame) {
        const mirrored = frame.flip(flip).flop(flop);
        if (degrees === 0) return mirrored;
        const showsCorners = hasCorners && fill.alpha < 1;
        return (showsCorners ? addAlpha(mirrored, facts, facts) : mirrored).rotate(degrees, {
          // libvips premultiplies the image before it resamples, but not the background.
          background: premultiplied(fill),
        });
      },
    };
  },
});

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
async function rotateLossless(
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
  const transform = compose(rotation(quarters), { flip, flop, transpose: false });
  const { width, height, bytes, lostTrailer } = transcodeJpeg(input, {
    transform,
    trim: losslessTrim,
    progressive: progressive || 'auto',
    metadata,
  });
  checkOutputSize(input, 'jpeg', { width, height, frames: 1 });
  const warnings = [...header.warnings, ...ignoredSettings(options)];
  const whole = lostTrailer ? withTurnedMap(input, header, transform, bytes) : bytes;
  if (lostTrailer && whole === bytes && (metadata === 'all' || hasGainMap(input.file))) {
    const message = 'data after the picture, such as a gain map, was left out';
    warnings.push({ code: 'trailer_lost', message });
  }
  return { image: { bytes: whole, format: 'jpeg', width, height }, warnings };
}

/** A turned JPEG with the gain map of the input; the same bytes if there is none that can be turned without loss. */
function withTurnedMap(input: ImageInput, header: Header, then: Transform, jpeg: Buffer): Buffer {
  const map = readGainMap(input.file);
  if (!map) return jpeg;
  const orientation = uprightTransform(header.metadata.orientation ?? 1);
  const options = { transform: compose(orientation, then), metadata: 'none' } as const;
  try {
    const { limits, admit } = input;
    const turned = transcodeJpeg({ bytes: map.picture, limits, admit }, options);
    return attachGainMap(jpeg, map, turned.bytes);
  } catch (error) {
    if (error instanceof Failure && error.code !== 'timeout') return jpeg;
    throw error;
  }
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
