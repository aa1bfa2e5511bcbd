import * as v from 'valibot';
import type { Model } from '../../config/schema.ts';
import { field, integer } from '../../schema/fields.ts';
import {
  callbackUrl,
  checkFields,
  type Fields,
  model,
  prompt,
  promptFieldsOf,
  seed,
  shortText,
  user,
} from './fields.ts';
import { expectType } from './model.ts';
import type { ValidatedRequest } from './validated-request.ts';

const FORMATS = ['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm'] as const;

/** The body of POST /v1/audio/generations. */
export const audioRequest = v.strictObject({
  model,
  prompt,
  voice: shortText('name of a voice of the model'),
  format: v.nullish(field(v.picklist(FORMATS), "of the file; by default the model's own")),
  duration: v.nullish(field(integer(1, 600), 'seconds, for models that support it')),
  callback_url: callbackUrl,
  seed,
  user,
});

/** @throws Failure invalid_request that names the field */
export function readAudioRequest(fields: Fields, found: Model): ValidatedRequest {
  expectType(fields, found, 'audio');
  const body = checkFields(audioRequest, fields);
  return {
    request: {
      type: 'audio',
      ...promptFieldsOf(body),
      voice: body.voice ?? null,
      format: body.format ?? null,
      duration: body.duration ?? null,
    },
    inputImages: [],
    callbackUrl: body.callback_url ?? null,
  };
}
