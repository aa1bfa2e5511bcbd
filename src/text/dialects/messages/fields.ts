import { isObject } from '../../../schema/untrusted.ts';
import type { SettingNames } from '../dialect.ts';
import {
  advice,
  empty,
  FieldTable,
  hint,
  meaning,
  named,
  native,
  object,
  untranslated,
  values,
} from '../fields.ts';
import { type Check, reference } from '../inspection.ts';
import { LABELS, ROUTING, SETTINGS } from '../shared-fields.ts';
import { blocks, messageFields, tools } from './block-fields.ts';
import { contextEdits, keepsContext } from './context-management.ts';

const container: Check = (value, found, owner) => {
  if (!isObject(value)) return reference('container')(value, found, owner);
  containerFields(value, found, owner);
};

const containerFields = object({
  id: native('A container that the provider stores.', { check: reference('container') }),
  skills: native('Skills of the container.', { feature: 'skills' }),
});

/** The fields of a messages request. */
export const fields = new FieldTable({
  ...ROUTING,
  ...SETTINGS,
  client_metadata: LABELS['client_metadata']!,
  system: meaning('Instructions.', { items: blocks }),
  messages: meaning('The conversation so far.', { items: messageFields.check }),
  max_tokens: meaning('Maximum output tokens.'),
  top_k: hint('Number of most likely tokens to choose from.', { neutral: values(0) }),
  stop_sequences: meaning('Stop sequences.', { neutral: empty }),
  thinking: meaning('How much the model reasons.', {
    check: object({
      type: meaning('Whether the model reasons.'),
      budget_tokens: meaning('Limit of the reasoning in tokens.'),
      display: advice('Whether the answer shows the reasoning.'),
      block_binding: native('Binding of reasoning to its answer.'),
    }),
  }),
  output_config: meaning('The output.', {
    check: object({
      effort: meaning('How much the model reasons.'),
      format: meaning('Format of the output.'),
      task_budget: native('Tokens for a task of several requests.'),
    }),
  }),
  output_format: meaning('The former name of output_config.format.'),
  tools: meaning('Tools that the model may call.', { items: tools }),
  tool_choice: meaning('Which tools the model must call.', {
    check: object({
      ...named(meaning('The tools.'), 'type', 'name'),
      disable_parallel_tool_use: meaning('Whether only one tool may be called at once.', {
        neutral: values(false),
      }),
    }),
  }),
  metadata: advice('Labels of the request.', {
    check: object({ user_id: advice('Identifier of the end user, for abuse detection.') }),
  }),
  cache_control: advice('Mark of a prompt cache.'),
  diagnostics: advice('Report of cache misses.'),
  service_tier: advice('Priority and price of the request.', {
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

export const settings: SettingNames = {
  toolChoice: ['tool_choice'],
  parallelToolCalls: ['tool_choice.disable_parallel_tool_use', 'tool_choice'],
  maxOutputTokens: ['max_tokens'],
  temperature: ['temperature'],
  topP: ['top_p'],
  topK: ['top_k'],
  stop: ['stop_sequences'],
  format: ['output_config.format', 'output_format'],
  reasoning: ['thinking', 'output_config.effort'],
};
