import { FieldTable, meaning, named, native, object, values } from '../fields.ts';
import { LABELS, ROUTING, SAMPLING } from '../shared-fields.ts';

/** The fields of a request for a completion of a text. */
export const fields = new FieldTable({
  ...SAMPLING,
  ...LABELS,
  ...ROUTING,
  top_k: native('Number of most likely tokens to choose from.', { neutral: values(0, -1) }),
  model: meaning('The model that answers.'),
  prompt: meaning('The text to complete, or several.'),
  echo: meaning('Whether the answer repeats the prompt.'),
  suffix: meaning('Text after the answer.', { neutral: values('') }),
  stream: meaning('Whether to stream the answer.'),
  stream_options: meaning('Options of the stream.', {
    check: object({ include_usage: meaning('Whether the stream ends with the usage.') }),
  }),
  max_tokens: meaning('Maximum output tokens.'),
  temperature: meaning('Sampling temperature.'),
  top_p: meaning('Nucleus sampling.', { neutral: values(1) }),
  ...named(
    meaning('Penalty for repeated tokens.', { neutral: values(0) }),
    'frequency_penalty',
    'presence_penalty',
  ),
  seed: meaning('Seed of the sampling.'),
  stop: meaning('Stop sequences.'),
  n: meaning('Number of answers.', { neutral: values(1) }),
  best_of: meaning('Number of answers of which the best are returned.'),
  logprobs: meaning('Number of alternatives with log probabilities.'),
  logit_bias: meaning('Bias of single tokens.'),
});
