import type { TokenUsage } from './answer.ts';
import { countOf, objectOf } from './json.ts';

/** Usage of OpenAI's formats, which differ in their names of input and output. */
export function openAiUsage(value: unknown, input: string, output: string): TokenUsage {
  const usage = objectOf(value);
  const inputDetails = objectOf(usage[`${input}_tokens_details`]);
  const outputDetails = objectOf(usage[`${output}_tokens_details`]);
  return {
    input: countOf(usage[`${input}_tokens`]),
    cached: countOf(inputDetails['cached_tokens']),
    cacheWritten: countOf(inputDetails['cache_write_tokens']),
    output: countOf(usage[`${output}_tokens`]),
    reasoning: countOf(outputDetails['reasoning_tokens']),
  };
}
