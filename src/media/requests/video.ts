import * as v from 'valibot';
import { type Size, targetOf } from '../../images/sizes.ts';
import { integer, nullish } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import { inputImages, model, prompt, promptFieldsOf, shortText, taskFields } from './fields.ts';
import { requestReader } from './validated-request.ts';

/** The body of POST /v1/videos/generations. */
export const videoRequest = v.object({
  model,
  prompt,
  size: shortText('auto, WIDTHxHEIGHT or a ratio such as 16:9'),
  aspect_ratio: shortText('a ratio such as 16:9'),
  duration: nullish(integer(1, 60), "seconds; by default the model's own"),
  input_images: inputImages,
  ...taskFields,
});

export const readVideoRequest = requestReader('video', videoRequest, (body, { duration }) => ({
  type: 'video',
  ...promptFieldsOf(body),
  size: videoSize(body),
  duration: body.duration ?? duration,
  inputs: [],
}));

/** Tolerated difference of two ratios' logarithms: 854x480 counts as 16:9. */
const RATIO_TOLERANCE = 0.02;

const logRatioOf = ({ width, height }: Size): number => Math.log(width / height);

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
