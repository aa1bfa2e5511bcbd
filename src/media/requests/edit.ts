import * as v from 'valibot';
import type { Model } from '../../config/schema.ts';
import { callbackUrl, checkFields, type Fields, model, prompt, seed, user } from './fields.ts';
import { count, imageWork, quality, size } from './image.ts';
import { expectType } from './model.ts';
import type { MediaRequest } from './request.ts';

/** The fields of POST /v1/images/edits (interface part 4.6) beside its files. */
export const editRequest = v.strictObject({
  model,
  prompt,
  size,
  quality,
  n: count,
  callback_url: callbackUrl,
  seed,
  user,
});

/** @throws Failure invalid_request that names the field */
export function readEditRequest(fields: Fields, found: Model): MediaRequest {
  expectType(fields, found, 'image');
  const request = checkFields(editRequest, fields);
  return {
    work: imageWork(request, found, true),
    inputs: [],
    callbackUrl: request.callback_url ?? null,
  };
}
