import * as v from 'valibot';
import { field, integer, nullish, number } from '../../schema/fields.ts';
import * as fields from './fields.ts';
import { requestReader } from './validated-request.ts';

const FORMATS = ['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm'] as const;

/** Characters of instructions; OpenAI's limit is the same. */
const MAX_INSTRUCTIONS_LENGTH = 4096;

/** How a text is spoken. */
const speechFields = {
  voice: fields.voice,
  instructions: nullish(
    fields.textUpTo(MAX_INSTRUCTIONS_LENGTH),
    'how to speak, for models that follow instructions',
  ),
  speed: nullish(number(0.25, 4), 'speed of speech; 1, the default, is not sent'),
};

/** The body of POST /v1/audio/generations. */
export const audioRequest = v.object({
  model: fields.model,
  prompt: fields.prompt,
  ...speechFields,
  format: nullish(v.picklist(FORMATS), "of the file; by default the model's own"),
  duration: nullish(integer(1, 600), 'seconds, for models that support it'),
  ...fields.taskFields,
});

/** The body of POST /v1/audio/speech, as at OpenAI, without the fields that choose the response. */
export const speechRequest = v.object({
  model: fields.model,
  input: field(fields.prompt, 'text to speak, in at most 32000 characters'),
  ...speechFields,
  response_format: nullish(
    v.picklist(FORMATS),
    "format of the file; by default the model's own, which is mp3 at OpenAI",
  ),
});

export const readAudioRequest = requestReader('audio', audioRequest, (body) => ({
  type: 'audio',
  ...fields.promptFieldsOf(body),
  ...speechFieldsOf(body),
  format: body.format ?? null,
  duration: body.duration ?? null,
}));

/** What the fields of a task are called in this endpoint. */
export const SPEECH_NAMES = { prompt: 'input', format: 'response_format' };

export const readSpeechRequest = requestReader(
  'audio',
  speechRequest,
  (body) => ({
    type: 'audio',
    ...fields.promptFieldsOf({ prompt: body.input }),
    ...speechFieldsOf(body),
    format: body.response_format ?? null,
    duration: null,
  }),
  SPEECH_NAMES,
);

type SpeechFields = v.InferInput<v.ObjectSchema<typeof speechFields, undefined>>;

/** How a text is spoken, as a task's request stores it: without neutral values. */
function speechFieldsOf({ voice: named, instructions, speed }: SpeechFields) {
  return {
    voice: named ?? null,
    ...(instructions && { instructions: fields.wellFormed(instructions) }),
    ...(speed != null && speed !== 1 && { speed }),
  };
}
