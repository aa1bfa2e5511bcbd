import { setImmediate } from 'node:timers/promises';
import { normalise } from './normalise.ts';
import { SQUEEZED, squeeze } from './spellings.ts';
import { canViolate, TERM_CLASSES, type TermClass } from './terms.ts';
import {
  LANGUAGE_CODES,
  type LanguageCode,
  type LanguageTerms,
  languageTerms,
} from './word-lists.ts';
import { textsOf } from './words.ts';

/** How a language orders and separates words, as far as the rules need it. */
export type Grammar = 'english' | 'spaced' | 'unspaced';

/** A meaning of a term, shared by all languages in which it means the same. */
export interface Term {
  readonly termClass: TermClass;
  readonly grammar: Grammar;
  /** Bit set of languages. */
  readonly languages: number;
  /** Whether it counts only in prompts that show one of its languages. */
  readonly needsEvidence: boolean;
}

/** A node of the trie of terms, whose edges are words. */
export interface Node {
  /** Terms that end here. */
  terms: readonly Term[];
  /** Whether a term that ends here or below can be a violation. */
  leadsToViolation: boolean;
  /** Children by whole words. */
  words: Map<string, Node> | null;
  /** Children by beginnings of words. */
  beginnings: Map<string, Node> | null;
  /** Lengths of those beginnings, the longest first, by their first two letters. */
  lengths: Map<number, number[]> | null;
  /** Next sibling that is the same without double letters: `goose`, `gosse`. */
  nextSqueezed: Node | null;
}

export interface Lexicon {
  readonly root: Node;
  /** Terms of one word that are also searched in disguise, by the word. */
  readonly hidden: ReadonlyMap<string, readonly Term[]>;
  /** All prefixes of those words. */
  readonly hiddenBeginnings: ReadonlySet<string>;
}

/** Classes whose terms are also searched in disguise: pulled apart, or two written as one word. */
const DISGUISED: ReadonlySet<TermClass> = new Set<TermClass>([
  ...(['minor', 'youth', 'private', 'area', 'exposure'] as const),
  ...(['nudity', 'suggestive', 'sexual'] as const),
]);

/** Classes for whose terms the rules need the grammar of the language. */
const GRAMMATICAL: ReadonlySet<TermClass> = new Set<TermClass>(['area', 'soft', 'exposure']);
/** Languages written without spaces. */
const UNSPACED: ReadonlySet<LanguageCode> = new Set<LanguageCode>(['zh', 'ja']);

const NO_TERMS: readonly Term[] = [];
const PLAIN = /^[a-z]+$/;
/** Fewest letters of a word that is also searched without double letters. */
const SQUEEZABLE = 4;

/** The first two letters of a word as one number. */
export function pairOf(word: string): number {
  return word.length === 1 ? word.charCodeAt(0) : word.charCodeAt(0) * 0x10000 + word.charCodeAt(1);
}

/** Compiles the terms of all languages, and yields between parts of the work. */
function* compile(): Generator<void, Lexicon> {
  const root = newNode();
  for (const [index, code] of LANGUAGE_CODES.entries()) {
    const terms = languageTerms(code);
    yield;
    for (const termClass of TERM_CLASSES) {
      insertAll(root, terms, termClass, { code, bit: 1 << index });
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

/** Adds the terms of one word that are searched in disguise. */
function hide(
  word: string,
  node: Node,
  hidden: Map<string, readonly Term[]>,
  beginnings: Set<string>,
): void {
  const terms = nodesSharing(node, word).flatMap((each) => each.terms);
  const disguised = terms.filter(({ termClass }) => DISGUISED.has(termClass));
  if (disguised.length === 0) return;
  hidden.set(word, disguised.concat(hidden.get(word) ?? []));
  for (let end = word.length; end > 0; end--) {
    const beginning = word.slice(0, end);
    // Then its own prefixes are there, too.
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

/** The terms of all languages. Compiles the rest if needed, which takes 40 to 150 ms. */
export function lexicon(): Lexicon {
  while (compiled === null) compileMore();
  return compiled;
}

/** Compile time in one turn of the event loop, in milliseconds. */
const SLICE_MS = 2;

/** Compiles the terms in slices, one in every turn of the event loop, so that requests do not wait. */
export async function prepareLexicon(): Promise<void> {
  while (compiled === null) {
    const end = performance.now() + SLICE_MS;
    while (compiled === null && performance.now() < end) compileMore();
    await setImmediate();
  }
}

/** The node found by a reading and, for a reading without double letters, those that share it. */
export function nodesSharing(node: Node, reading: string): readonly Node[] {
  if (node.nextSqueezed === null || !reading.startsWith(SQUEEZED)) return [node];
  const nodes: Node[] = [];
  for (let each: Node | null = node; each !== null; each = each.nextSqueezed) nodes.push(each);
  return nodes;
}

function newNode(): Node {
  return {
    terms: NO_TERMS,
    leadsToViolation: false,
    words: null,
    beginnings: null,
    lengths: null,
    nextSqueezed: null,
  };
}

/** Inserts the terms of one class of one language. */
function insertAll(
  root: Node,
  terms: LanguageTerms,
  termClass: TermClass,
  { code, bit }: { readonly code: LanguageCode; readonly bit: number },
): void {
  const written = terms[termClass];
  if (written === undefined) return;
  let grammar: Grammar = 'spaced';
  if (GRAMMATICAL.has(termClass)) {
    if (code === 'en') grammar = 'english';
    else if (UNSPACED.has(code)) grammar = 'unspaced';
  }
  // Most nodes have one term, so that they share one array.
  const certain = [{ termClass, grammar, languages: bit, needsEvidence: false }];
  const doubtful = [{ termClass, grammar, languages: bit, needsEvidence: true }];
  const violates = canViolate(termClass);
  if (violates) root.leadsToViolation = true;
  // One call for all terms takes a tenth of the time of a call for each.
  for (const term of normalise(written.join('\n')).split('\n')) {
    const needsEvidence = term.startsWith('~');
    const node = nodeOf(root, needsEvidence ? term.slice(1) : term, violates);
    const added = needsEvidence ? doubtful : certain;
    node.terms = node.terms.length === 0 ? added : mergeTerm(node.terms, added[0]!);
  }
}

/** Merges a term into those of a node: one that means the same in several languages is one term. */
function mergeTerm(terms: readonly Term[], added: Term): readonly Term[] {
  const isSame = ({ termClass, grammar, needsEvidence }: Term) =>
    termClass === added.termClass &&
    grammar === added.grammar &&
    !(needsEvidence || added.needsEvidence);
  if (!terms.some(isSame)) return [...terms, added];
  return terms.map((term) =>
    isSame(term) ? { ...term, languages: term.languages | added.languages } : term,
  );
}

/** The node where a term ends, made if there is none. */
function nodeOf(root: Node, term: string, violates: boolean): Node {
  let node = root;
  for (const part of term.split(' ')) {
    const isOpen = part.endsWith('*');
    const bare = isOpen ? part.slice(0, -1) : part;
    const words = PLAIN.test(bare) ? [bare] : textsOf(bare);
    for (let index = 0; index < words.length; index++) {
      node = child(node, words[index]!, isOpen && index === words.length - 1);
      if (violates) node.leadsToViolation = true;
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
  while (last.nextSqueezed !== null) last = last.nextSqueezed;
  last.nextSqueezed = found;
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
