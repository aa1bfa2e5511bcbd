import { setImmediate } from 'node:timers/promises';
import { LANGUAGES } from './languages.ts';
import { normalise } from './normalise.ts';
import { SQUEEZED, squeeze } from './spellings.ts';
import { isOffensive, type Language, TERM_CLASSES, type TermClass } from './terms.ts';
import { textsOf } from './words.ts';

/** How a language puts words together, as far as the rules ask. */
export type Grammar = 'english' | 'spaced' | 'unspaced';

/** What a term means, in all the languages that have it and agree about that. */
export interface Term {
  readonly termClass: TermClass;
  readonly grammar: Grammar;
  /** A bit for each language. */
  languages: number;
  /** Counts only where the prompt shows the term's language. */
  readonly needsEvidence: boolean;
}

/** Where the words of a prompt have led so far. */
export interface Node {
  /** What ends here. */
  readonly terms: Term[];
  /** Whether anything that ends here or further on may be an offence. */
  leadsToOffence: boolean;
  words: Map<string, Node> | null;
  /** By beginnings of words. */
  beginnings: Map<string, Node> | null;
  /** The lengths of those beginnings, the longest first, by the pair of letters they begin with. */
  lengths: Map<number, number[]> | null;
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

const PLAIN = /^[a-z]+$/;
/** Words shorter than this are not looked for without their double letters. */
const SQUEEZABLE = 4;

/** The first two letters of a word as one number. */
export function pairOf(word: string): number {
  return word.length === 1 ? word.charCodeAt(0) : word.charCodeAt(0) * 0x10000 + word.charCodeAt(1);
}

/** Compiles the terms of all languages. Stops after a few hundred terms at a time, to go on when asked. */
function* compile(): Generator<void, Lexicon> {
  const root = newNode();
  for (const [index, language] of LANGUAGES.entries()) {
    for (const termClass of TERM_CLASSES) insertAll(root, language, termClass, 1 << index);
    yield;
  }
  const hidden = new Map<string, Term[]>();
  const hiddenBeginnings = new Set<string>();
  for (const children of [root.words, root.beginnings]) {
    for (const [word, { terms }] of children ?? []) {
      const meant = terms.filter(({ termClass }) => DISGUISED.has(termClass));
      if (meant.length === 0) continue;
      hidden.set(word, [...(hidden.get(word) ?? []), ...meant]);
      for (let end = 1; end <= word.length; end++) hiddenBeginnings.add(word.slice(0, end));
    }
    yield;
  }
  return { root, hidden, hiddenBeginnings };
}

let compiling: Generator<void, Lexicon> | null = null;
let compiled: Lexicon | null = null;

function compileMore(): void {
  compiling ??= compile();
  const { done, value } = compiling.next();
  if (done) compiled = value;
}

/** The terms of all languages. What is not compiled yet is compiled now, which takes 30 ms at most. */
export function lexicon(): Lexicon {
  while (compiled === null) compileMore();
  return compiled;
}

/** Compiles the terms a little in every turn of the event loop, so that nobody has to wait for it. */
export async function prepareLexicon(): Promise<void> {
  while (compiled === null) {
    compileMore();
    await setImmediate(undefined, { ref: false });
  }
}

function newNode(): Node {
  return { terms: [], leadsToOffence: false, words: null, beginnings: null, lengths: null };
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
  const offends = isOffensive(termClass);
  // All at once, which takes a tenth of the time that one by one does.
  for (const spelled of normalise(written).split(',')) {
    const term = spelled.trim();
    if (term === '') continue;
    const needsEvidence = term.startsWith('~');
    for (const node of nodesOf(root, needsEvidence ? term.slice(1) : term, offends)) {
      const known = node.terms.find(
        (other) =>
          other.termClass === termClass &&
          other.grammar === grammar &&
          !other.needsEvidence &&
          !needsEvidence,
      );
      if (known) known.languages |= bit;
      else node.terms.push({ termClass, grammar, languages: bit, needsEvidence });
    }
  }
}

/** Where a term ends: as it is spelled, and with words that have lost their double letters. */
function nodesOf(root: Node, term: string, offends: boolean): Node[] {
  if (offends) root.leadsToOffence = true;
  let nodes = [root];
  for (const part of term.split(' ')) {
    const isOpen = part.endsWith('*');
    const bare = isOpen ? part.slice(0, -1) : part;
    const words = PLAIN.test(bare) ? [bare] : textsOf(bare);
    for (const [index, word] of words.entries()) {
      const open = isOpen && index === words.length - 1;
      const next: Node[] = [];
      for (const node of nodes) {
        next.push(child(node, word, open));
        if (word.length >= SQUEEZABLE) next.push(child(node, SQUEEZED + squeeze(word), open));
      }
      if (offends) for (const node of next) node.leadsToOffence = true;
      nodes = next;
    }
  }
  return nodes;
}

function child(node: Node, word: string, open: boolean): Node {
  let children = open ? node.beginnings : node.words;
  if (children === null) {
    children = new Map();
    if (open) node.beginnings = children;
    else node.words = children;
  }
  let found = children.get(word);
  if (found === undefined) {
    found = newNode();
    children.set(word, found);
    if (open) addLength(node, word);
  }
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
