import * as v from 'valibot';

/** The six integers of usage that every answer has. */
export const usageEntries = {
  prompt_tokens: v.number(),
  completion_tokens: v.number(),
  total_tokens: v.number(),
  input_tokens: v.number(),
  output_tokens: v.number(),
  cached_input_tokens: v.number(),
};
