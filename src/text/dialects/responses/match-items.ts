import { nonEmptyTextOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';

/** Whether two items agree in the named properties that both have. */
function agree(one: Json, other: Json, names: readonly string[]): boolean {
  return names.every((name) => {
    const [a, b] = [nonEmptyTextOf(one[name]), nonEmptyTextOf(other[name])];
    return a === null || b === null || a === b;
  });
}

/**
 * Matches the items of a stream with the output of its last event, in which ids and indexes may differ.
 *
 * @returns the final item of each streamed one, and the items that were not streamed, in order
 */
export function matchItems(streamed: readonly Json[], output: readonly Json[]) {
  const remaining = new Set(output);
  const finals: (Json | null)[] = streamed.map(() => null);
  const match = (test: (item: Json, final: Json) => boolean) => {
    streamed.forEach((item, index) => {
      if (finals[index]) return;
      for (const final of remaining) {
        if (!test(item, final)) continue;
        finals[index] = final;
        remaining.delete(final);
        return;
      }
    });
  };
  match((item, final) => nonEmptyTextOf(item['id']) !== null && item['id'] === final['id']);
  match((item, final) => item['type'] === final['type'] && agree(item, final, ['call_id', 'name']));
  return { finals, unmatched: [...remaining] };
}
