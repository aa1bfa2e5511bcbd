import * as v from 'valibot';
import { EFFORTS } from '../../../config/models.ts';
import { openChoiceBy, openObject, textOrList, wordOrObject } from '../../../schema/choice.ts';
import { field, integer, number } from '../../../schema/fields.ts';
import { inputItem } from './items.ts';

const text = v.string();

const functionTool = openObject({
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

/** What POST /v1/responses takes (interface part 4.2), and what OpenAI's clients send beside it. */
export const responsesRequest = openObject({
  model: field(v.pipe(text, v.nonEmpty()), 'The model that answers.', {
    expects: "a model's name",
  }),
  input,
  instructions: v.nullish(field(text, 'What the model is told first, before the input.')),
  max_output_tokens: v.nullish(field(integer(1), 'The most that it writes, reasoning included.')),
  temperature: v.nullish(field(number(0, 2), 'How much chance decides.')),
  top_p: v.nullish(field(number(0, 1), 'Of which part of the likely words it chooses.')),
  reasoning: v.nullish(
    openObject({
      effort: v.nullish(field(v.picklist(EFFORTS), 'How much it reasons.')),
      summary: v.nullish(field(text, 'How its reasoning is told: auto, concise, detailed.')),
      generate_summary: v.nullish(field(text, 'The former name of summary.')),
    }),
  ),
  text: v.nullish(
    openObject({
      format: v.nullish(format),
      verbosity: v.nullish(field(text, 'How much it says: low, medium, high.')),
    }),
  ),
  tools: v.nullish(v.array(tool)),
  tool_choice: v.nullish(toolChoice),
  parallel_tool_calls: v.nullish(field(v.boolean(), 'Whether it may call several tools at once.')),
  stream: v.nullish(field(v.boolean(), 'Whether the answer comes as server-sent events.')),
  stream_options: v.nullish(openObject({ include_obfuscation: v.nullish(v.boolean()) })),
  metadata: v.nullish(openObject({})),
  include: v.nullish(v.array(text)),
  previous_response_id: v.nullish(
    field(text, 'The answer that this one follows, where the provider keeps answers.'),
  ),
  store: v.nullish(field(v.boolean(), 'Whether the provider may keep the answer.')),
  background: v.nullish(field(v.boolean(), 'Whether the answer is made without waiting for it.')),
  top_logprobs: v.nullish(field(integer(0, 20), 'How many likely words are told of each place.')),
  truncation: v.nullish(field(text, 'Whether what is too long is cut: auto, disabled.')),
  service_tier: v.nullish(text),
  user: v.nullish(text),
  safety_identifier: v.nullish(text),
  prompt_cache_key: v.nullish(text),
});
