import { findHits, type Hits, mayViolate } from './hits.ts';
import { indexFrom, nearby } from './negation.ts';
import { type Person, peopleOf } from './people.ts';
import { readingsOfText } from './readings.ts';
import { canViolate, type TermClass } from './terms.ts';
import { type Reading, type Violation, violationsOf } from './violations.ts';
import { type Word, wordsOf } from './words.ts';

/** Findings of the rules in a text. */
export interface Verdict {
  /** Whether it combines a minor with a violation. */
  readonly isOfMinor: boolean;
  /** Whether it is explicit, with or without a minor. */
  readonly isSexual: boolean;
  /** Classes of the terms in it. */
  readonly classes: ReadonlySet<TermClass>;
}

/** Most sentences between a person and a pronoun or a sentence without a person that refers to them. */
const MAX_REFERENCE_SENTENCES = 4;
/** Most words between people who are named together: `a boy and his mother`. */
const TOGETHER_REACH = 2;
/** Most words between a part of the body and its owner after it: `the legs of a girl`. */
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
  const found = { words, hits, people };
  return combinesWithMinor(found, violationsOf(found));
}

/** Checks a text against all rules. */
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
  const found = { words, hits, people: peopleOf(words, hits) };
  const violations = violationsOf(found);
  return {
    isOfMinor: combinesWithMinor(found, violations),
    isSexual: violations.some(({ isOfBody }) => !isOfBody),
    classes,
  };
}

function hasViolatingTerm(hits: Hits): boolean {
  for (const termClass of hits.classes) if (canViolate(termClass)) return true;
  return false;
}

/** Whether a violation belongs to a minor. */
function combinesWithMinor(
  { words, hits, people }: Reading,
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

/** Whether a body is a minor's: its owner is named before it in the sentence, or just after. */
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
  return scenes.hasMinor({ start, end, isOfBody: true });
}

/** Finds which sentences describe the same scene, and the people in it. */
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

  /** Whether a minor is in the violation's sentence, in one beside it, or in one that it refers to. */
  hasMinor({ start, isOfBody }: Violation): boolean {
    const { sentence } = this.#words[start]!;
    if (this.#minorSentences.has(sentence)) return true;
    if (!isOfBody && this.#isMinorNext(sentence)) return true;
    // A sentence without people may refer across one sentence about others.
    let others = this.#peopleSentences.has(sentence) ? 0 : 1;
    for (let back = sentence; back > sentence - MAX_REFERENCE_SENTENCES && back > 0; back--) {
      const isNew = this.#peopleSentences.has(back) && !this.#pronounSentences.has(back);
      // A scene of one sentence continues in the next.
      if (isNew && (back < sentence || isOfBody) && --others < 0) return false;
      if (this.#minorSentences.has(back - 1)) return true;
    }
    return false;
  }

  /** Whether the next sentence that names people names a minor. */
  #isMinorNext(sentence: number): boolean {
    for (let next = sentence + 1; next <= sentence + MAX_REFERENCE_SENTENCES; next++) {
      if (this.#minorSentences.has(next)) return true;
      if (this.#peopleSentences.has(next)) return false;
    }
    return false;
  }

  /** Whether another clause or person begins between two words. */
  areApart(from: number, to: number): boolean {
    for (let at = from; at < to; at++) if (this.#apart.has(at)) return true;
    return false;
  }

  /**
   * Whether the last person named before a word in its sentence is a minor or is named together with one;
   * null if no person is.
   */
  isMinorLastBefore(start: number): boolean | null {
    const at = indexFrom(this.#people, start) - 1;
    const last = this.#people[at];
    if (last === undefined || !areOneSentence(this.#words, last.start, start)) return null;
    return this.#withMinor[at]!;
  }
}

/** For each person whether it is a minor, or is named together with one before it. */
function withMinor(words: readonly Word[], people: readonly Person[]): boolean[] {
  const known: boolean[] = [];
  for (const [index, { start, isMinor }] of people.entries()) {
    const before = people[index - 1];
    const isTogether =
      before !== undefined &&
      start - before.end <= TOGETHER_REACH &&
      areOneSentence(words, before.start, start);
    known.push(isMinor || (isTogether && known[index - 1]!));
  }
  return known;
}

function areOneSentence(words: readonly Word[], one: number, other: number): boolean {
  return words[one]!.sentence === words[other]!.sentence;
}
