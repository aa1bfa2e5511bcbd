import * as v from 'valibot';
import { EFFORTS } from '../../../config/settings/models.ts';
import {
  choice,
  choiceBy,
  openChoiceBy,
  openObject,
  textOrList,
  wordOrObject,
} from '../../../schema/choice.ts';
import { field, integer, number } from '../../../schema/fields.ts';
import { isObject } from '../../../schema/untrusted.ts';

const text = v.string();

/** A part or a tool that only the provider knows. */
const other = openObject({ type: text });

const textPart = openObject({ type: v.literal('text'), text });
const refusalPart = openObject({ type: v.literal('refusal'), refusal: text });
const imagePart = openObject({
  type: v.literal('image_url'),
  image_url: openObject({ url: text, detail: v.nullish(text) }),
});
const videoPart = openObject({
  type: v.literal('video_url'),
  video_url: openObject({ url: text }),
});
const audioPart = openObject({
  type: v.literal('input_audio'),
  input_audio: openObject({ data: text, format: text }),
});
const filePart = openObject({
  type: v.literal('file'),
  file: openObject({
    file_data: v.nullish(text),
    file_id: v.nullish(text),
    filename: v.nullish(text),
  }),
});

const part = openChoiceBy(
  'type',
  {
    text: textPart,
    image_url: imagePart,
    input_audio: audioPart,
    file: filePart,
    video_url: videoPart,
    refusal: refusalPart,
  },
  other,
);
const content = textOrList('a text or a list of parts', v.array(part));

const functionEntries = {
  name: v.pipe(text, v.nonEmpty(), v.metadata({ expects: "the function's name" })),
  description: v.nullish(text),
  parameters: v.nullish(openObject({})),
};
const functionTool = openObject({
  type: v.literal('function'),
  function: openObject({ ...functionEntries, strict: v.nullish(v.boolean()) }),
});
const tools = v.array(openChoiceBy('type', { function: functionTool }, other));

const functionCall = openObject({
  id: v.pipe(text, v.nonEmpty(), v.metadata({ expects: "the call's id" })),
  type: v.nullish(v.literal('function')),
  function: openObject({ name: text, arguments: v.nullish(text) }),
});
const customCall = openObject({ id: text, type: text });
const toolCall = choice(
  'a tool call',
  [functionCall, customCall],
  // Old clients send function calls without a type.
  (value) => {
    const type = isObject(value) ? (value['type'] ?? 'function') : 'function';
    return type === 'function' ? functionCall : customCall;
  },
);

const name = v.nullish(text);
const systemMessage = openObject({
  role: v.picklist(['system', 'developer']),
  content: v.nullish(content),
  name,
  tools: v.nullish(tools),
});
const userMessage = openObject({ role: v.literal('user'), content, name });
const assistantMessage = openObject({
  role: v.literal('assistant'),
  content: v.nullish(content),
  name,
  refusal: v.nullish(text),
  tool_calls: v.nullish(v.array(toolCall)),
  reasoning_content: v.nullish(text),
  reasoning_details: v.nullish(v.array(openObject({ type: v.nullish(text) }))),
  partial: v.nullish(v.boolean()),
  function_call: v.nullish(openObject({ name: text, arguments: v.nullish(text) })),
});
const functionMessage = openObject({
  role: v.literal('function'),
  name: text,
  content: v.nullish(content),
});
const toolMessage = openObject({ role: v.literal('tool'), content, tool_call_id: text });
const message = choiceBy('role', {
  system: systemMessage,
  developer: systemMessage,
  user: userMessage,
  assistant: assistantMessage,
  tool: toolMessage,
  function: functionMessage,
});

const functionChoice = openObject({
  type: v.literal('function'),
  function: openObject({ name: text }),
});
const toolChoice = wordOrObject(
  ['auto', 'none', 'required'],
  openChoiceBy('type', { function: functionChoice }, other),
);

const schemaFormat = openObject({
  type: v.literal('json_schema'),
  json_schema: openObject({
    name: text,
    description: v.nullish(text),
    schema: v.nullish(openObject({})),
    strict: v.nullish(v.boolean()),
  }),
});
const plainFormat = openObject({ type: v.picklist(['text', 'json_object']) });
const format = choiceBy('type', {
  text: plainFormat,
  json_object: plainFormat,
  json_schema: schemaFormat,
});

const stops = v.pipe(
  v.array(text),
  v.maxLength(4),
  v.metadata({ expects: 'a list of up to 4 texts' }),
);
const stop = textOrList('a text or a list of up to 4 texts', stops);

/** The body of POST /v1/chat/completions. */
export const chatRequest = openObject({
  model: field(v.pipe(text, v.nonEmpty()), 'The model that answers.', {
    expects: "a model's name",
  }),
  messages: field(v.pipe(v.array(message), v.nonEmpty()), 'The conversation so far.', {
    expects: 'a list of one message at least',
  }),
  temperature: v.nullish(field(number(0, 2), 'Sampling temperature.')),
  top_p: v.nullish(
    field(number(0, 1), 'Nucleus sampling: the share of probability to choose from.'),
  ),
  top_k: v.nullish(field(integer(-1), 'Number of most likely tokens to choose from.')),
  max_tokens: v.nullish(field(integer(1), 'The former name of max_completion_tokens.')),
  max_completion_tokens: v.nullish(
    field(integer(1, 1_048_576), 'Maximum output tokens, including reasoning.'),
  ),
  reasoning_effort: v.nullish(
    field(
      v.picklist(EFFORTS),
      'Reasoning effort; the model catalog lists the efforts that a model supports.',
    ),
  ),
  thinking: v.nullish(
    openObject({
      type: field(v.picklist(['enabled', 'disabled']), 'Alias of reasoning_effort.'),
      budget_tokens: v.nullish(field(integer(1), 'Reasoning budget in tokens.')),
    }),
  ),
  stop: v.nullish(stop),
  n: v.nullish(field(integer(1), 'Number of choices.')),
  frequency_penalty: v.nullish(field(number(-2, 2), 'Penalty for frequent tokens.')),
  presence_penalty: v.nullish(field(number(-2, 2), 'Penalty for tokens that occurred.')),
  seed: v.nullish(field(integer(Number.MIN_SAFE_INTEGER), 'Seed for reproducible sampling.')),
  response_format: v.nullish(format),
  tools: v.nullish(tools),
  tool_choice: v.nullish(toolChoice),
  functions: v.nullish(
    field(v.array(openObject(functionEntries)), 'The former name of tools.', {
      expects: 'a list of functions',
    }),
  ),
  function_call: v.nullish(wordOrObject(['auto', 'none'], openObject({ name: text }))),
  parallel_tool_calls: v.nullish(
    field(v.boolean(), 'Whether the model may call several tools in parallel.'),
  ),
  logprobs: v.nullish(field(v.boolean(), 'Whether to return log probabilities of output tokens.')),
  top_logprobs: v.nullish(
    field(integer(0, 20), 'Number of most likely tokens to return at each position.'),
  ),
  logit_bias: v.nullish(openObject({})),
  verbosity: v.nullish(field(text, 'Length of the answer: low, medium, high.')),
  continue_final_message: v.nullish(v.boolean()),
  add_generation_prompt: v.nullish(v.boolean()),
  user: v.nullish(field(text, 'Identifier of the end user, for abuse detection.')),
  metadata: v.nullish(openObject({})),
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
export type ChatRequest = v.InferInput<typeof chatRequest>;
