import * as v from 'valibot';
import { choice, openObject, textOrList } from '../../../schema/choice.ts';
import { field, integer, number } from '../../../schema/fields.ts';

/** Prompts of one request, each of which is a request to the upstream. */
const MAX_PROMPTS = 20;

const text = v.string();
const prompts = v.pipe(v.array(text), v.nonEmpty(), v.maxLength(MAX_PROMPTS));
const PROMPT = `a text or a list of up to ${MAX_PROMPTS} texts; lists of tokens are not taken`;
const prompt = choice(PROMPT, [text, prompts], (value) => (Array.isArray(value) ? prompts : text));

const stops = v.pipe(
  v.array(text),
  v.maxLength(4),
  v.metadata({ expects: 'a list of up to 4 texts' }),
);

/** The body of POST /v1/completions: OpenAI's legacy format. */
export const completionsRequest = openObject({
  model: field(v.pipe(text, v.nonEmpty()), 'The model that answers.', {
    expects: "a model's name",
  }),
  prompt: field(prompt, 'The text to answer, as a message of a user; of a list, each by itself.', {
    expects: PROMPT,
  }),
  max_tokens: v.nullish(field(integer(1), 'Maximum output tokens, including reasoning.')),
  temperature: v.nullish(field(number(0, 2), 'Sampling temperature.')),
  top_p: v.nullish(
    field(number(0, 1), 'Nucleus sampling: the share of probability to choose from.'),
  ),
  n: v.nullish(field(integer(1), 'Number of choices for each prompt.')),
  best_of: v.nullish(field(integer(1), 'Refused unless it equals n.')),
  echo: v.nullish(field(v.boolean(), 'Whether each choice begins with its prompt.')),
  logprobs: v.nullish(field(integer(0), 'Refused: chat models report no such probabilities.')),
  suffix: v.nullish(field(text, 'Refused unless empty: chat models cannot insert text.')),
  stop: v.nullish(textOrList('a text or a list of up to 4 texts', stops)),
  frequency_penalty: v.nullish(field(number(-2, 2), 'Penalty for frequent tokens.')),
  presence_penalty: v.nullish(field(number(-2, 2), 'Penalty for tokens that occurred.')),
  seed: v.nullish(field(integer(Number.MIN_SAFE_INTEGER), 'Seed for reproducible sampling.')),
  logit_bias: v.nullish(openObject({})),
  user: v.nullish(field(text, 'Identifier of the end user, for abuse detection.')),
  stream: v.nullish(field(v.boolean(), 'Whether to stream the answer as server-sent events.')),
  stream_options: v.nullish(
    openObject({
      include_usage: v.nullish(
        field(v.boolean(), 'Whether the stream ends with a chunk with the usage.'),
      ),
    }),
  ),
});

/** A valid request. */
export type CompletionsRequest = v.InferInput<typeof completionsRequest>;
