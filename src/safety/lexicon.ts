import { setImmediate } from 'node:timers/promises';
import { LANGUAGES } from './languages.ts';
import { normalise } from './normalise.ts';
import { SQUEEZED, squeeze } from './spellings.ts';
import { canViolate, type Language, TERM_CLASSES, type TermClass } from './terms.ts';
import { textsOf } from './words.ts';

/** How a language puts words together, as far as the rules ask. */
export type Grammar = 'english' | 'spaced' | 'unspaced';

/** What a term means, in all the languages that have it and agree about that. */
export interface Term {
  readonly termClass: TermClass;
  readonly grammar: Grammar;
  /** A bit for each language. */
  readonly languages: number;
  /** Counts only where the prompt shows the term's language. */
  readonly needsEvidence: boolean;
}

/** Where the words of a prompt have led so far. */
export interface Node {
  /** What ends here. */
  terms: readonly Term[];
  /** Whether anything that ends here or further on may be a violation. */
  leadsToViolation: boolean;
  words: Map<string, Node> | null;
  /** By beginnings of words. */
  beginnings: Map<string, Node> | null;
  /** The lengths of those beginnings, the longest first, by the pair of letters they begin with. */
  lengths: Map<number, number[]> | null;
  /** The next one of those that cannot be told apart without their double letters: `goose`, `gosse`. */
  also: Node | null;
}

export interface Lexicon {
  readonly root: Node;
  /** The terms of one word that are looked for in disguise. */
  readonly hidden: ReadonlyMap<string, readonly Term[]>;
  /** All that such a word begins with. */
  readonly hiddenBeginnings: ReadonlySet<string>;
}

/** Classes whose terms are looked for in disguise: two words pulled apart or written as one. */
const DISGUISED: ReadonlySet<TermClass> = new Set<TermClass>([
  ...(['minor', 'youth', 'private', 'area', 'exposure'] as const),
  ...(['nudity', 'suggestive', 'sexual'] as const),
]);

/** Classes for which it matters how the term's language puts words together. */
const GRAMMATICAL: ReadonlySet<TermClass> = new Set<TermClass>(['area', 'soft', 'exposure']);
const UNSPACED = new Set(['zh', 'ja']);

const NO_TERMS: readonly Term[] = [];
const PLAIN = /^[a-z]+$/;
/** Words shorter than this are not looked for without their double letters. */
const SQUEEZABLE = 4;

/** The first two letters of a word as one number. */
export function pairOf(word: string): number {
  return word.length === 1 ? word.charCodeAt(0) : word.charCodeAt(0) * 0x10000 + word.charCodeAt(1);
}

/** Compiles the terms of all languages. Stops after some, to go on when asked. */
function* compile(): Generator<void, Lexicon> {
  const root = newNode();
  for (const [index, language] of LANGUAGES.entries()) {
    for (const termClass of TERM_CLASSES) {
      insertAll(root, language, termClass, 1 << index);
      yield;
    }
  }
  const hidden = new Map<string, readonly Term[]>();
  const hiddenBeginnings = new Set<string>();
  for (const children of [root.words, root.beginnings]) {
    for (const [word, node] of children ?? []) {
      hide(word, node, hidden, hiddenBeginnings);
      if (hidden.size % 100 === 0) yield;
    }
  }
  return { root, hidden, hiddenBeginnings };
}

/** Adds the terms of one word that are looked for in disguise. */
function hide(
  word: string,
  node: Node,
  hidden: Map<string, readonly Term[]>,
  beginnings: Set<string>,
): void {
  const terms = nodesBehind(node, word).flatMap((each) => each.terms);
  const meant = terms.filter(({ termClass }) => DISGUISED.has(termClass));
  if (meant.length === 0) return;
  hidden.set(word, meant.concat(hidden.get(word) ?? []));
  for (let end = word.length; end > 0; end--) {
    const beginning = word.slice(0, end);
    // Then those of the beginning are there, too.
    if (beginnings.has(beginning)) return;
    beginnings.add(beginning);
  }
}

let compiling: Generator<void, Lexicon> | null = null;
let compiled: Lexicon | null = null;

function compileMore(): void {
  compiling ??= compile();
  const { done, value } = compiling.next();
  if (done) compiled = value;
}

/** The terms of all languages. What is not compiled yet is compiled now, which takes 40 ms at most. */
export function lexicon(): Lexicon {
  while (compiled === null) compileMore();
  return compiled;
}

/** Milliseconds of one turn of the event loop that compiling may take. */
const SLICE = 2;

/** Compiles the terms a little in every turn of the event loop, so that nobody has to wait for it. */
export async function prepareLexicon(): Promise<void> {
  while (compiled === null) {
    const end = performance.now() + SLICE;
    while (compiled === null && performance.now() < end) compileMore();
    await setImmediate(undefined, { ref: false });
  }
}

/** The node that was found by a reading, and those that it cannot be told apart from in that reading. */
export function nodesBehind(node: Node, reading: string): readonly Node[] {
  if (node.also === null || !reading.startsWith(SQUEEZED)) return [node];
  const nodes: Node[] = [];
  for (let each: Node | null = node; each !== null; each = each.also) nodes.push(each);
  return nodes;
}

function newNode(): Node {
  return {
    terms: NO_TERMS,
    leadsToViolation: false,
    words: null,
    beginnings: null,
    lengths: null,
    also: null,
  };
}

/** @param bit the language's */
function insertAll(root: Node, { code, terms }: Language, termClass: TermClass, bit: number): void {
  const written = terms[termClass];
  if (written === undefined) return;
  let grammar: Grammar = 'spaced';
  if (GRAMMATICAL.has(termClass)) {
    if (code === 'en') grammar = 'english';
    else if (UNSPACED.has(code)) grammar = 'unspaced';
  }
  // Most nodes have one term, and share it.
  const sure = [{ termClass, grammar, languages: bit, needsEvidence: false }];
  const doubtful = [{ termClass, grammar, languages: bit, needsEvidence: true }];
  const canViolateRules = canViolate(termClass);
  if (canViolateRules) root.leadsToViolation = true;
  // All at once, which takes a tenth of the time that one by one does.
  for (const spelled of normalise(written).split(',')) {
    const term = spelled.trim();
    if (term === '') continue;
    const needsEvidence = term.startsWith('~');
    const node = nodeOf(root, needsEvidence ? term.slice(1) : term, canViolateRules);
    const added = needsEvidence ? doubtful : sure;
    node.terms = node.terms.length === 0 ? added : together(node.terms, added[0]!);
  }
}

/** Terms that mean the same in several languages are one. */
function together(terms: readonly Term[], added: Term): readonly Term[] {
  const isSame = ({ termClass, grammar, needsEvidence }: Term) =>
    termClass === added.termClass &&
    grammar === added.grammar &&
    !(needsEvidence || added.needsEvidence);
  if (!terms.some(isSame)) return [...terms, added];
  return terms.map((term) =>
    isSame(term) ? { ...term, languages: term.languages | added.languages } : term,
  );
}

/** Where a term ends. */
function nodeOf(root: Node, term: string, canViolateRules: boolean): Node {
  let node = root;
  for (const part of term.split(' ')) {
    const isOpen = part.endsWith('*');
    const bare = isOpen ? part.slice(0, -1) : part;
    const words = PLAIN.test(bare) ? [bare] : textsOf(bare);
    for (let index = 0; index < words.length; index++) {
      node = child(node, words[index]!, isOpen && index === words.length - 1);
      if (canViolateRules) node.leadsToViolation = true;
    }
  }
  return node;
}

function child(node: Node, word: string, open: boolean): Node {
  let children = open ? node.beginnings : node.words;
  if (children === null) {
    children = new Map();
    if (open) node.beginnings = children;
    else node.words = children;
  }
  let found = children.get(word);
  if (found !== undefined) return found;
  found = newNode();
  children.set(word, found);
  if (open) addLength(node, word);
  if (word.length < SQUEEZABLE) return found;
  const squeezed = SQUEEZED + squeeze(word);
  let last = children.get(squeezed);
  if (last === undefined) {
    children.set(squeezed, found);
    if (open) addLength(node, squeezed);
    return found;
  }
  while (last.also !== null) last = last.also;
  last.also = found;
  return found;
}

function addLength(node: Node, word: string): void {
  node.lengths ??= new Map();
  const pair = pairOf(word);
  const lengths = node.lengths.get(pair);
  if (lengths === undefined) {
    node.lengths.set(pair, [word.length]);
  } else if (!lengths.includes(word.length)) {
    lengths.push(word.length);
    lengths.sort((one, other) => other - one);
  }
}
