import { countOf, isObject, objectOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Usage } from '../../canonical/events.ts';
import { cacheLifetimes, hourlyWritesOf, integersOf } from '../usage.ts';

/** The usage of a response; null if it counts nothing. */
export function usageOf(value: unknown): Usage | null {
  if (!isObject(value)) return null;
  const input = objectOf(value['input_tokens_details']);
  const writtenForAnHour = hourlyWritesOf(input) ?? 0;
  const { reasoning_tokens: reasoning } = objectOf(value['output_tokens_details']);
  const read = countOf(value['input_tokens']);
  const written = countOf(value['output_tokens']);
  if (read === null && written === null) return null;
  return {
    input: read ?? 0,
    output: written ?? 0,
    cachedInput: countOf(input['cached_tokens']) ?? 0,
    cacheWrite: countOf(input['cache_write_tokens']) ?? 0,
    ...(writtenForAnHour > 0 && { cacheWrite1h: writtenForAnHour }),
    reasoning: countOf(reasoning),
  };
}

/** The usage of a response: six integers and the details. */
export function usageBody(usage: Usage): Json {
  return {
    ...integersOf(usage),
    input_tokens_details: {
      cached_tokens: usage.cachedInput,
      cache_write_tokens: usage.cacheWrite,
      ...cacheLifetimes(usage),
    },
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  };
}
