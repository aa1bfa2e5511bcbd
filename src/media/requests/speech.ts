import * as v from 'valibot';
import type { Model } from '../../config/settings/schema.ts';
import { field } from '../../schema/fields.ts';
import { FORMATS, speechFields, speechFieldsOf } from './audio.ts';
import type { ValidatedRequest } from './fields.ts';
import { checkFields, type Fields, model, prompt, promptFieldsOf } from './fields.ts';
import { expectType } from './model.ts';

/** The body of POST /v1/audio/speech, as at OpenAI, without the fields that choose the response. */
export const speechRequest = v.strictObject({
  model,
  input: field(prompt, 'text to speak, in at most 32000 characters'),
  ...speechFields,
  response_format: v.nullish(
    field(
      v.picklist(FORMATS),
      "format of the file; by default the model's own, which is mp3 at OpenAI",
    ),
  ),
});

/** Names of the body's fields that have other names in a task's request. */
const FIELD_NAMES = { prompt: 'input', format: 'response_format' } as const;

/** @throws Failure invalid_request that names the field */
export function readSpeechRequest(fields: Fields, found: Model): ValidatedRequest {
  expectType(fields, found, 'audio');
  const body = checkFields(speechRequest, fields);
  return {
    request: {
      type: 'audio',
      ...promptFieldsOf({ prompt: body.input }),
      ...speechFieldsOf(body),
      format: body.response_format ?? null,
      duration: null,
    },
    inputImages: [],
    callbackUrl: null,
    fieldNames: FIELD_NAMES,
  };
}
