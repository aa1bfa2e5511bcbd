import type { Hit, Hits } from './hits.ts';
import type { TermClass } from './terms.ts';
import type { Word } from './words.ts';

const NEGATABLE: ReadonlySet<TermClass> = new Set<TermClass>([
  ...(['nudity', 'suggestive', 'sexual', 'private'] as const),
  ...(['area', 'soft', 'exposure', 'emphasis'] as const),
]);
/** Parts between commas that one negation may govern if `or` joins them. */
const MAX_LIST_PARTS = 6;

/** End of the longest term that begins at each word; 0 if none does. */
type Ends = Int32Array;

/** State of reading on from a negation: whether a term was negated yet. */
const BEFORE_TERM = 1;
const AFTER_TERM = 2;

const NO_WORDS: ReadonlySet<number> = new Set();

/** Indexes of the words that a negation before them or an absence after them negates. */
export function negatedWords(words: readonly Word[], hits: Hits): ReadonlySet<number> {
  if (!hits.has('negation') && !hits.has('absence')) return NO_WORDS;
  return new Negations(words, hits).negated();
}

class Negations {
  readonly #words: readonly Word[];
  readonly #hits: Hits;
  readonly #terms: Ends;
  readonly #eithers: Ends;
  readonly #fillers: Ends;
  /** Furthest state in which each word was read, so that it is not read again for the next negation. */
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
      // `not without` is no negation.
      const isDoubled = negations.has(end) || negationEnds.has(start);
      if (!isDoubled) this.#negateAfter(end);
    }
    for (const absence of this.#hits.of('absence')) this.#negateBefore(absence);
    return this.#negated;
  }

  /** Negates the terms after a negation, up to the first word that is neither term nor filler. */
  #negateAfter(from: number): void {
    const first = this.#words[from];
    if (first === undefined) return;
    let { segment } = first;
    let state = BEFORE_TERM;
    for (let at = from; at < this.#words.length; ) {
      const word = this.#words[at]!;
      if (word.sentence !== first.sentence) return;
      if (word.segment !== segment) {
        if (state === BEFORE_TERM || !this.#isJoinedList(at)) return;
        segment = word.segment;
      }
      if (this.#read[at]! >= state) return;
      this.#read[at] = state;
      const term = this.#terms[at]!;
      const end = term || this.#eithers[at]! || this.#fillers[at]!;
      if (end === 0) return;
      if (term > 0) {
        for (let index = at; index < term; index++) this.#negated.add(index);
        state = AFTER_TERM;
      }
      at = end;
    }
  }

  /** Negates the terms just before an absence. */
  #negateBefore({ start }: Hit): void {
    for (const before of nearby(this.#hits.all, start - 4, 4)) {
      const gap = start - before.end;
      if (gap < 0 || gap > 1 || this.#terms[before.start] === 0) continue;
      if (this.#words[before.start]!.segment !== this.#words[start]!.segment) continue;
      this.#negated.add(before.start);
    }
  }

  /** Whether `or` joins the list that begins at a word: `no X, Y or Z`. */
  #isJoinedList(from: number): boolean {
    const { segment, sentence } = this.#words[from]!;
    for (let at = from; at < this.#words.length && at < from + 4 * MAX_LIST_PARTS; at++) {
      const word = this.#words[at]!;
      if (word.sentence !== sentence || word.segment > segment + MAX_LIST_PARTS) return false;
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

/** The ranges that begin within `reach` words of an index. The list is sorted by `start`. */
export function nearby<T extends { readonly start: number }>(
  list: readonly T[],
  at: number,
  reach: number,
): readonly T[] {
  const first = indexFrom(list, at - reach);
  let end = first;
  while (end < list.length && list[end]!.start <= at + reach) end++;
  return list.slice(first, end);
}

/** The index of the first range that begins at a word or after it. The list is sorted by `start`. */
export function indexFrom(list: readonly { readonly start: number }[], at: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]!.start < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
