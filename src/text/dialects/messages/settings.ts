import type { SettingNames } from '../dialect.ts';

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
