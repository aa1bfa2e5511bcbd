import * as v from 'valibot';
import { EFFORTS } from '../../../config/settings/models.ts';
import { openChoiceBy, openObject, textOrList, wordOrObject } from '../../../schema/choice.ts';
import { field, integer, number } from '../../../schema/fields.ts';
import { inputItem } from './items.ts';

const text = v.string();

/** A function that the model may call. */
export const functionTool = openObject({
  type: v.literal('function'),
  name: v.pipe(text, v.nonEmpty(), v.metadata({ expects: "the function's name" })),
  description: v.nullish(text),
  parameters: v.nullish(openObject({})),
  strict: v.nullish(v.boolean()),
});
const nativeTool = openObject({ type: text });
const tool = openChoiceBy('type', { function: functionTool }, nativeTool);

const functionChoice = openObject({ type: v.literal('function'), name: text });
const nativeChoice = openObject({ type: text });
const toolChoice = wordOrObject(
  ['auto', 'none', 'required'],
  openChoiceBy('type', { function: functionChoice }, nativeChoice),
);

const schemaFormat = openObject({
  type: v.literal('json_schema'),
  name: text,
  schema: openObject({}),
  description: v.nullish(text),
  strict: v.nullish(v.boolean()),
});
const otherFormat = openObject({ type: text });
const format = openChoiceBy('type', { json_schema: schemaFormat }, otherFormat);
const input = textOrList('a text or a list of items', v.array(inputItem));

/** The body of POST /v1/responses. */
export const responsesRequest = openObject({
  model: field(v.pipe(text, v.nonEmpty()), 'The model that answers.', {
    expects: "a model's name",
  }),
  input,
  instructions: v.nullish(field(text, 'System message before the input.')),
  max_output_tokens: v.nullish(field(integer(1), 'Maximum output tokens, including reasoning.')),
  temperature: v.nullish(field(number(0, 2), 'Sampling temperature.')),
  top_p: v.nullish(
    field(number(0, 1), 'Nucleus sampling: the share of probability to choose from.'),
  ),
  reasoning: v.nullish(
    openObject({
      effort: v.nullish(field(v.picklist(EFFORTS), 'Reasoning effort.')),
      summary: v.nullish(field(text, 'Summary of the reasoning: auto, concise, detailed.')),
      generate_summary: v.nullish(field(text, 'The former name of summary.')),
    }),
  ),
  text: v.nullish(
    openObject({
      format: v.nullish(format),
      verbosity: v.nullish(field(text, 'Length of the answer: low, medium, high.')),
    }),
  ),
  tools: v.nullish(v.array(tool)),
  tool_choice: v.nullish(toolChoice),
  parallel_tool_calls: v.nullish(
    field(v.boolean(), 'Whether the model may call several tools in parallel.'),
  ),
  stream: v.nullish(field(v.boolean(), 'Whether to stream the answer as server-sent events.')),
  stream_options: v.nullish(openObject({ include_obfuscation: v.nullish(v.boolean()) })),
  metadata: v.nullish(openObject({})),
  include: v.nullish(v.array(text)),
  previous_response_id: v.nullish(
    field(text, 'The response that this one continues, at providers that store responses.'),
  ),
  store: v.nullish(field(v.boolean(), 'Whether the provider may store the response.')),
  background: v.nullish(field(v.boolean(), 'Whether to run the request in the background.')),
  top_logprobs: v.nullish(
    field(integer(0, 20), 'Number of most likely tokens to return at each position.'),
  ),
  truncation: v.nullish(
    field(text, 'Whether to truncate an input that is too long: auto, disabled.'),
  ),
  service_tier: v.nullish(text),
  user: v.nullish(text),
  safety_identifier: v.nullish(text),
  prompt_cache_key: v.nullish(text),
});
