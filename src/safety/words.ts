import { normalise } from './normalise.ts';
import { readingsOf } from './spellings.ts';

/** A word of a prompt, or one character of a script without spaces. */
export interface Word {
  readonly text: string;
  /** The text and its other readings: letters for digits, no repeated letters, no particles. */
  readonly readings: readonly string[];
  /** Whether there is no space before it: `mole-rat`, `n.u`. */
  readonly glued: boolean;
  /** Number of its sentence, which ends at a full stop, question or exclamation mark or line end. */
  readonly sentence: number;
  /** Number of its part between commas and the like, counted through the whole prompt. */
  readonly segment: number;
}

type Kind = number;
const UNKNOWN: Kind = 0;
const SPACE: Kind = 1;
const LETTER: Kind = 2;
const SIGN: Kind = 3;
const ALONE: Kind = 4;
const STOP: Kind = 5;
const BORDER: Kind = 6;
const OTHER: Kind = 7;

const STOPS = new Set('.!?;\n\r。！？｡；।॥؟۔…‼⁉');
/** Stops that also occur inside words and numbers: `3.5`, `n.u`. */
const INNER_STOPS = codesOf('.!?;');
const BORDERS = new Set(',:()[]{}"“”«»„、，：（）「」『』【】،؛–—•·');
/** Signs that count as letters inside a word. */
const SIGNS = new Set('@$*€|+£');
/** Signs that count as letters also at either end; the others are markup there: `*emphasis*`. */
const OUTER_SIGNS = codesOf('@$€£');
const STAR = 0x2a;
const PLUS = 0x2b;
const EXCLAMATION = 0x21;

const BLANK = /\s/u;
const LETTERS = /[\p{L}\p{N}\p{M}]/u;
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{Extended_Pictographic}]/u;

/** Cached kind of each character. */
const KINDS = new Uint8Array(0x110000);

function codesOf(characters: string): ReadonlySet<number> {
  return new Set(Array.from(characters, (character) => character.codePointAt(0)!));
}

/** The kind of the character at an index; a stop at the end of the text. */
function kindAt(text: string, at: number): Kind {
  const code = text.codePointAt(at);
  if (code === undefined) return STOP;
  const known = KINDS[code]!;
  if (known !== UNKNOWN) return known;
  const kind = classify(String.fromCodePoint(code));
  KINDS[code] = kind;
  return kind;
}

function classify(character: string): Kind {
  if (STOPS.has(character)) return STOP;
  if (BORDERS.has(character)) return BORDER;
  if (SIGNS.has(character)) return SIGN;
  if (BLANK.test(character)) return SPACE;
  if (UNSPACED.test(character)) return ALONE;
  return LETTERS.test(character) ? LETTER : OTHER;
}

/** Splits a prompt into words, in one pass over its characters. */
export function wordsOf(prompt: string): Word[] {
  const normalised = normalise(prompt);
  const words: Word[] = [];
  let sentence = 0;
  let segment = 0;
  let glued = false;
  for (let at = 0; at < normalised.length; ) {
    const kind = kindAt(normalised, at);
    const end = wordEnd(normalised, at, kind);
    if (end > at) {
      const text = normalised.slice(at, end);
      const readings = kind === ALONE ? [text] : readingsOf(text);
      words.push({ text, readings, glued, sentence, segment });
      glued = true;
      at = end;
      continue;
    }
    if (kind === STOP && !isInner(normalised, at)) {
      sentence++;
      segment++;
      glued = false;
    } else if (kind === BORDER) {
      segment++;
    } else if (kind === SPACE) {
      glued = false;
    }
    at += widthAt(normalised, at);
  }
  return words;
}

/** The texts of the words of a normalised text. */
export function textsOf(normalised: string): string[] {
  const texts: string[] = [];
  for (let at = 0; at < normalised.length; ) {
    const end = wordEnd(normalised, at, kindAt(normalised, at));
    if (end > at) texts.push(normalised.slice(at, end));
    at = end > at ? end : at + widthAt(normalised, at);
  }
  return texts;
}

/** Code units of the character at an index. */
const widthAt = (text: string, at: number): number => (text.codePointAt(at)! > 0xffff ? 2 : 1);

function isInner(text: string, at: number): boolean {
  return INNER_STOPS.has(text.charCodeAt(at)) && kindAt(text, at + 1) === LETTER;
}

/** End of the word that begins at an index; the index itself if none does. */
function wordEnd(text: string, start: number, kind: Kind): number {
  const first = start + widthAt(text, start);
  if (kind === ALONE) return first;
  const begins =
    kind === LETTER ||
    (kind === SIGN && OUTER_SIGNS.has(text.charCodeAt(start)) && kindAt(text, first) === LETTER);
  if (!begins) return start;
  for (let at = first; ; ) {
    const inner = kindAt(text, at);
    if (inner === LETTER) {
      at += widthAt(text, at);
      continue;
    }
    const code = text.charCodeAt(at);
    if (inner !== SIGN && code !== EXCLAMATION) return at;
    const next = kindAt(text, at + 1);
    if (next !== LETTER) {
      // `18+` is an age; an exclamation mark is a letter only between letters: `l!ke`.
      const isLast = OUTER_SIGNS.has(code) || code === PLUS;
      if (inner !== SIGN || !(isLast || (code === STAR && next === SIGN))) return at;
    }
    at += 1;
  }
}
