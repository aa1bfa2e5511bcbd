import type { Usage } from './canonical.ts';

/** The six integers of interface part 2.2, which chat and responses tell beside their own details. */
export function integersOf({ input, output, cachedInput }: Usage) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    cached_input_tokens: cachedInput,
  };
}
