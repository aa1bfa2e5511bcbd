import * as v from 'valibot';
import { EFFORTS } from '../../../config/settings/models.ts';
import { openChoiceBy, openObject, textOrList } from '../../../schema/choice.ts';
import { integer } from '../../../schema/fields.ts';
import { fieldTable } from '../field-table.ts';
import {
  advice,
  empty,
  meaning,
  named,
  native,
  nativeHint,
  untranslated,
  values,
} from '../fields.ts';
import { reference } from '../inspection.ts';
import { LABELS, otherKind, ROUTING, SAMPLING, SETTING, SETTINGS, text } from '../shared-fields.ts';
import { input, inputItem, items } from './item-fields.ts';
import { hasHostedTools, toolChoice, toolChoiceSchema, toolList, tools } from './tool-fields.ts';

const unlessHosted = {
  words: 'any without hosted tools',
  test: (_: unknown, body: Readonly<Record<string, unknown>>) => !hasHostedTools(body['tools']),
};

const schemaFormat = openObject({
  type: v.literal('json_schema'),
  name: text,
  schema: openObject({}),
  description: v.nullish(text),
  strict: v.nullish(v.boolean()),
});

/** The fields of a responses request. */
export const fields = fieldTable({
  ...SAMPLING,
  ...LABELS,
  metadata: advice('Labels of the answer.', { value: openObject({}) }),
  safety_identifier: advice('Identifier of the end user, for abuse detection.', { value: text }),
  prompt_cache_key: advice('Key that groups requests for the prompt cache.', { value: text }),
  store: advice('Whether the provider may store the answer.', {
    value: v.boolean(),
    neutral: values(false),
  }),
  ...ROUTING,
  ...SETTINGS,
  input: meaning('The conversation so far.', {
    required: textOrList('a text or a list of items', v.array(inputItem)),
    check: input,
    items,
  }),
  instructions: meaning('System message before the input.', { value: text }),
  stream_options: meaning('Options of the stream.', {
    fields: {
      include_obfuscation: advice('Padding in a stream.', {
        value: v.boolean(),
        neutral: values(false),
      }),
    },
  }),
  max_output_tokens: SETTING.maxOutputTokens,
  top_k: nativeHint('Number of most likely tokens to choose from.', { neutral: values(0, -1) }),
  ...named(
    nativeHint('Penalty for repeated tokens.', { neutral: values(0) }),
    'frequency_penalty',
    'presence_penalty',
  ),
  top_logprobs: meaning('Number of most likely tokens to return at each position.', {
    value: integer(0, 20),
    decides: ['logprobs', 'topLogprobs'],
    neutral: values(0),
  }),
  reasoning: meaning('How much the model reasons.', {
    decides: ['reasoning'],
    fields: {
      effort: meaning('Reasoning effort.', { value: v.picklist(EFFORTS), decides: ['reasoning'] }),
      summary: meaning('Summary of the reasoning: auto, concise, detailed.', { value: text }),
      generate_summary: meaning('The former name of summary.', { value: text }),
      // Upstreams of all formats get all reasoning that the client sends.
      context: native('Which earlier reasoning the model reads.', {
        neutral: values('auto', 'all_turns'),
      }),
      // `pro` runs several models for one answer.
      mode: native('How many models work on one answer.', {
        feature: 'service_tier',
        neutral: values('standard'),
      }),
    },
  }),
  text: meaning('The output as text.', {
    fields: {
      format: meaning('Format of the output.', {
        value: openChoiceBy('type', { json_schema: schemaFormat }, otherKind),
        decides: ['format'],
      }),
      verbosity: SETTING.verbosity,
    },
  }),
  tools: meaning('Tools that the model may call.', { value: toolList, items: tools }),
  tool_choice: meaning('Which tools the model must call.', {
    value: toolChoiceSchema,
    decides: ['toolChoice'],
    check: toolChoice,
  }),
  parallel_tool_calls: SETTING.parallelToolCalls,
  max_tool_calls: native('Limit of calls of hosted tools.', { neutral: unlessHosted }),
  include: meaning('Further output.', {
    value: v.array(text),
    decides: ['logprobs'],
    neutral: empty,
  }),
  truncation: advice(
    'Whether an input that is too long is shortened (auto) or refused (disabled).',
    {
      value: text,
      neutral: values('disabled'),
    },
  ),
  background: native('Whether to run the request in the background.', {
    value: v.boolean(),
    feature: 'background',
    neutral: values(false),
  }),
  service_tier: advice('Priority and price of the request.', {
    value: text,
    feature: 'service_tier',
    neutral: values('auto', 'default'),
  }),
  moderation: native('Moderation of input and output by the provider.'),
  context_management: untranslated('Compaction of the conversation by the provider.', {
    feature: 'compaction',
    neutral: empty,
  }),
  conversation: native('A conversation that the provider stores.', {
    kept: 'content',
    check: reference('conversation'),
  }),
  previous_response_id: native('An answer that the provider stores.', {
    value: text,
    kept: 'content',
    check: reference('previous_response_id'),
  }),
  prompt: native('A prompt that the provider stores.', {
    kept: 'content',
    check: reference('prompt'),
  }),
});
