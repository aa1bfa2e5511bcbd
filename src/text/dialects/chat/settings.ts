import type { SettingNames } from '../dialect.ts';

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
