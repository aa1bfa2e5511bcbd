import { getOrInsert } from '../maps.ts';
import {
  type Grammar,
  type Lexicon,
  lexicon,
  type Node,
  nodesSharing,
  pairOf,
  type Term,
} from './lexicon.ts';
import { canViolate, type TermClass } from './terms.ts';
import type { Word } from './words.ts';

/** A term found in a prompt, at a range of words. */
export interface Hit {
  readonly termClass: TermClass;
  readonly grammar: Grammar;
  /** Index of the first word, and of the one after the last. */
  readonly start: number;
  readonly end: number;
}

interface TermHit extends Hit {
  readonly term: Term;
}

/** What a word with digits or signs in place of some letters has both of. */
const [A_LETTER, A_SIGN] = [/\p{L}/u, /[*@$€!|0-9]/];
const KATAKANA = /^[\u30a1-\u30fa\u30fc]$/;

/** Lengths of words in which two terms written as one word are searched. */
const FUSED = { least: 7, most: 28 } as const;

const NONE: readonly Hit[] = [];

/** The terms found in a prompt, in the order of their first words. */
export class Hits {
  readonly all: readonly Hit[];
  readonly #words: readonly Word[];
  readonly #byClass = new Map<TermClass, Hit[]>();
  readonly #sentences = new Map<TermClass, Set<number>>();

  constructor(words: readonly Word[], all: readonly Hit[]) {
    this.#words = words;
    this.all = all;
    for (const hit of all) {
      const hits = this.#byClass.get(hit.termClass);
      if (hits === undefined) this.#byClass.set(hit.termClass, [hit]);
      else hits.push(hit);
    }
  }

  of(termClass: TermClass): readonly Hit[] {
    return this.#byClass.get(termClass) ?? NONE;
  }

  has(termClass: TermClass): boolean {
    return this.#byClass.has(termClass);
  }

  /** The hits of several classes, in order. */
  ofAny(termClasses: ReadonlySet<TermClass>): readonly Hit[] {
    const present = [...termClasses].filter((termClass) => this.has(termClass));
    if (present.length < 2) return present.length === 0 ? NONE : this.of(present[0]!);
    return this.all.filter(({ termClass }) => termClasses.has(termClass));
  }

  /** Whether a term of a class is in a sentence. */
  isInSentence(termClass: TermClass, sentence: number): boolean {
    const sentences = getOrInsert(
      this.#sentences,
      termClass,
      () => new Set(this.of(termClass).map(({ start }) => this.#words[start]!.sentence)),
    );
    return sentences.has(sentence);
  }

  get classes(): Iterable<TermClass> {
    return this.#byClass.keys();
  }
}

/** All terms in a prompt except those inside neutral phrases. */
export const findHits = (words: readonly Word[]): Hits => new Search(words).hits();

/**
 * Whether a prompt has a term that can be a violation, depending on its other terms. Nearly no prompt has
 * one, and this search takes a third of the time of the full one.
 */
export const mayViolate = (words: readonly Word[]): boolean => new Search(words).mayViolate();

class Search {
  readonly #words: readonly Word[];
  readonly #lexicon: Lexicon;
  #found: TermHit[] = [];
  /** Bit set of the languages that the prompt shows. */
  #languages = 0;
  #hasDoubtful = false;
  #hasNeutral = false;
  /** Whether the search is only for terms that can be violations. */
  #onlyViolating = false;

  constructor(words: readonly Word[]) {
    this.#words = words;
    this.#lexicon = lexicon();
  }

  hits(): Hits {
    for (let at = 0; at < this.#words.length; at++) this.#findAt(at);
    let found = this.#found;
    if (this.#hasDoubtful) {
      found = found.filter(
        ({ term }) => !term.needsEvidence || (term.languages & this.#languages) !== 0,
      );
    }
    return new Hits(this.#words, this.#hasNeutral ? withoutNeutral(found) : found);
  }

  mayViolate(): boolean {
    this.#onlyViolating = true;
    for (let at = 0; at < this.#words.length; at++) {
      this.#findAt(at);
      if (this.#found.length > 0) return true;
    }
    return false;
  }

  #findAt(at: number): void {
    const before = this.#found.length;
    this.#follow(this.#lexicon.root, at, at);
    this.#addPieced(at);
    if (this.#found.length === before) this.#addFused(at);
  }

  #add(term: Term, start: number, end: number): void {
    const { termClass, grammar } = term;
    if (this.#onlyViolating) {
      if (!canViolate(termClass)) return;
    } else if (term.needsEvidence) {
      this.#hasDoubtful = true;
    } else {
      this.#languages |= term.languages;
    }
    if (termClass === 'neutral') this.#hasNeutral = true;
    this.#found.push({ termClass, grammar, start, end, term });
  }

  /** Follows the trie from a node at a word. The depth is the number of words of the longest term. */
  #follow(node: Node, start: number, at: number): void {
    for (const reading of this.#words[at]!.readings) {
      const exact = node.words?.get(reading);
      if (exact !== undefined) this.#visitAll(exact, reading, start, at + 1);
      const lengths = node.lengths?.get(pairOf(reading));
      if (lengths === undefined) continue;
      for (const length of lengths) {
        if (length > reading.length) continue;
        const begun = node.beginnings!.get(reading.slice(0, length));
        if (begun === undefined) continue;
        this.#visitAll(begun, reading, start, at + 1);
        break;
      }
    }
  }

  #visitAll(node: Node, reading: string, start: number, end: number): void {
    if (node.nextSqueezed === null) this.#visit(node, start, end);
    else for (const each of nodesSharing(node, reading)) this.#visit(each, start, end);
  }

  #visit(node: Node, start: number, end: number): void {
    if (this.#onlyViolating && !node.leadsToViolation) return;
    if (node.terms.length > 0 && !this.#isInsideKatakana(start)) {
      for (const term of node.terms) {
        // A disguised term is not harmless.
        if (term.termClass === 'neutral' && this.#isDisguised(start, end)) continue;
        this.#add(term, start, end);
      }
    }
    const goesOn = node.words !== null || node.beginnings !== null;
    if (goesOn && end < this.#words.length) this.#follow(node, start, end);
  }

  #isDisguised(start: number, end: number): boolean {
    const isMasked = ({ text }: Word) => A_LETTER.test(text) && A_SIGN.test(text);
    for (let at = start; at < end; at++) if (isMasked(this.#words[at]!)) return true;
    return false;
  }

  /** Katakana writes foreign words, many of which contain a term's sounds: フロリダ. */
  #isInsideKatakana(start: number): boolean {
    const before = this.#words[start - 1];
    const word = this.#words[start]!;
    if (before === undefined || !word.glued || word.text.length > 1) return false;
    return KATAKANA.test(word.text) && KATAKANA.test(before.text);
  }

  /** Finds a term in pieces: `n a k e d`, `n-u-d-e`, `na ked`. A single sign may stand for a letter. */
  #addPieced(at: number): void {
    const { hidden, hiddenBeginnings } = this.#lexicon;
    const first = this.#words[at]!;
    let asWritten = first.text;
    let asLetters = letters(first);
    let allSmall = asWritten.length <= 3;
    let allSingle = asWritten.length === 1;
    for (let end = at + 1; end < this.#words.length; end++) {
      if (!hiddenBeginnings.has(asWritten)) {
        if (asLetters === asWritten || !hiddenBeginnings.has(asLetters)) return;
      }
      const word = this.#words[end]!;
      const { length } = word.text;
      if (word.sentence !== first.sentence) return;
      allSmall &&= length <= 3;
      allSingle &&= length === 1;
      if (!word.glued && !allSmall && end > at + 1) return;
      asWritten += word.text;
      asLetters += letters(word);
      if (asWritten.length < (allSingle || word.glued ? 3 : 4)) continue;
      const terms = hidden.get(asWritten) ?? hidden.get(asLetters);
      if (terms !== undefined) for (const term of terms) this.#add(term, at, end + 1);
    }
  }

  /** Finds two terms written as one word. */
  #addFused(at: number): void {
    const { hidden, hiddenBeginnings } = this.#lexicon;
    for (const text of this.#words[at]!.readings) {
      if (text.length < FUSED.least || text.length > FUSED.most) continue;
      for (let cut = 3; cut <= text.length - 3; cut++) {
        const start = text.slice(0, cut);
        if (!hiddenBeginnings.has(start)) break;
        const first = hidden.get(start);
        const second = first && hidden.get(text.slice(cut));
        if (first === undefined || second === undefined) continue;
        for (const term of first) this.#add(term, at, at + 1);
        for (const term of second) this.#add(term, at, at + 1);
      }
    }
  }
}

const letters = (word: Word): string =>
  word.text.length === 1 ? word.readings.at(-1)! : word.text;

function withoutNeutral(found: readonly TermHit[]): TermHit[] {
  // The end of the neutral phrase that reaches furthest, by the word where phrases begin.
  const covered = new Map<number, number>();
  for (const { termClass, start, end } of found) {
    if (termClass === 'neutral') covered.set(start, Math.max(covered.get(start) ?? 0, end));
  }
  let reach = 0;
  let at = -1;
  return found.filter(({ termClass, start, end }) => {
    if (start !== at) {
      at = start;
      reach = Math.max(reach, covered.get(start) ?? 0);
    }
    return termClass !== 'neutral' && end > reach;
  });
}
