import { nonEmptyTextOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical.ts';

/** Whether two descriptions may be of one item: what both tell of it is the same. */
function agree(one: Json, other: Json, names: readonly string[]): boolean {
  return names.every((name) => {
    const [a, b] = [nonEmptyTextOf(one[name]), nonEmptyTextOf(other[name])];
    return a === null || b === null || a === b;
  });
}

/**
 * Finds the items that were heard of in the output that an answer has in the end. Neither their
 * identifiers nor their places need be the same there.
 *
 * @returns the final item for each that was heard of, and those that nobody heard of, in order
 */
export function matchItems(heard: readonly Json[], output: readonly Json[]) {
  const left = new Set(output);
  const finals: (Json | null)[] = heard.map(() => null);
  const match = (test: (item: Json, final: Json) => boolean) => {
    heard.forEach((item, index) => {
      if (finals[index]) return;
      for (const final of left) {
        if (!test(item, final)) continue;
        finals[index] = final;
        left.delete(final);
        return;
      }
    });
  };
  match((item, final) => nonEmptyTextOf(item['id']) !== null && item['id'] === final['id']);
  match((item, final) => item['type'] === final['type'] && agree(item, final, ['call_id', 'name']));
  return { finals, unheard: [...left] };
}
