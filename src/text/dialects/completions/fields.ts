import * as v from 'valibot';
import { choice } from '../../../schema/choice.ts';
import { integer } from '../../../schema/fields.ts';
import { fieldTable } from '../field-table.ts';
import { meaning, nativeHint, values } from '../fields.ts';
import {
  CHOICES,
  LABELS,
  ROUTING,
  SAMPLING,
  SETTING,
  SETTINGS,
  STREAM_OPTIONS,
  stops,
  text,
} from '../shared-fields.ts';

/** Prompts of one request, each of which is a request to the upstream. */
const MAX_PROMPTS = 20;

const prompts = v.pipe(v.array(text), v.nonEmpty(), v.maxLength(MAX_PROMPTS));

/** The fields of a request for a completion of a text, in OpenAI's legacy format. */
export const fields = fieldTable({
  ...SAMPLING,
  ...LABELS,
  ...ROUTING,
  ...SETTINGS,
  ...CHOICES,
  top_k: nativeHint('Number of most likely tokens to choose from.', { neutral: values(0, -1) }),
  prompt: meaning('The text to answer, as a message of a user; of a list, each by itself.', {
    required: choice(
      `a text or a list of up to ${MAX_PROMPTS} texts; lists of tokens are not taken`,
      [text, prompts],
      (value) => (Array.isArray(value) ? prompts : text),
    ),
  }),
  echo: meaning('Whether each choice begins with its prompt.', { value: v.boolean() }),
  suffix: meaning('Refused unless empty: chat models cannot insert text.', {
    value: text,
    neutral: values(''),
  }),
  stream_options: meaning('Options of the stream.', { fields: STREAM_OPTIONS }),
  max_tokens: SETTING.maxOutputTokens,
  stop: meaning('Stop sequences.', { value: stops, decides: ['stop'] }),
  best_of: meaning('Refused unless it equals n.', { value: integer(1) }),
  logprobs: meaning('Refused: chat models report no such probabilities.', { value: integer(0) }),
});

/** A valid request. */
export type CompletionsRequest = v.InferInput<typeof fields.schema>;
