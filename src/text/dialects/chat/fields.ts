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
import type { Check } from '../inspection.ts';
import { CHOICES, LABELS, ROUTING, SAMPLING, SETTINGS } from '../shared-fields.ts';
import { message, toolChoice, tools } from './message-fields.ts';

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

/** The fields of a chat request. */
export const fields = new FieldTable({
  ...SAMPLING,
  add_generation_prompt: meaning('Whether the template asks for an answer.', {
    neutral: values(true),
  }),
  continue_final_message: meaning('Whether the answer continues the last message.', {
    neutral: values(false),
  }),
  ...LABELS,
  ...ROUTING,
  ...SETTINGS,
  ...CHOICES,
  messages: meaning('The conversation so far.', { items: message.check }),
  stream_options: meaning('Options of the stream.', {
    check: object({
      include_usage: meaning('Whether the stream ends with the usage.'),
      ...named(
        advice('Padding and further usage in a stream.', { neutral: values(false) }),
        'continuous_usage_stats',
        'include_obfuscation',
      ),
    }),
  }),
  ...named(meaning('Maximum output tokens.'), 'max_completion_tokens', 'max_tokens'),
  top_k: hint('Number of most likely tokens to choose from.', { neutral: values(0, -1) }),
  stop: meaning('Stop sequences.', { neutral: empty }),
  logprobs: meaning('Whether to return log probabilities.', { neutral: values(false) }),
  top_logprobs: meaning('Number of alternatives with log probabilities.', { neutral: values(0) }),
  ...named(meaning('How much the model reasons.'), 'reasoning_effort', 'thinking'),
  reasoning: untranslated('How much the model reasons, for a router.', { neutral: empty }),
  verbosity: hint('Length of the answer.', { neutral: values('medium') }),
  response_format: meaning('Format of the output.'),
  tools: meaning('Tools that the model may call.', { items: tools }),
  tool_choice: meaning('Which tools the model must call.', { check: toolChoice }),
  parallel_tool_calls: meaning('Whether several tools may be called at once.', {
    neutral: values(true),
  }),
  functions: meaning('The former name of tools.'),
  function_call: meaning('The former name of tool_choice.'),
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

export const settings: SettingNames = {
  toolChoice: ['tool_choice'],
  parallelToolCalls: ['parallel_tool_calls'],
  maxOutputTokens: ['max_completion_tokens', 'max_tokens'],
  temperature: ['temperature'],
  topP: ['top_p'],
  topK: ['top_k'],
  stop: ['stop'],
  n: ['n'],
  frequencyPenalty: ['frequency_penalty'],
  presencePenalty: ['presence_penalty'],
  seed: ['seed'],
  logprobs: ['logprobs'],
  topLogprobs: ['top_logprobs'],
  logitBias: ['logit_bias'],
  format: ['response_format'],
  verbosity: ['verbosity'],
  reasoning: ['reasoning_effort', 'thinking'],
};
