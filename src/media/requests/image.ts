import * as v from 'valibot';
import type { Model } from '../../config/schema.ts';
import { outputSize, RESOLUTIONS, type SizeFields, targetOf } from '../../images/sizes.ts';
import { field, integer } from '../../schema/fields.ts';
import { type ImageWork, QUALITIES } from '../work.ts';
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

export const size = word(
  'auto, WIDTHxHEIGHT, a ratio such as 16:9, or what else the model calls a size',
);
export const count = v.nullish(
  field(integer(1, 10), 'how many images; beyond 1 for models with native sizes'),
);
export const quality = v.nullish(
  field(v.picklist(QUALITIES), 'how fine; beyond auto for models with native sizes'),
);

/** The body of POST /v1/images/generations (interface part 4.4), of both its variants. */
export const imageRequest = v.strictObject({
  model,
  prompt,
  size,
  quality,
  n: count,
  input_images: inputImages,
  callback_url: callbackUrl,
  seed,
  user,
  aspect_ratio: word('deprecated: a ratio such as 16:9'),
  resolution: v.nullish(
    field(v.picklist(RESOLUTIONS), 'deprecated: how long the longer side of a ratio is'),
  ),
  img_size: word('deprecated: as size'),
});

/** @throws Failure invalid_request that names the field */
export function readImageRequest(fields: Fields, found: Model): MediaRequest {
  expectType(fields, found, 'image');
  const request = checkFields(imageRequest, fields);
  return {
    work: imageWork(request, found, false),
    inputs: request.input_images ?? [],
    callbackUrl: request.callback_url ?? null,
  };
}

/** What both endpoints for images say in the same words. */
type ImageFields = Pick<v.InferInput<typeof imageRequest>, 'model' | 'prompt'> &
  Partial<Omit<v.InferInput<typeof imageRequest>, 'model' | 'prompt'>>;

/**
 * The work that a request asks for, its inputs left out.
 *
 * @throws Failure invalid_request where its model has no word for a field
 */
export function imageWork(
  request: ImageFields,
  { rules }: Pick<Extract<Model, { readonly type: 'image' }>, 'rules'>,
  edit: boolean,
): ImageWork {
  const native = rules === 'native-size';
  if (!native) refuseNative(request);
  return {
    type: 'image',
    ...promptedBy(request),
    edit,
    n: request.n ?? 1,
    size: native ? nativeSize(request) : ownSize(request),
    native,
    quality: native ? (request.quality ?? 'auto') : null,
    inputs: [],
    mask: null,
  };
}

/** Refuses what only models with native sizes can be asked for. */
function refuseNative({ model, n, quality: wanted, resolution }: ImageFields): void {
  const refuse = (param: string, expected: string, value: unknown) =>
    invalid(
      param,
      `expected ${expected} for the model ${model}, received ${JSON.stringify(value)}`,
      'not_supported_by_model',
    );
  if (n != null && n !== 1) throw refuse('n', '1', n);
  if (wanted != null && wanted !== 'auto') throw refuse('quality', 'auto', wanted);
  if (resolution != null) throw refuse('resolution', 'nothing', resolution);
}

/** Interface part 4.4: every target goes to the nearest of the model's own sizes. */
function nativeSize({ size, img_size, aspect_ratio, resolution }: ImageFields): string {
  const fields: SizeFields = {
    size: size ?? undefined,
    img_size: img_size ?? undefined,
    aspect_ratio: aspect_ratio ?? undefined,
    resolution: resolution ?? undefined,
  };
  const target = targetOf(fields);
  if (target === 'auto') return 'auto';
  const { width, height } = outputSize(target);
  return `${width}x${height}`;
}

function ownSize({ size, img_size, aspect_ratio }: ImageFields): string | null {
  return size ?? img_size ?? aspect_ratio ?? null;
}
