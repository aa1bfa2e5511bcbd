import { type Age, agesOf } from './ages.ts';
import type { Hit, Hits } from './hits.ts';
import { EXPLICIT } from './terms.ts';
import type { Word } from './words.ts';

/** A person in a prompt, at the range of words that names them. */
export interface Person {
  readonly start: number;
  readonly end: number;
  readonly isMinor: boolean;
}

const ADULT_AGE = 18;
/** Most words between a person and the age stated after them: `girl, who is now 30`. */
const AGE_REACH = 6;

/** Most words of an explicit term. */
const LONGEST_TERM = 12;

/** The people in a prompt, in order. */
export function peopleOf(words: readonly Word[], hits: Hits): Person[] {
  const ages = agesOf(words);
  const adults = hits.of('adult');
  const people: Person[] = [
    ...minorsOf(words, hits, ages).map(({ start, end }) => ({ start, end, isMinor: true })),
    ...adults.map(({ start, end }) => ({ start, end, isMinor: false })),
  ];
  return people.sort((one, other) => one.start - other.start);
}

function minorsOf(words: readonly Word[], hits: Hits, ages: readonly Age[]): (Hit | Age)[] {
  const adultAt = startsOf(hits.of('adult'));
  const thingAt = startsOf(hits.of('thing'));
  const isThing = (at: number) => thingAt.has(at) || adultAt.has(at);
  const isGrown = grownTest(words, hits, ages, adultAt);
  const isPresent = presenceTest(words, hits);
  return [
    ...hits.of('minor').filter(isPresent),
    ...hits.of('youth').filter((hit) => isPresent(hit) && !isGrown(hit)),
    ...hits
      .of('young')
      .filter(
        (hit) =>
          !(isThing(hit.end) || isThing(hit.end + 1) || isThing(hit.end + 2)) && !isGrown(hit),
      ),
    ...ages.filter(({ years, end }) => {
      const isOfThing = [end, end + 1].some((at) => thingAt.has(at) && !adultAt.has(at));
      return years < ADULT_AGE && !isOfThing;
    }),
  ];
}

/** Returns a test of whether a person's stated age is an adult's. */
function grownTest(
  words: readonly Word[],
  hits: Hits,
  ages: readonly Age[],
  adultAt: ReadonlySet<number>,
): (hit: Hit) => boolean {
  const grown = [...hits.of('grown'), ...ages.filter(({ years }) => years >= ADULT_AGE)];
  if (grown.length === 0) return () => false;
  const apart = startsOf(hits.of('apart'));
  const grownAt = new Map<number, number>();
  for (const { start, end } of grown) {
    for (let at = start; at < end; at++) grownAt.set(at, Math.max(grownAt.get(at) ?? 0, end));
  }
  /** Whether the words before an index describe an adult who is named at it. */
  const isOfAnother = (end: number) => adultAt.has(end) || adultAt.has(end + 1);
  return ({ start, end }) => {
    // `25-year-old girl`, `adult blonde girl`
    if (grownAt.has(start - 1)) return true;
    if (grownAt.has(start - 2) && !apart.has(start - 1) && together(words, start - 2, start)) {
      return true;
    }
    for (let at = end; at <= end + AGE_REACH && at < words.length; at++) {
      if (words[at]!.sentence !== words[start]!.sentence || apart.has(at) || adultAt.has(at)) break;
      const until = grownAt.get(at);
      if (until !== undefined) return !isOfAnother(until);
    }
    return false;
  };
}

/** Returns a test of whether a person is present and not negated: `no children`. */
function presenceTest(words: readonly Word[], hits: Hits): (hit: Hit) => boolean {
  if (!hits.has('negation')) return () => true;
  // In `wearing nothing` the negation is part of an explicit term.
  const explicitEnds = new Set<number>();
  for (const { start, end } of hits.ofAny(EXPLICIT)) {
    if (end - start <= LONGEST_TERM) explicitEnds.add(end);
  }
  const negated = new Set<number>();
  for (const { end } of hits.of('negation')) if (!explicitEnds.has(end)) negated.add(end);
  return ({ start }) => !(negated.has(start) && together(words, start - 1, start));
}

function startsOf(hits: readonly Hit[]): ReadonlySet<number> {
  return new Set(hits.map(({ start }) => start));
}

function together(words: readonly Word[], one: number, other: number): boolean {
  return words[one]?.segment === words[other]?.segment;
}
