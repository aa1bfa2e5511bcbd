import * as v from 'valibot';
import type { Model } from '../../config/schema.ts';
import { field, integer } from '../../schema/fields.ts';
import {
  callbackUrl,
  checkFields,
  type Fields,
  model,
  prompt,
  promptedBy,
  seed,
  user,
  word,
} from './fields.ts';
import { expectType } from './model.ts';
import type { MediaRequest } from './request.ts';

const FORMATS = ['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm'] as const;

/** The body of POST /v1/audio/generations. */
export const audioRequest = v.strictObject({
  model,
  prompt,
  voice: word('whose voice, as the model calls it'),
  format: v.nullish(field(v.picklist(FORMATS), "of the file; by default the model's own")),
  duration: v.nullish(field(integer(1, 600), 'seconds, for models that take them')),
  callback_url: callbackUrl,
  seed,
  user,
});

/** @throws Failure invalid_request that names the field */
export function readAudioRequest(fields: Fields, found: Model): MediaRequest {
  expectType(fields, found, 'audio');
  const request = checkFields(audioRequest, fields);
  return {
    work: {
      type: 'audio',
      ...promptedBy(request),
      voice: request.voice ?? null,
      format: request.format ?? null,
      duration: request.duration ?? null,
    },
    inputs: [],
    callbackUrl: request.callback_url ?? null,
  };
}
