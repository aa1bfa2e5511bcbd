import { findHits, type Hits, mayViolate } from './hits.ts';
import { nearby } from './nearby.ts';
import { type Person, peopleOf } from './people.ts';
import { readingsOfText } from './readings.ts';
import { canViolate, type TermClass } from './terms.ts';
import { type Violation, violationsOf } from './violations.ts';
import { type Word, wordsOf } from './words.ts';

/** What the rules find in a text. */
export interface Verdict {
  /** A minor, with what no minor may be shown with. */
  readonly isOfMinor: boolean;
  /** Explicit, whoever it is about. */
  readonly isSexual: boolean;
  /** Of the terms that are in it. */
  readonly classes: ReadonlySet<TermClass>;
}

/** Sentences through which `she` or a sentence about nobody still tells of an earlier person. */
const CHAIN = 4;
/** Words between people who are named together: `a boy and his mother`. */
const BESIDE = 2;
/** Words after a part of the body in which its owner may still be named: `the legs of a girl`. */
const OWNER_REACH = 5;

/** Whether the rules refuse a text. Time and memory grow with its length. */
export function isRefused(text: string): boolean {
  for (const reading of readingsOfText(text)) if (isReadingRefused(reading)) return true;
  return false;
}

function isReadingRefused(reading: string): boolean {
  const words = wordsOf(reading);
  // Nearly every prompt ends here.
  if (!mayViolate(words)) return false;
  const hits = findHits(words);
  if (!hasViolatingTerm(hits)) return false;
  const people = peopleOf(words, hits);
  if (!people.some(({ isMinor }) => isMinor)) return false;
  return combines(words, hits, people, violationsOf(words, hits, people));
}

/** All that the rules find in a text. */
export function verdictOf(text: string): Verdict {
  const verdicts = Array.from(readingsOfText(text), readingVerdict);
  return {
    isOfMinor: verdicts.some(({ isOfMinor }) => isOfMinor),
    isSexual: verdicts.some(({ isSexual }) => isSexual),
    classes: new Set(verdicts.flatMap(({ classes }) => [...classes])),
  };
}

function readingVerdict(reading: string): Verdict {
  const words = wordsOf(reading);
  const hits = findHits(words);
  const classes = new Set(hits.classes);
  if (!hasViolatingTerm(hits)) return { isOfMinor: false, isSexual: false, classes };
  const people = peopleOf(words, hits);
  const violations = violationsOf(words, hits, people);
  return {
    isOfMinor: combines(words, hits, people, violations),
    isSexual: violations.some(({ isOfBody }) => !isOfBody),
    classes,
  };
}

function hasViolatingTerm(hits: Hits): boolean {
  for (const termClass of hits.classes) if (canViolate(termClass)) return true;
  return false;
}

function combines(
  words: readonly Word[],
  hits: Hits,
  people: readonly Person[],
  violations: readonly Violation[],
): boolean {
  if (violations.length === 0 || !people.some(({ isMinor }) => isMinor)) return false;
  const scenes = new Scenes(words, hits, people);
  return violations.some((violation) =>
    violation.isOfBody
      ? isOfMinorBody(words, violation, people, scenes)
      : scenes.hasMinor(violation),
  );
}

/** Whose body it is: whoever is named before it in the sentence, or just after. */
function isOfMinorBody(
  words: readonly Word[],
  { start, end }: Violation,
  people: readonly Person[],
  scenes: Scenes,
): boolean {
  const { sentence } = words[start]!;
  const next = nearby(people, end, OWNER_REACH).filter(
    (person) =>
      person.start >= start &&
      words[person.start]!.sentence === sentence &&
      !scenes.areApart(end, person.start),
  );
  if (next.some(({ isMinor }) => isMinor)) return true;
  const isOwnedByMinor = scenes.isMinorLastBefore(start);
  if (isOwnedByMinor !== null) return isOwnedByMinor;
  return scenes.hasMinor({ start, end, isOfBody: true, termClass: 'area' });
}

/** Which sentences tell of the same scene. */
class Scenes {
  readonly #words: readonly Word[];
  readonly #people: readonly Person[];
  readonly #withMinor: readonly boolean[];
  readonly #minorSentences: Set<number>;
  readonly #peopleSentences: Set<number>;
  readonly #pronounSentences: Set<number>;
  readonly #apart: Set<number>;

  constructor(words: readonly Word[], hits: Hits, people: readonly Person[]) {
    const sentencesOf = (found: readonly { start: number }[]) =>
      new Set(found.map(({ start }) => words[start]!.sentence));
    this.#apart = new Set(hits.of('apart').map(({ start }) => start));
    this.#words = words;
    this.#people = people;
    this.#withMinor = withMinor(words, people);
    this.#minorSentences = sentencesOf(people.filter(({ isMinor }) => isMinor));
    this.#peopleSentences = sentencesOf(people);
    this.#pronounSentences = sentencesOf(hits.of('pronoun'));
  }

  /** Whether a minor is in the sentence, in one beside it, or in one that it still tells of. */
  hasMinor({ start, isOfBody }: Violation): boolean {
    const { sentence } = this.#words[start]!;
    if (this.#minorSentences.has(sentence)) return true;
    if (!isOfBody && this.#isMinorNext(sentence)) return true;
    // One sentence about others does not change who a sentence is about that names nobody.
    let others = this.#peopleSentences.has(sentence) ? 0 : 1;
    for (let back = sentence; back > sentence - CHAIN && back > 0; back--) {
      const isNew = this.#peopleSentences.has(back) && !this.#pronounSentences.has(back);
      // A scene that is told in one sentence is still before the eye in the next.
      if (isNew && (back < sentence || isOfBody) && --others < 0) return false;
      if (this.#minorSentences.has(back - 1)) return true;
    }
    return false;
  }

  /** Whether the next sentence that names people names a minor. */
  #isMinorNext(sentence: number): boolean {
    for (let next = sentence + 1; next <= sentence + CHAIN; next++) {
      if (this.#minorSentences.has(next)) return true;
      if (this.#peopleSentences.has(next)) return false;
    }
    return false;
  }

  /** Whether another clause or person begins between two places. */
  areApart(from: number, to: number): boolean {
    for (let at = from; at < to; at++) if (this.#apart.has(at)) return true;
    return false;
  }

  /**
   * Whether who was named last before a place, in its sentence, is a minor or was named along with one;
   * null where nobody was.
   */
  isMinorLastBefore(start: number): boolean | null {
    let low = 0;
    let high = this.#people.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#people[middle]!.start < start) low = middle + 1;
      else high = middle;
    }
    const last = this.#people[low - 1];
    if (last === undefined || !areOneSentence(this.#words, last.start, start)) return null;
    return this.#withMinor[low - 1]!;
  }
}

/** For each person whether it is a minor, or was named along with one before it. */
function withMinor(words: readonly Word[], people: readonly Person[]): boolean[] {
  const known: boolean[] = [];
  for (const [index, { start, isMinor }] of people.entries()) {
    const before = people[index - 1];
    const isBeside =
      before !== undefined &&
      start - before.end <= BESIDE &&
      areOneSentence(words, before.start, start);
    known.push(isMinor || (isBeside && known[index - 1]!));
  }
  return known;
}

function areOneSentence(words: readonly Word[], one: number, other: number): boolean {
  return words[one]!.sentence === words[other]!.sentence;
}
