import type { SettingNames } from '../dialect.ts';
import {
  advice,
  empty,
  FieldTable,
  hint,
  meaning,
  named,
  native,
  nativeHint,
  object,
  untranslated,
  values,
} from '../fields.ts';
import { reference } from '../inspection.ts';
import { LABELS, ROUTING, SAMPLING, SETTINGS } from '../shared-fields.ts';
import { input, items } from './item-fields.ts';
import { hasHostedTools, toolChoice, tools } from './tool-fields.ts';

const unlessHosted = {
  words: 'any without hosted tools',
  test: (_: unknown, body: Readonly<Record<string, unknown>>) => !hasHostedTools(body['tools']),
};

/** The fields of a responses request. */
export const fields = new FieldTable({
  ...SAMPLING,
  ...LABELS,
  ...ROUTING,
  ...SETTINGS,
  input: meaning('The conversation so far.', { check: input, items }),
  instructions: meaning('System message before the input.'),
  stream_options: meaning('Options of the stream.', {
    check: object({
      include_obfuscation: advice('Padding in a stream.', { neutral: values(false) }),
    }),
  }),
  max_output_tokens: meaning('Maximum output tokens.'),
  top_k: nativeHint('Number of most likely tokens to choose from.', { neutral: values(0, -1) }),
  ...named(
    nativeHint('Penalty for repeated tokens.', { neutral: values(0) }),
    'frequency_penalty',
    'presence_penalty',
  ),
  top_logprobs: meaning('Number of alternatives with log probabilities.', { neutral: values(0) }),
  reasoning: meaning('How much the model reasons.', {
    check: object({
      effort: meaning('Effort.'),
      ...named(meaning('Kind of summary.'), 'summary', 'generate_summary'),
      // Upstreams of all formats get all reasoning that the client sends.
      context: native('Which earlier reasoning the model reads.', {
        neutral: values('auto', 'all_turns'),
      }),
      // `pro` runs several models for one answer.
      mode: native('How many models work on one answer.', {
        feature: 'service_tier',
        neutral: values('standard'),
      }),
    }),
  }),
  text: meaning('The output as text.', {
    check: object({
      format: meaning('Format of the output.'),
      verbosity: hint('Length of the answer.', { neutral: values('medium') }),
    }),
  }),
  tools: meaning('Tools that the model may call.', { items: tools }),
  tool_choice: meaning('Which tools the model must call.', { check: toolChoice }),
  parallel_tool_calls: meaning('Whether several tools may be called at once.', {
    neutral: values(true),
  }),
  max_tool_calls: native('Limit of calls of hosted tools.', { neutral: unlessHosted }),
  include: meaning('Further output.', { neutral: empty }),
  truncation: advice('Whether an input that is too long is shortened; otherwise it is refused.', {
    neutral: values('disabled'),
  }),
  background: native('Whether to run the request in the background.', {
    feature: 'background',
    neutral: values(false),
  }),
  service_tier: advice('Priority and price of the request.', {
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
    kept: 'content',
    check: reference('previous_response_id'),
  }),
  prompt: native('A prompt that the provider stores.', {
    kept: 'content',
    check: reference('prompt'),
  }),
});

export const settings: SettingNames = {
  toolChoice: ['tool_choice'],
  parallelToolCalls: ['parallel_tool_calls'],
  maxOutputTokens: ['max_output_tokens'],
  temperature: ['temperature'],
  topP: ['top_p'],
  logprobs: ['top_logprobs', 'include'],
  topLogprobs: ['top_logprobs'],
  format: ['text.format'],
  verbosity: ['text.verbosity'],
  reasoning: ['reasoning.effort', 'reasoning'],
};
