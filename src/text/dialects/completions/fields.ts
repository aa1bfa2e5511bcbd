import { FieldTable, meaning, nativeHint, object, values } from '../fields.ts';
import { CHOICES, LABELS, ROUTING, SAMPLING, SETTINGS } from '../shared-fields.ts';

/** The fields of a request for a completion of a text. */
export const fields = new FieldTable({
  ...SAMPLING,
  ...LABELS,
  ...ROUTING,
  ...SETTINGS,
  ...CHOICES,
  top_k: nativeHint('Number of most likely tokens to choose from.', { neutral: values(0, -1) }),
  prompt: meaning('The text to complete, or several.'),
  echo: meaning('Whether the answer repeats the prompt.'),
  suffix: meaning('Text after the answer.', { neutral: values('') }),
  stream_options: meaning('Options of the stream.', {
    check: object({ include_usage: meaning('Whether the stream ends with the usage.') }),
  }),
  max_tokens: meaning('Maximum output tokens.'),
  stop: meaning('Stop sequences.'),
  best_of: meaning('Number of answers of which the best are returned.'),
  logprobs: meaning('Number of alternatives with log probabilities.'),
});
