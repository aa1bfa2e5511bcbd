import * as v from 'valibot';
import type { Model } from '../../config/settings/schema.ts';
import { outputSize, RESOLUTIONS, targetOf } from '../../images/sizes.ts';
import { integer, nullish } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import {
  DALL_E_QUALITIES,
  IMAGE_OPTIONS,
  type ImageOptions,
  type ImageTaskRequest,
  QUALITIES,
} from '../task/task-request.ts';
import {
  inputImages,
  MAX_INPUTS,
  model,
  prompt,
  promptFieldsOf,
  shortText,
  taskFields,
} from './fields.ts';
import { requestReader } from './validated-request.ts';

/** The fields that generations and edits have in common. */
const imageFields = {
  model,
  prompt,
  size: shortText(
    'auto, WIDTHxHEIGHT, a ratio such as 16:9, or another value that the model accepts',
  ),
  quality: nullish(
    v.picklist([...QUALITIES, ...DALL_E_QUALITIES]),
    'quality; low, medium and high for models with native sizes, standard and hd for others',
  ),
  n: nullish(integer(1, 10), 'number of images; more than 1 for models with native sizes'),
};

const optionFields = {
  background: nullish(v.picklist(['auto', 'transparent', 'opaque']), 'background of the images'),
  output_format: nullish(
    v.picklist(['png', 'jpeg', 'webp']),
    "file format; by default the model's own",
  ),
  output_compression: nullish(integer(0, 100), 'quality of JPEG and WebP files, 100 by default'),
};

/** The body of POST /v1/images/generations, of both its variants. */
export const imageRequest = v.object({
  ...imageFields,
  input_images: inputImages,
  ...taskFields,
  aspect_ratio: shortText('deprecated: a ratio such as 16:9'),
  resolution: nullish(v.picklist(RESOLUTIONS), 'deprecated: length of the longer side of a ratio'),
  img_size: shortText('deprecated: as size'),
  ...optionFields,
  moderation: nullish(v.picklist(['auto', 'low']), 'how strictly the upstream filters images'),
  style: nullish(v.picklist(['vivid', 'natural']), 'style of the images'),
});

/** The fields of POST /v1/images/edits other than its files. */
export const editRequest = v.object({
  ...imageFields,
  ...taskFields,
  ...optionFields,
  input_fidelity: nullish(v.picklist(['low', 'high']), 'how closely the images are followed'),
});

const reference = v.pipe(
  v.strictObject({ image_url: v.optional(v.string()), file_id: v.optional(v.string()) }),
  v.check(({ image_url, file_id }) => (image_url === undefined) !== (file_id === undefined)),
  v.metadata({ expects: 'either {"image_url": URL} or {"file_id": ID}' }),
);

/** The images of a JSON body of POST /v1/images/edits, as OpenAI names them. */
export const editReferences = v.looseObject({
  images: v.pipe(
    v.array(reference),
    v.minLength(1),
    v.maxLength(MAX_INPUTS),
    v.metadata({ expects: `a list of 1 to ${MAX_INPUTS} images` }),
  ),
  mask: v.nullish(reference),
});

export const readImageRequest = requestReader('image', imageRequest, (body, found) =>
  imageRequestOf(body, found, false),
);

export const readEditRequest = requestReader('image', editRequest, (body, found) =>
  imageRequestOf(body, found, true),
);

/** The fields of POST /v1/images/variations other than its file. */
export const variationRequest = v.omit(v.object({ ...imageFields, ...taskFields }), [
  'prompt',
  'quality',
]);

export const readVariationRequest = requestReader('image', variationRequest, (body, found) => ({
  ...imageRequestOf({ ...body, prompt: '' }, found, true),
  variation: true,
}));

/** The fields of a generation or an edit. */
type ImageFields = v.InferInput<typeof imageRequest> &
  Pick<Partial<v.InferInput<typeof editRequest>>, 'input_fidelity'>;

/**
 * The task's request for the fields of a body, without its inputs.
 *
 * @throws Failure invalid_request where the model does not support a field
 */
function imageRequestOf(
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
    size: native
      ? nativeSize(fields)
      : (fields.size ?? fields.img_size ?? fields.aspect_ratio ?? null),
    native,
    quality: native
      ? (fields.quality ?? 'auto')
      : (DALL_E_QUALITIES.find((one) => one === fields.quality) ?? null),
    inputs: [],
    mask: null,
    ...(Object.keys(options).length > 0 && { options }),
  };
}

/** Values that ask for what happens anyway, and are not sent. */
const NEUTRAL: ImageOptions = { background: 'auto', moderation: 'auto', output_compression: 100 };

/** The options among a body's fields, without neutral values. */
function imageOptionsOf(fields: ImageFields): ImageOptions {
  const given = IMAGE_OPTIONS.map((name) => [name, fields[name]] as const);
  const options = given.filter(([name, value]) => value != null && value !== NEUTRAL[name]);
  return Object.fromEntries(options) as ImageOptions;
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

/** Maps every target to the nearest of the model's own sizes. */
function nativeSize({ size, img_size, aspect_ratio, resolution }: ImageFields): string {
  const target = targetOf({
    size: size ?? undefined,
    img_size: img_size ?? undefined,
    aspect_ratio: aspect_ratio ?? undefined,
    resolution: resolution ?? undefined,
  });
  if (target === 'auto') return 'auto';
  const { width, height } = outputSize(target);
  return `${width}x${height}`;
}
