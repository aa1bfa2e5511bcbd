import type { Hit } from './lexicon.ts';
import { nearby } from './nearby.ts';
import type { TermClass } from './terms.ts';
import type { Word } from './words.ts';

const NEGATABLE: ReadonlySet<TermClass> = new Set<TermClass>([
  ...(['nudity', 'suggestive', 'sexual', 'private'] as const),
  ...(['area', 'soft', 'exposure', 'emphasis'] as const),
]);
/** How many parts between commas one negation may govern when `or` binds them. */
const LIST = 6;

/** The end of the longest term that begins at each place. */
type Ends = ReadonlyMap<number, number>;

/** Where the words begin that a negation before them or an absence after them takes back. */
export function negatedWords(words: readonly Word[], hits: readonly Hit[]): Set<number> {
  const terms = endsOf(hits, (termClass) => NEGATABLE.has(termClass));
  const eithers = endsOf(hits, (termClass) => termClass === 'either');
  const fillers = endsOf(hits, (termClass) => termClass === 'filler');
  const negations = endsOf(hits, (termClass) => termClass === 'negation');
  const negationEnds = new Set(negations.values());
  const negated = new Set<number>();
  for (const [start, end] of negations) {
    // `not without` says that there is some.
    const isDoubled = negations.has(end) || negationEnds.has(start);
    if (!isDoubled) takeBack(words, end, { terms, eithers, fillers }, negated);
  }
  for (const { termClass, start } of hits) {
    if (termClass !== 'absence') continue;
    for (const before of nearby(hits, start - 4, 4)) {
      const gap = start - before.end;
      if (gap < 0 || gap > 1 || words[before.start]!.segment !== words[start]!.segment) continue;
      if (terms.has(before.start)) negated.add(before.start);
    }
  }
  return negated;
}

/** Takes back what follows a negation word by word, until a word is something else. */
function takeBack(
  words: readonly Word[],
  from: number,
  { terms, eithers, fillers }: { terms: Ends; eithers: Ends; fillers: Ends },
  negated: Set<number>,
): void {
  const first = words[from];
  if (first === undefined) return;
  let { segment } = first;
  let last: number | null = null;
  for (let at = from; at < words.length; ) {
    const word = words[at]!;
    if (word.sentence !== first.sentence) return;
    if (word.segment !== segment) {
      if (last === null || !isBoundList(words, at, eithers)) return;
      segment = word.segment;
    }
    const end = terms.get(at) ?? eithers.get(at) ?? fillers.get(at);
    if (end === undefined) return;
    if (terms.has(at)) {
      for (let index = at; index < end; index++) negated.add(index);
      last = at;
    }
    at = end;
  }
}

/** Whether `or` binds what is listed from a place on: `no X, Y or Z`. */
function isBoundList(words: readonly Word[], from: number, eithers: Ends): boolean {
  const { segment, sentence } = words[from]!;
  for (let at = from; at < words.length && at < from + 4 * LIST; at++) {
    const word = words[at]!;
    if (word.sentence !== sentence || word.segment > segment + LIST) return false;
    if (eithers.has(at)) return true;
  }
  return false;
}

function endsOf(hits: readonly Hit[], isMeant: (termClass: TermClass) => boolean): Ends {
  const ends = new Map<number, number>();
  for (const { termClass, start, end } of hits) {
    if (isMeant(termClass)) ends.set(start, Math.max(ends.get(start) ?? 0, end));
  }
  return ends;
}
