import type { SettingNames } from '../dialect.ts';

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
