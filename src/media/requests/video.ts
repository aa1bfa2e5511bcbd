import * as v from 'valibot';
import type { Model } from '../../config/settings/schema.ts';
import { type Size, targetOf } from '../../images/sizes.ts';
import { field, integer } from '../../schema/fields.ts';
import type { ValidatedRequest } from './fields.ts';
import {
  callbackUrl,
  checkFields,
  type Fields,
  inputImages,
  invalid,
  model,
  prompt,
  promptFieldsOf,
  seed,
  shortText,
  user,
} from './fields.ts';
import { expectType } from './model.ts';

/** The body of POST /v1/videos/generations. */
export const videoRequest = v.strictObject({
  model,
  prompt,
  size: shortText('auto, WIDTHxHEIGHT or a ratio such as 16:9'),
  aspect_ratio: shortText('a ratio such as 16:9'),
  duration: v.nullish(field(integer(1, 60), "seconds; by default the model's own")),
  input_images: inputImages,
  callback_url: callbackUrl,
  seed,
  user,
});

/** @throws Failure invalid_request that names the field */
export function readVideoRequest(fields: Fields, found: Model): ValidatedRequest {
  expectType(fields, found, 'video');
  const body = checkFields(videoRequest, fields);
  return {
    request: {
      type: 'video',
      ...promptFieldsOf(body),
      size: videoSize(body),
      duration: body.duration ?? found.duration,
      inputs: [],
    },
    inputImages: body.input_images ?? [],
    callbackUrl: body.callback_url ?? null,
  };
}

/** Tolerated difference of two ratios' logarithms: 854x480 counts as 16:9. */
const RATIO_TOLERANCE = 0.02;

function logRatioOf({ width, height }: Size): number {
  return Math.log(width / height);
}

/** The size to request from the provider; null where the client leaves it to the model. */
function videoSize({
  size,
  aspect_ratio: ratio,
}: v.InferInput<typeof videoRequest>): string | null {
  const target = targetOf({ size: size ?? undefined });
  const shape = targetOf({ aspect_ratio: ratio ?? undefined });
  if (target === 'auto') return shape === 'auto' ? null : ratio!;
  if (shape !== 'auto' && Math.abs(logRatioOf(target) - logRatioOf(shape)) > RATIO_TOLERANCE) {
    throw invalid('aspect_ratio', `${ratio} is not the ratio of the size ${size}`);
  }
  return size!.toLowerCase();
}
