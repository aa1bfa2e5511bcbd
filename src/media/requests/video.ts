import * as v from 'valibot';
import type { Model } from '../../config/schema.ts';
import { type Size, targetOf } from '../../images/sizes.ts';
import { field, integer } from '../../schema/fields.ts';
import {
  callbackUrl,
  checkFields,
  type Fields,
  inputImages,
  invalid,
  model,
  prompt,
  promptedBy,
  seed,
  user,
  word,
} from './fields.ts';
import { expectType } from './model.ts';
import type { MediaRequest } from './request.ts';

/** The body of POST /v1/videos/generations. */
export const videoRequest = v.strictObject({
  model,
  prompt,
  size: word('auto, WIDTHxHEIGHT or a ratio such as 16:9'),
  aspect_ratio: word('a ratio such as 16:9'),
  duration: v.nullish(field(integer(1, 60), "seconds; by default the model's own")),
  input_images: inputImages,
  callback_url: callbackUrl,
  seed,
  user,
});

/** @throws Failure invalid_request that names the field */
export function readVideoRequest(fields: Fields, found: Model): MediaRequest {
  expectType(fields, found, 'video');
  const request = checkFields(videoRequest, fields);
  return {
    work: {
      type: 'video',
      ...promptedBy(request),
      size: videoSize(request),
      duration: request.duration ?? found.duration,
      inputs: [],
    },
    inputs: request.input_images ?? [],
    callbackUrl: request.callback_url ?? null,
  };
}

/** How far two ratios may be from each other: 854x480 is called 16:9. */
const ALIKE = 0.02;

function ratioOf({ width, height }: Size): number {
  return Math.log(width / height);
}

/** What to ask for; null where the client leaves it to the model. */
function videoSize({
  size,
  aspect_ratio: ratio,
}: v.InferInput<typeof videoRequest>): string | null {
  const target = targetOf({ size: size ?? undefined });
  const shape = targetOf({ aspect_ratio: ratio ?? undefined });
  if (target === 'auto') return shape === 'auto' ? null : ratio!;
  if (shape !== 'auto' && Math.abs(ratioOf(target) - ratioOf(shape)) > ALIKE) {
    throw invalid('aspect_ratio', `${ratio} is not the ratio of the size ${size}`);
  }
  return size!.toLowerCase();
}
