import * as v from 'valibot';
import { choiceBy, openObject } from '../../../schema/choice.ts';
import { integer, number } from '../../../schema/fields.ts';
import { isObject } from '../../../schema/untrusted.ts';
import { fieldTable, object } from '../field-table.ts';
import { advice, empty, hint, meaning, named, native, untranslated, values } from '../fields.ts';
import { type Check, reference } from '../inspection.ts';
import { LABELS, nonEmptyText, ROUTING, SETTINGS, someOf } from '../shared-fields.ts';
import { blocks, messageFields, messageSchema, textOrTexts } from './block-fields.ts';
import { contextEdits, keepsContext } from './context-management.ts';
import { toolList, tools } from './tool-fields.ts';

const container: Check = (value, found, owner) => {
  if (!isObject(value)) return reference('container')(value, found, owner);
  containerFields(value, found, owner);
};

const containerFields = object({
  id: native('A container that the provider stores.', { check: reference('container') }),
  skills: native('Skills of the container.', { feature: 'skills' }),
});

const thinking = choiceBy('type', {
  enabled: openObject({ type: v.literal('enabled'), budget_tokens: integer(1) }),
  disabled: openObject({ type: v.literal('disabled') }),
  adaptive: openObject({ type: v.literal('adaptive') }),
  between_tools: openObject({ type: v.literal('between_tools') }),
});

const outputFormat = choiceBy('type', {
  json_schema: openObject({ type: v.literal('json_schema'), schema: openObject({}) }),
});

const parallel = { disable_parallel_tool_use: v.nullish(v.boolean()) };

const toolChoice = choiceBy('type', {
  auto: openObject({ type: v.literal('auto'), ...parallel }),
  any: openObject({ type: v.literal('any'), ...parallel }),
  tool: openObject({
    type: v.literal('tool'),
    name: nonEmptyText('the name of a tool'),
    ...parallel,
  }),
  none: openObject({ type: v.literal('none') }),
});

/** The fields of a messages request. */
export const fields = fieldTable({
  ...ROUTING,
  ...SETTINGS,
  client_metadata: LABELS['client_metadata']!,
  temperature: hint('Sampling temperature.', { value: number(0, 1), setting: 'temperature' }),
  system: meaning('Instructions.', {
    value: textOrTexts('a text or a list of text blocks'),
    items: blocks,
  }),
  messages: meaning('The conversation so far.', {
    required: someOf(messageSchema, 'a list of one message at least'),
    items: messageFields.check,
  }),
  max_tokens: meaning('Maximum output tokens, including reasoning.', {
    required: integer(1),
    setting: 'maxOutputTokens',
  }),
  top_k: hint('Number of most likely tokens to choose from.', {
    value: integer(0),
    setting: 'topK',
    neutral: values(0),
  }),
  stop_sequences: meaning('Stop sequences.', {
    value: v.pipe(
      v.array(nonEmptyText('a text of one character at least')),
      v.metadata({ expects: 'a list of texts' }),
    ),
    setting: 'stop',
    neutral: empty,
  }),
  thinking: meaning('How much the model reasons.', {
    value: thinking,
    decides: ['reasoning'],
    check: object({
      type: meaning('Whether the model reasons.'),
      budget_tokens: meaning('Limit of the reasoning in tokens.'),
      display: advice('Whether the answer shows the reasoning.', {
        neutral: values('omitted', 'summarized'),
      }),
      block_binding: native('Binding of reasoning to its answer.'),
    }),
  }),
  output_config: meaning('The output.', {
    fields: {
      // Without none: thinking switches reasoning off.
      effort: meaning('Reasoning effort.', {
        value: v.picklist(['low', 'medium', 'high', 'xhigh', 'max']),
        decides: ['reasoning'],
      }),
      format: meaning('Format of the output.', { value: outputFormat, decides: ['format'] }),
      task_budget: native('Tokens for a task of several requests.'),
    },
  }),
  output_format: meaning('The former name of output_config.format.', {
    value: outputFormat,
    decides: ['format'],
  }),
  tools: meaning('Tools that the model may call.', { value: toolList, items: tools }),
  tool_choice: meaning('Which tools the model must call.', {
    value: toolChoice,
    decides: ['toolChoice', 'parallelToolCalls'],
    check: object({
      ...named(meaning('The tools.'), 'type', 'name'),
      disable_parallel_tool_use: meaning('Whether only one tool may be called at once.', {
        decides: ['parallelToolCalls'],
        neutral: values(false),
      }),
    }),
  }),
  metadata: advice('Labels of the request.', {
    fields: {
      user_id: advice('Identifier of the end user, for abuse detection.', { value: v.string() }),
    },
  }),
  cache_control: advice('Mark of a prompt cache.'),
  diagnostics: advice('Report of cache misses.'),
  service_tier: advice('Priority and price of the request.', {
    value: v.string(),
    feature: 'service_tier',
    neutral: values('auto', 'default', 'standard', 'standard_only'),
  }),
  speed: advice('Speed and price of the answer.', {
    feature: 'service_tier',
    neutral: values('standard'),
  }),
  ...named(
    advice('Names of betas.', { feature: 'betas', neutral: empty }),
    'anthropic_beta',
    'betas',
  ),
  inference_geo: native('Region where the model runs.', {
    feature: 'service_tier',
    neutral: values('global'),
  }),
  context_management: native('Edits of earlier messages before the model reads them.', {
    check: object({
      edits: native('The edits.', { items: contextEdits }),
    }),
    neutral: keepsContext,
  }),
  compaction: untranslated('Compaction of the conversation by the provider.', {
    feature: 'compaction',
  }),
  mcp_servers: untranslated('Servers whose tools the provider calls.', {
    feature: 'mcp',
    neutral: empty,
  }),
  container: native('A container that the provider stores.', { check: container }),
});

export type MessagesRequest = v.InferInput<typeof fields.schema>;
