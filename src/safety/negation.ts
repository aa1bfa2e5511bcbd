import type { Hit, Hits } from './hits.ts';
import { nearby } from './nearby.ts';
import type { TermClass } from './terms.ts';
import type { Word } from './words.ts';

const NEGATABLE: ReadonlySet<TermClass> = new Set<TermClass>([
  ...(['nudity', 'suggestive', 'sexual', 'private'] as const),
  ...(['area', 'soft', 'exposure', 'emphasis'] as const),
]);
/** How many parts between commas one negation may govern when `or` binds them. */
const LIST = 6;

/** The end of the longest term that begins at each word; 0 where none does. */
type Ends = Int32Array;

/** How far a negation has come: whether it has taken something back already. */
const FIRST = 1;
const LATER = 2;

const NOTHING: ReadonlySet<number> = new Set();

/** Where the words begin that a negation before them or an absence after them takes back. */
export function negatedWords(words: readonly Word[], hits: Hits): ReadonlySet<number> {
  if (!hits.has('negation') && !hits.has('absence')) return NOTHING;
  return new Negations(words, hits).negated();
}

class Negations {
  readonly #words: readonly Word[];
  readonly #hits: Hits;
  readonly #terms: Ends;
  readonly #eithers: Ends;
  readonly #fillers: Ends;
  /** How far a negation had come at each word. What was read so is not read again for the next one. */
  readonly #read: Uint8Array;
  readonly #negated = new Set<number>();

  constructor(words: readonly Word[], hits: Hits) {
    this.#words = words;
    this.#hits = hits;
    this.#terms = endsOf(words, hits.ofAny(NEGATABLE));
    this.#eithers = endsOf(words, hits.of('either'));
    this.#fillers = endsOf(words, hits.of('filler'));
    this.#read = new Uint8Array(words.length);
  }

  negated(): ReadonlySet<number> {
    const negations = new Map<number, number>();
    for (const { start, end } of this.#hits.of('negation')) {
      negations.set(start, Math.max(negations.get(start) ?? 0, end));
    }
    const negationEnds = new Set(negations.values());
    for (const [start, end] of negations) {
      // `not without` says that there is some.
      const isDoubled = negations.has(end) || negationEnds.has(start);
      if (!isDoubled) this.#takeBack(end);
    }
    for (const absence of this.#hits.of('absence')) this.#takeBackBefore(absence);
    return this.#negated;
  }

  /** Takes back what follows a negation word by word, until a word is something else. */
  #takeBack(from: number): void {
    const first = this.#words[from];
    if (first === undefined) return;
    let { segment } = first;
    let state = FIRST;
    for (let at = from; at < this.#words.length; ) {
      const word = this.#words[at]!;
      if (word.sentence !== first.sentence) return;
      if (word.segment !== segment) {
        if (state === FIRST || !this.#isBoundList(at)) return;
        segment = word.segment;
      }
      if (this.#read[at]! >= state) return;
      this.#read[at] = state;
      const term = this.#terms[at]!;
      const end = term || this.#eithers[at]! || this.#fillers[at]!;
      if (end === 0) return;
      if (term > 0) {
        for (let index = at; index < term; index++) this.#negated.add(index);
        state = LATER;
      }
      at = end;
    }
  }

  #takeBackBefore({ start }: Hit): void {
    for (const before of nearby(this.#hits.all, start - 4, 4)) {
      const gap = start - before.end;
      if (gap < 0 || gap > 1 || this.#terms[before.start] === 0) continue;
      if (this.#words[before.start]!.segment !== this.#words[start]!.segment) continue;
      this.#negated.add(before.start);
    }
  }

  /** Whether `or` binds what is listed from a place on: `no X, Y or Z`. */
  #isBoundList(from: number): boolean {
    const { segment, sentence } = this.#words[from]!;
    for (let at = from; at < this.#words.length && at < from + 4 * LIST; at++) {
      const word = this.#words[at]!;
      if (word.sentence !== sentence || word.segment > segment + LIST) return false;
      if (this.#eithers[at]! > 0) return true;
    }
    return false;
  }
}

function endsOf(words: readonly Word[], hits: readonly Hit[]): Ends {
  const ends = new Int32Array(words.length);
  for (const { start, end } of hits) if (end > ends[start]!) ends[start] = end;
  return ends;
}
