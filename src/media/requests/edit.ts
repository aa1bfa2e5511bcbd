import * as v from 'valibot';
import type { Model } from '../../config/settings/schema.ts';
import { editOptionFields } from '../task/image-options.ts';
import type { ValidatedRequest } from './fields.ts';
import { callbackUrl, checkFields, type Fields, model, prompt, seed, user } from './fields.ts';
import { count, imageRequestOf, quality, size } from './image.ts';
import { expectType } from './model.ts';

/** The fields of POST /v1/images/edits other than its files. */
export const editRequest = v.strictObject({
  model,
  prompt,
  size,
  quality,
  n: count,
  callback_url: callbackUrl,
  seed,
  user,
  ...editOptionFields,
});

/** @throws Failure invalid_request that names the field */
export function readEditRequest(fields: Fields, found: Model): ValidatedRequest {
  expectType(fields, found, 'image');
  const body = checkFields(editRequest, fields);
  return {
    request: imageRequestOf(body, found, true),
    inputImages: [],
    callbackUrl: body.callback_url ?? null,
  };
}
