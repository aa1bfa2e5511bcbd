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
  shortest: number;
  longest: number;
}

interface Found extends Hit {
  readonly needsEvidence: boolean;
}

/** Letters with digits or signs for some of them. */
const MASKED = /\p{L}.*[*@$€!|0-9]|[*@$€!|0-9].*\p{L}/u;
const KATAKANA = /^[\u30a1-\u30fa\u30fc]$/;

/** Letters that one term may be spread over when it is written in pieces. */
const LONGEST_PIECED = 24;
/** Words written as one are looked for in words of these lengths. */
const FUSED = { least: 7, most: 28 } as const;

/** Classes whose terms are looked for in disguise: two words pulled apart or written as one. */
const DISGUISED: ReadonlySet<TermClass> = new Set<TermClass>([
  ...(['minor', 'youth', 'private', 'area', 'exposure'] as const),
  ...(['nudity', 'suggestive', 'sexual'] as const),
]);

const ROOT = compile();

function newNode(): Node {
  return { terms: [], next: new Map(), beginnings: new Map(), shortest: 99, longest: 0 };
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
      if (!open && word.text.length >= 4) spellings.push(SQUEEZED + squeeze(word.text));
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
    node.shortest = Math.min(node.shortest, text.length);
    node.longest = Math.max(node.longest, text.length);
  }
  return found;
}

/** All terms in a prompt, in the order of their first words, without those inside neutral phrases. */
export function findTerms(words: readonly Word[]): Hit[] {
  const found: Found[] = [];
  words.forEach((_, at) => {
    follow(ROOT, words, at, at, found);
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
  for (const [next, end] of steps(node, words, at, found)) {
    if (next.terms.length > 0 && !isInsideKatakana(words, start)) {
      for (const term of next.terms) {
        // What is written in disguise is not meant harmlessly.
        const isFeigned = term.termClass === 'neutral' && isDisguised(words, start, end);
        if (!isFeigned) found.push({ ...term, start, end });
      }
    }
    if (next.next.size > 0 || next.beginnings.size > 0) {
      if (end < words.length) follow(next, words, start, end, found);
    }
  }
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

function steps(node: Node, words: readonly Word[], at: number, found: Found[]): [Node, number][] {
  const reached: [Node, number][] = [];
  const word = words[at]!;
  for (const reading of word.readings) {
    const exact = node.next.get(reading);
    if (exact !== undefined) reached.push([exact, at + 1]);
    const longest = Math.min(node.longest, reading.length);
    for (let length = longest; length >= node.shortest; length--) {
      const begun = node.beginnings.get(reading.slice(0, length));
      if (begun === undefined) continue;
      reached.push([begun, at + 1]);
      break;
    }
  }
  if (node === ROOT) {
    addPieced(words, at, reached);
    if (reached.length === 0) addFused(word, at, found);
  }
  return reached;
}

/** A term in pieces: `n a k e d`, `n-u-d-e`, `na ked`. Each piece is read as a letter if it can be. */
function addPieced(words: readonly Word[], at: number, reached: [Node, number][]): void {
  let asWritten = words[at]!.text;
  let asLetters = letters(words[at]!);
  let allSmall = asWritten.length <= 3;
  let allSingle = asWritten.length === 1;
  for (let end = at + 1; end < words.length && asWritten.length < LONGEST_PIECED; end++) {
    const word = words[end]!;
    if (word.sentence !== words[at]!.sentence) return;
    allSmall &&= word.text.length <= 3;
    allSingle &&= word.text.length === 1;
    if (!word.glued && !allSmall && end > at + 1) return;
    asWritten += word.text;
    asLetters += letters(word);
    if (asWritten.length < (allSingle || word.glued ? 3 : 4)) continue;
    for (const joined of new Set([asWritten, asLetters])) {
      const whole = ROOT.next.get(joined);
      const isMeant = whole?.terms.some(({ termClass }) => DISGUISED.has(termClass)) ?? false;
      if (isMeant) reached.push([whole!, end + 1]);
    }
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
      const first = disguised(text.slice(0, cut));
      if (first.length === 0) continue;
      const second = disguised(text.slice(cut));
      if (second.length === 0) continue;
      for (const term of [...first, ...second]) found.push({ ...term, start: at, end: at + 1 });
    }
  }
}

function disguised(text: string): Term[] {
  return (ROOT.next.get(text)?.terms ?? []).filter(({ termClass }) => DISGUISED.has(termClass));
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
