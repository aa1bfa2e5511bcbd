import { agesOf } from './ages.ts';
import type { Hit } from './lexicon.ts';
import { nearby } from './nearby.ts';
import { EXPLICIT } from './terms.ts';
import type { Word } from './words.ts';

/** Somebody in the prompt, by the words that name them. */
export interface Person {
  readonly start: number;
  readonly end: number;
  readonly isMinor: boolean;
}

const ADULT = 18;
/** Words that may part an age that follows from whom it is told of: `girl, who is now 30`. */
const AGE_REACH = 6;

/** Who is in the prompt, in order. */
export function peopleOf(words: readonly Word[], hits: readonly Hit[]): Person[] {
  const inClass = (termClass: Hit['termClass']) =>
    hits.filter((hit) => hit.termClass === termClass);
  const adults = inClass('adult');
  const apart = new Set(inClass('apart').map(({ start }) => start));
  const things = [...inClass('thing'), ...adults];
  const ages = agesOf(words);
  const grown = [...inClass('grown'), ...ages.filter(({ years }) => years >= ADULT)];
  const starts = new Set(adults.map(({ start }) => start));
  const thingStarts = new Set(things.map(({ start }) => start));

  const grownAt = new Map<number, number>();
  for (const { start, end } of grown) {
    for (let at = start; at < end; at++) grownAt.set(at, Math.max(grownAt.get(at) ?? 0, end));
  }
  /** Whether what is said from a place on tells of another, who is named after it. */
  const isOfAnother = (end: number) => starts.has(end) || starts.has(end + 1);

  const isGrown = ({ start, end }: Hit): boolean => {
    // `25-year-old girl`, `adult blonde girl`
    if (grownAt.has(start - 1)) return true;
    if (grownAt.has(start - 2) && !apart.has(start - 1) && together(words, start - 2, start)) {
      return true;
    }
    for (let at = end; at <= end + AGE_REACH && at < words.length; at++) {
      if (words[at]!.sentence !== words[start]!.sentence || apart.has(at) || starts.has(at)) break;
      const until = grownAt.get(at);
      if (until !== undefined) return !isOfAnother(until);
    }
    return false;
  };

  // `wearing nothing` negates nobody.
  const offensive = hits.filter(({ termClass }) => EXPLICIT.has(termClass));
  const negations = new Set(
    inClass('negation')
      .filter((no) => !nearby(offensive, no.end - 6, 6).some(({ end }) => end === no.end))
      .map(({ end }) => end),
  );
  /** `no children` */
  const isPresent = ({ start }: Hit) =>
    !(negations.has(start) && together(words, start - 1, start));

  const minors: Person[] = [
    ...inClass('minor').filter(isPresent),
    ...inClass('youth').filter((hit) => isPresent(hit) && !isGrown(hit)),
    ...inClass('young').filter(
      (hit) => ![0, 1, 2].some((gap) => thingStarts.has(hit.end + gap)) && !isGrown(hit),
    ),
    ...ages.filter(
      ({ years, end }) =>
        years < ADULT &&
        ![0, 1].some((gap) => thingStarts.has(end + gap) && !starts.has(end + gap)),
    ),
  ].map(({ start, end }) => ({ start, end, isMinor: true }));
  const others = adults.map(({ start, end }) => ({ start, end, isMinor: false }));
  return [...minors, ...others].sort((one, other) => one.start - other.start);
}

function together(words: readonly Word[], one: number, other: number): boolean {
  return words[one]?.segment === words[other]?.segment;
}
