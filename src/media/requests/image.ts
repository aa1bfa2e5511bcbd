import * as v from 'valibot';
import type { Model } from '../../config/settings/schema.ts';
import { outputSize, RESOLUTIONS, type SizeFields, targetOf } from '../../images/sizes.ts';
import { field, integer } from '../../schema/fields.ts';
import { generationOptionFields, imageOptionsOf } from '../task/image-options.ts';
import {
  DALL_E_QUALITIES,
  type ImageOptions,
  type ImageTaskRequest,
  QUALITIES,
} from '../task/task-request.ts';
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

export const size = shortText(
  'auto, WIDTHxHEIGHT, a ratio such as 16:9, or another value that the model accepts',
);
export const count = v.nullish(
  field(integer(1, 10), 'number of images; more than 1 for models with native sizes'),
);
export const quality = v.nullish(
  field(
    v.picklist([...QUALITIES, ...DALL_E_QUALITIES]),
    'quality; low, medium and high for models with native sizes, standard and hd for others',
  ),
);

/** The body of POST /v1/images/generations, of both its variants. */
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
  aspect_ratio: shortText('deprecated: a ratio such as 16:9'),
  resolution: v.nullish(
    field(v.picklist(RESOLUTIONS), 'deprecated: length of the longer side of a ratio'),
  ),
  img_size: shortText('deprecated: as size'),
  ...generationOptionFields,
});

/** @throws Failure invalid_request that names the field */
export function readImageRequest(fields: Fields, found: Model): ValidatedRequest {
  expectType(fields, found, 'image');
  const body = checkFields(imageRequest, fields);
  return {
    request: imageRequestOf(body, found, false),
    inputImages: body.input_images ?? [],
    callbackUrl: body.callback_url ?? null,
  };
}

/** The fields that generations and edits have in common. */
type ImageFields = Pick<v.InferInput<typeof imageRequest>, 'model' | 'prompt'> &
  Partial<Omit<v.InferInput<typeof imageRequest>, 'model' | 'prompt'>>;

/**
 * The task's request for the fields of a body, without its inputs.
 *
 * @throws Failure invalid_request where the model does not support a field
 */
export function imageRequestOf(
  fields: ImageFields,
  { rules }: Pick<Extract<Model, { readonly type: 'image' }>, 'rules'>,
  edit: boolean,
): ImageTaskRequest {
  const native = rules === 'native-size';
  refuseFieldsOfOthers(fields, native);
  const options = imageOptionsOf(fields);
  checkOptions(options);
  return {
    type: 'image',
    ...promptFieldsOf(fields),
    edit,
    n: fields.n ?? 1,
    size: native ? nativeSize(fields) : clientSize(fields),
    native,
    quality: native ? (fields.quality ?? 'auto') : dallEQuality(fields),
    inputs: [],
    mask: null,
    ...(Object.keys(options).length > 0 && { options }),
  };
}

function dallEQuality({ quality }: ImageFields): (typeof DALL_E_QUALITIES)[number] | null {
  return DALL_E_QUALITIES.find((one) => one === quality) ?? null;
}

/** Refuses options that contradict each other; an upstream would refuse them after the reservation. */
function checkOptions(options: ImageOptions): void {
  const { output_format: format = 'png', output_compression: compression, background } = options;
  if (compression !== undefined && format === 'png') {
    throw invalid(
      'output_compression',
      `expected output_format jpeg or webp with it, received ${options['output_format'] === undefined ? 'none' : 'png'}`,
      'conflicting_parameters',
    );
  }
  if (background === 'transparent' && format === 'jpeg') {
    throw invalid(
      'background',
      'expected opaque or auto with output_format jpeg, received "transparent"',
      'conflicting_parameters',
    );
  }
}

/** Refuses fields that only models with native sizes support, or only others. */
function refuseFieldsOfOthers(
  { model, n, quality, resolution }: ImageFields,
  native: boolean,
): void {
  const refuse = (param: string, expected: string, value: unknown) =>
    invalid(
      param,
      `expected ${expected} for the model ${model}, received ${JSON.stringify(value)}`,
      'not_supported_by_model',
    );
  const isDallE = DALL_E_QUALITIES.some((one) => one === quality);
  if (native) {
    if (isDallE) throw refuse('quality', 'auto, low, medium or high', quality);
    return;
  }
  if (n != null && n !== 1) throw refuse('n', '1', n);
  if (quality != null && quality !== 'auto' && !isDallE) {
    throw refuse('quality', 'auto, standard or hd', quality);
  }
  if (resolution != null) throw refuse('resolution', 'nothing', resolution);
}

/** Interface part 4.4: maps every target to the nearest of the model's own sizes. */
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

function clientSize({ size, img_size, aspect_ratio }: ImageFields): string | null {
  return size ?? img_size ?? aspect_ratio ?? null;
}
