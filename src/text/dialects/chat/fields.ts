import * as v from 'valibot';
import { EFFORTS } from '../../../config/settings/models.ts';
import { choiceBy, openObject, wordOrObject } from '../../../schema/choice.ts';
import { integer, nullish } from '../../../schema/fields.ts';
import { fieldTable } from '../field-table.ts';
import {
  advice,
  empty,
  hint,
  meaning,
  named,
  native,
  nativeHint,
  untranslated,
  values,
} from '../fields.ts';
import type { Check } from '../inspection.ts';
import {
  CHOICES,
  LABELS,
  ROUTING,
  SAMPLING,
  SETTING,
  SETTINGS,
  STREAM_OPTIONS,
  someOf,
  stops,
  text,
} from '../shared-fields.ts';
import {
  functionFields,
  message,
  messageSchema,
  toolChoice,
  toolChoiceSchema,
  toolList,
  tools,
} from './message-fields.ts';

/** Modalities that are not metered as text. */
const modalities: Check = (value, found) => {
  if (!Array.isArray(value)) return;
  for (const kind of value) {
    if (kind !== 'text') found.use(kind === 'image' ? 'image_generation' : 'audio');
  }
};

/** Values of `modalities` that equal its absence. */
const textOnly = {
  words: '["text"]',
  test: (value: unknown) => Array.isArray(value) && value.every((one) => one === 'text'),
};

const searches = (about: string) => untranslated(about, { feature: 'web_search' });

const schemaFormat = openObject({
  type: v.literal('json_schema'),
  json_schema: openObject({
    name: v.nullish(text),
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

const { strict: _, ...functionEntries } = functionFields.schema.entries;
/** Functions had no `strict`: as an unknown property it has any value. */
const formerFunction = openObject(functionEntries);

/** The fields of a chat request. */
export const fields = fieldTable({
  ...SAMPLING,
  add_generation_prompt: meaning('Whether the template asks for an answer.', {
    value: v.boolean(),
    neutral: values(true),
  }),
  continue_final_message: meaning('Whether the answer continues the last message.', {
    value: v.boolean(),
    neutral: values(false),
  }),
  ...LABELS,
  metadata: advice('Labels of the answer.', { value: openObject({}) }),
  ...ROUTING,
  ...SETTINGS,
  ...CHOICES,
  messages: meaning('The conversation so far.', {
    required: someOf(messageSchema, 'a list of one message at least'),
    items: message.check,
  }),
  stream_options: meaning('Options of the stream.', {
    fields: {
      ...STREAM_OPTIONS,
      ...named(
        advice('Padding and further usage in a stream.', { neutral: values(false) }),
        'continuous_usage_stats',
        'include_obfuscation',
      ),
    },
  }),
  max_completion_tokens: meaning('Maximum output tokens, including reasoning.', {
    value: integer(1, 1_048_576),
    decides: ['maxOutputTokens'],
  }),
  max_tokens: meaning('The former name of max_completion_tokens.', {
    value: integer(1),
    decides: ['maxOutputTokens'],
  }),
  top_k: hint('Number of most likely tokens to choose from.', {
    value: integer(-1),
    decides: ['topK'],
    neutral: values(0, -1),
  }),
  stop: meaning('Stop sequences.', { value: stops, decides: ['stop'], neutral: empty }),
  logprobs: SETTING.logprobs,
  top_logprobs: meaning('Number of most likely tokens to return at each position.', {
    value: integer(0, 20),
    setting: 'topLogprobs',
    neutral: values(0),
  }),
  reasoning_effort: meaning(
    'Reasoning effort; the model catalog lists the efforts that a model supports.',
    { value: v.picklist(EFFORTS), decides: ['reasoning'] },
  ),
  thinking: meaning('Alias of reasoning_effort.', {
    value: openObject({
      type: v.picklist(['enabled', 'disabled']),
      budget_tokens: nullish(integer(1), 'Reasoning budget in tokens.'),
    }),
    decides: ['reasoning'],
  }),
  reasoning: nativeHint('How much the model reasons, for a router.', { neutral: empty }),
  verbosity: SETTING.verbosity,
  response_format: meaning('Format of the output.', { value: format, decides: ['format'] }),
  tools: meaning('Tools that the model may call.', { value: toolList, items: tools }),
  tool_choice: meaning('Which tools the model must call.', {
    value: toolChoiceSchema,
    decides: ['toolChoice'],
    check: toolChoice,
  }),
  parallel_tool_calls: SETTING.parallelToolCalls,
  functions: meaning('The former name of tools.', {
    value: v.pipe(v.array(formerFunction), v.metadata({ expects: 'a list of functions' })),
  }),
  function_call: meaning('The former name of tool_choice.', {
    value: wordOrObject(['auto', 'none'], openObject({ name: text })),
  }),
  prediction: advice('Text that the answer probably repeats, which makes it faster.'),
  moderation: native('Moderation of input and output by the provider.'),
  cache_control: advice('Mark of a prompt cache.'),
  modalities: untranslated('Kinds of output.', { check: modalities, neutral: textOnly }),
  audio: untranslated('Voice and format of spoken output.', { feature: 'audio' }),
  service_tier: advice('Priority and price of the request.', {
    feature: 'service_tier',
    neutral: values('auto', 'default', 'standard'),
  }),
  web_search_options: searches('Options of a web search.'),
  search_parameters: searches('Options of a web search.'),
});

/** A valid request. */
export type ChatRequest = v.InferInput<typeof fields.schema>;
