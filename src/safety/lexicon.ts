import { LANGUAGES } from './languages.ts';
import { SQUEEZED, squeeze } from './spellings.ts';
import { TERM_CLASSES, type TermClass } from './terms.ts';
import { type Word, wordsOf } from './words.ts';

/** A term found in a prompt. */
export interface Hit {
  readonly termClass: TermClass;
  readonly language: string;
  /** The first word, and the one after the last. */
  readonly start: number;
  readonly end: number;
}

interface Term {
  readonly termClass: TermClass;
  readonly language: string;
  /** Counts only where the prompt shows the term's language. */
  readonly needsEvidence: boolean;
}

interface Node {
  readonly terms: Term[];
  readonly next: Map<string, Node>;
  /** By beginnings of words. */
  readonly beginnings: Map<string, Node>;
  /** The lengths of those beginnings, the longest first, by their first two letters. */
  readonly lengths: Map<string, number[]>;
}

interface Found extends Hit {
  readonly needsEvidence: boolean;
}

/** Letters with digits or signs for some of them. */
const MASKED = /\p{L}.*[*@$€!|0-9]|[*@$€!|0-9].*\p{L}/u;
const KATAKANA = /^[\u30a1-\u30fa\u30fc]$/;

/** Words written as one are looked for in words of these lengths. */
const FUSED = { least: 7, most: 28 } as const;

/** Classes whose terms are looked for in disguise: two words pulled apart or written as one. */
const DISGUISED: ReadonlySet<TermClass> = new Set<TermClass>([
  ...(['minor', 'youth', 'private', 'area', 'exposure'] as const),
  ...(['nudity', 'suggestive', 'sexual'] as const),
]);

const ROOT = compile();
/** The terms of one word that are looked for in disguise, and all that such a word begins with. */
const HIDDEN = hiddenTerms();
const HIDDEN_BEGINNINGS = new Set(
  [...HIDDEN.keys()].flatMap((word) => Array.from(word, (_, index) => word.slice(0, index + 1))),
);

function newNode(): Node {
  return { terms: [], next: new Map(), beginnings: new Map(), lengths: new Map() };
}

function hiddenTerms(): ReadonlyMap<string, Term[]> {
  const hidden = new Map<string, Term[]>();
  for (const [word, { terms }] of [...ROOT.next, ...ROOT.beginnings]) {
    const meant = terms.filter(({ termClass }) => DISGUISED.has(termClass));
    if (meant.length > 0) hidden.set(word, [...(hidden.get(word) ?? []), ...meant]);
  }
  return hidden;
}

function compile(): Node {
  const root = newNode();
  for (const { code, terms } of LANGUAGES) {
    for (const termClass of TERM_CLASSES) {
      for (const written of (terms[termClass] ?? '').split(',')) {
        const spelled = written.trim();
        if (spelled !== '') insert(root, spelled, termClass, code);
      }
    }
  }
  return root;
}

function insert(root: Node, spelled: string, termClass: TermClass, language: string): void {
  const needsEvidence = spelled.startsWith('~');
  let nodes = [root];
  for (const part of spelled.replace('~', '').split(' ')) {
    const isBeginning = part.endsWith('*');
    const words = wordsOf(isBeginning ? part.slice(0, -1) : part);
    words.forEach((word, index) => {
      const open = isBeginning && index === words.length - 1;
      const spellings = [word.text];
      if (word.text.length >= 4) spellings.push(SQUEEZED + squeeze(word.text));
      nodes = nodes.flatMap((node) =>
        [...new Set(spellings)].map((text) => child(node, text, open)),
      );
    });
  }
  for (const node of nodes) node.terms.push({ termClass, language, needsEvidence });
}

function child(node: Node, text: string, open: boolean): Node {
  const children = open ? node.beginnings : node.next;
  let found = children.get(text);
  if (found === undefined) {
    found = newNode();
    children.set(text, found);
  }
  if (open) {
    const first = text.slice(0, 2);
    const lengths = new Set([...(node.lengths.get(first) ?? []), text.length]);
    node.lengths.set(
      first,
      [...lengths].sort((one, other) => other - one),
    );
  }
  return found;
}

/** All terms in a prompt, in the order of their first words, without those inside neutral phrases. */
export function findTerms(words: readonly Word[]): Hit[] {
  const found: Found[] = [];
  words.forEach((word, at) => {
    const before = found.length;
    follow(ROOT, words, at, at, found);
    addPieced(words, at, found);
    if (found.length === before) addFused(word, at, found);
  });
  const languages = new Set(
    found.flatMap(({ needsEvidence, language }) => (needsEvidence ? [] : [language])),
  );
  const meant = found.filter(
    ({ needsEvidence, language }) => !needsEvidence || languages.has(language),
  );
  return withoutNeutral(meant);
}

/** Walks the terms that go on at a word. As deep as the longest term has words. */
function follow(
  node: Node,
  words: readonly Word[],
  start: number,
  at: number,
  found: Found[],
): void {
  for (const reading of words[at]!.readings) {
    const exact = node.next.get(reading);
    if (exact !== undefined) arrive(exact, words, start, at + 1, found);
    const lengths = node.lengths.get(reading.slice(0, 2));
    for (const length of lengths ?? []) {
      if (length > reading.length) continue;
      const begun = node.beginnings.get(reading.slice(0, length));
      if (begun === undefined) continue;
      arrive(begun, words, start, at + 1, found);
      break;
    }
  }
}

function arrive(
  node: Node,
  words: readonly Word[],
  start: number,
  end: number,
  found: Found[],
): void {
  if (node.terms.length > 0 && !isInsideKatakana(words, start)) {
    for (const term of node.terms) {
      // What is written in disguise is not meant harmlessly.
      const isFeigned = term.termClass === 'neutral' && isDisguised(words, start, end);
      if (!isFeigned) found.push({ ...term, start, end });
    }
  }
  const goesOn = node.next.size > 0 || node.beginnings.size > 0;
  if (goesOn && end < words.length) follow(node, words, start, end, found);
}

function isDisguised(words: readonly Word[], start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (MASKED.test(words[at]!.text)) return true;
  return false;
}

/** Words in katakana are foreign ones, and many hold another one's sounds: フロリダ. */
function isInsideKatakana(words: readonly Word[], start: number): boolean {
  const before = words[start - 1];
  if (before === undefined || !words[start]!.glued) return false;
  return KATAKANA.test(words[start]!.text) && KATAKANA.test(before.text);
}

/** A term in pieces: `n a k e d`, `n-u-d-e`, `na ked`. Each piece is read as a letter if it can be. */
function addPieced(words: readonly Word[], at: number, found: Found[]): void {
  const first = words[at]!;
  let asWritten = first.text;
  let asLetters = letters(first);
  let allSmall = asWritten.length <= 3;
  let allSingle = asWritten.length === 1;
  for (let end = at + 1; end < words.length; end++) {
    if (!HIDDEN_BEGINNINGS.has(asWritten) && !HIDDEN_BEGINNINGS.has(asLetters)) return;
    const word = words[end]!;
    const { length } = word.text;
    if (word.sentence !== first.sentence) return;
    allSmall &&= length <= 3;
    allSingle &&= length === 1;
    if (!word.glued && !allSmall && end > at + 1) return;
    asWritten += word.text;
    asLetters += letters(word);
    if (asWritten.length < (allSingle || word.glued ? 3 : 4)) continue;
    const terms = HIDDEN.get(asWritten) ?? HIDDEN.get(asLetters) ?? [];
    for (const term of terms) found.push({ ...term, start: at, end: end + 1 });
  }
}

function letters(word: Word): string {
  return word.text.length === 1 ? word.readings.at(-1)! : word.text;
}

/** Two terms written as one word. */
function addFused(word: Word, at: number, found: Found[]): void {
  for (const text of word.readings) {
    if (text.length < FUSED.least || text.length > FUSED.most) continue;
    for (let cut = 3; cut <= text.length - 3; cut++) {
      const start = text.slice(0, cut);
      if (!HIDDEN_BEGINNINGS.has(start)) break;
      const first = HIDDEN.get(start);
      const second = first && HIDDEN.get(text.slice(cut));
      if (first === undefined || second === undefined) continue;
      for (const term of [...first, ...second]) found.push({ ...term, start: at, end: at + 1 });
    }
  }
}

function withoutNeutral(found: readonly Found[]): Hit[] {
  // The end of the neutral phrase that reaches furthest, by the word where phrases begin.
  let reach = 0;
  const covered = new Map<number, number>();
  for (const { termClass, start, end } of found) {
    if (termClass === 'neutral') covered.set(start, Math.max(covered.get(start) ?? 0, end));
  }
  if (covered.size === 0) return [...found];
  let at = -1;
  return found.filter(({ termClass, start, end }) => {
    if (start !== at) {
      at = start;
      reach = Math.max(reach, covered.get(start) ?? 0);
    }
    return termClass !== 'neutral' && !(end <= reach);
  });
}
