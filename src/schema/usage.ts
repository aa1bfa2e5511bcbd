import * as v from 'valibot';

/** The fields of the usage object of interface part 2.2. */
export const usageEntries = {
  prompt_tokens: v.number(),
  completion_tokens: v.number(),
  total_tokens: v.number(),
  input_tokens: v.number(),
  output_tokens: v.number(),
  cached_input_tokens: v.number(),
};
