import { findTerms, type Hit } from './lexicon.ts';
import { nearby } from './nearby.ts';
import { isOffensive, type Offence, offencesOf } from './offences.ts';
import { type Person, peopleOf } from './people.ts';
import { type Word, wordsOf } from './words.ts';

/** What the rules find in a text. */
export interface Verdict {
  /** A minor, with what no minor may be shown with. */
  readonly isOfMinor: boolean;
  /** Explicit, whoever it is about. */
  readonly isSexual: boolean;
  readonly hits: readonly Hit[];
}

/** Sentences through which `she` or a sentence about nobody still tells of an earlier person. */
const CHAIN = 4;
/** Words between people who are named together: `a boy and his mother`. */
const BESIDE = 2;
/** Words after a part of the body in which its owner may still be named: `the legs of a girl`. */
const OWNER_REACH = 5;

/** Reads a text once. Time and memory grow with its length. */
export function verdictOf(text: string): Verdict {
  const words = wordsOf(text);
  const hits = findTerms(words);
  // Nearly every prompt ends here.
  if (!hits.some(isOffensive)) return { isOfMinor: false, isSexual: false, hits };
  const people = peopleOf(words, hits);
  const offences = offencesOf(words, hits, people);
  return {
    isOfMinor: offences.length > 0 && combines(words, hits, people, offences),
    isSexual: offences.some(({ isOfBody }) => !isOfBody),
    hits,
  };
}

function combines(
  words: readonly Word[],
  hits: readonly Hit[],
  people: readonly Person[],
  offences: readonly Offence[],
): boolean {
  const minors = people.filter(({ isMinor }) => isMinor);
  if (minors.length === 0) return false;
  const scenes = new Scenes(words, hits, people);
  return offences.some((offence) =>
    offence.isOfBody ? isOfMinorBody(words, offence, people, scenes) : scenes.hasMinor(offence),
  );
}

/** Whose body it is: whoever is named before it in the sentence, or just after. */
function isOfMinorBody(
  words: readonly Word[],
  { start, end }: Offence,
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
  const owners = scenes.lastBefore(start);
  if (owners.length > 0) return owners.some(({ isMinor }) => isMinor);
  return scenes.hasMinor({ start, end, isOfBody: true, termClass: 'area' });
}

/** Which sentences tell of the same scene. */
class Scenes {
  readonly #words: readonly Word[];
  readonly #people: readonly Person[];
  readonly #minorSentences: Set<number>;
  readonly #peopleSentences: Set<number>;
  readonly #pronounSentences: Set<number>;
  readonly #apart: Set<number>;

  constructor(words: readonly Word[], hits: readonly Hit[], people: readonly Person[]) {
    const sentencesOf = (found: readonly { start: number }[]) =>
      new Set(found.map(({ start }) => words[start]!.sentence));
    this.#apart = new Set(
      hits.filter(({ termClass }) => termClass === 'apart').map(({ start }) => start),
    );
    this.#words = words;
    this.#people = people;
    this.#minorSentences = sentencesOf(people.filter(({ isMinor }) => isMinor));
    this.#peopleSentences = sentencesOf(people);
    this.#pronounSentences = sentencesOf(hits.filter(({ termClass }) => termClass === 'pronoun'));
  }

  /** Whether a minor is in the sentence, in one beside it, or in one that it still tells of. */
  hasMinor({ start, isOfBody }: Offence): boolean {
    const { sentence } = this.#words[start]!;
    if (this.#minorSentences.has(sentence)) return true;
    if (!isOfBody && this.#minorSentences.has(sentence + 1)) return true;
    for (let back = sentence; back > sentence - CHAIN && back > 0; back--) {
      const isNew = this.#peopleSentences.has(back) && !this.#pronounSentences.has(back);
      // A scene that is told in one sentence is still before the eye in the next.
      if (isNew && (back < sentence || isOfBody)) return false;
      if (this.#minorSentences.has(back - 1)) return true;
    }
    return false;
  }

  /** Whether another clause or person begins between two places. */
  areApart(from: number, to: number): boolean {
    for (let at = from; at < to; at++) if (this.#apart.has(at)) return true;
    return false;
  }

  /** Who was named last before a place, in its sentence, with whom they were named along with. */
  lastBefore(start: number): Person[] {
    const { sentence } = this.#words[start]!;
    let low = 0;
    let high = this.#people.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#people[middle]!.start < start) low = middle + 1;
      else high = middle;
    }
    const owners: Person[] = [];
    for (let index = low - 1; index >= 0; index--) {
      const person = this.#people[index]!;
      if (this.#words[person.start]!.sentence !== sentence) break;
      const next = owners[0];
      if (next !== undefined && next.start - person.end > BESIDE) break;
      owners.unshift(person);
      if (person.isMinor) break;
    }
    return owners;
  }
}
