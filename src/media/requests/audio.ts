import * as v from 'valibot';
import type { Model } from '../../config/settings/schema.ts';
import { field, integer, number } from '../../schema/fields.ts';
import type { AudioTaskRequest } from '../task/task-request.ts';
import type { ValidatedRequest } from './fields.ts';
import {
  callbackUrl,
  checkFields,
  type Fields,
  model,
  prompt,
  promptFieldsOf,
  seed,
  textUpTo,
  user,
  voice,
  wellFormed,
} from './fields.ts';
import { expectType } from './model.ts';

export const FORMATS = ['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm'] as const;

/** Characters of instructions; OpenAI's limit is the same. */
const MAX_INSTRUCTIONS_LENGTH = 4096;

/** How a text is spoken. */
export const speechFields = {
  voice,
  instructions: v.nullish(
    field(textUpTo(MAX_INSTRUCTIONS_LENGTH), 'how to speak, for models that follow instructions'),
  ),
  speed: v.nullish(field(number(0.25, 4), 'speed of speech; 1, the default, is not sent')),
};

/** The body of POST /v1/audio/generations. */
export const audioRequest = v.strictObject({
  model,
  prompt,
  ...speechFields,
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
      ...speechFieldsOf(body),
      format: body.format ?? null,
      duration: body.duration ?? null,
    },
    inputImages: [],
    callbackUrl: body.callback_url ?? null,
  };
}

/** How a text is spoken, as a task's request stores it: without neutral values. */
export function speechFieldsOf({
  voice: named,
  instructions,
  speed,
}: v.InferInput<v.StrictObjectSchema<typeof speechFields, undefined>>): Pick<
  AudioTaskRequest,
  'voice' | 'instructions' | 'speed'
> {
  return {
    voice: named ?? null,
    ...(instructions && { instructions: wellFormed(instructions) }),
    ...(speed != null && speed !== 1 && { speed }),
  };
}
