import { normalise } from './normalise.ts';
import { readingsOf } from './spellings.ts';

/** A word of a prompt, or one character where a script puts no spaces. */
export interface Word {
  readonly text: string;
  /** The text and other readings of it: letters for digits, no repeated letters, no particles. */
  readonly readings: readonly string[];
  /** Whether no space parts it from the word before: `mole-rat`, `n.u`. */
  readonly glued: boolean;
  /** Parts between full stops, question and exclamation marks and line ends, from zero. */
  readonly sentence: number;
  /** Parts between commas and the like, counted through the whole prompt. */
  readonly segment: number;
}

type Kind = 'space' | 'letter' | 'sign' | 'alone' | 'stop' | 'border' | 'other';

const STOPS = new Set('.!?;\n\r。！？｡；।॥؟۔…‼⁉');
/** Stops that are also written inside words and numbers: `3.5`, `n.u`. */
const INNER_STOPS = new Set('.!?;');
const BORDERS = new Set(',:()[]{}"“”«»„、，：（）「」『』【】،؛–—•·');
/** Signs that are taken for letters inside a word. */
const SIGNS = new Set('@$*€|+£');
/** Those that are letters at either end, too; the others are marks there: `*emphasis*`. */
const OUTER_SIGNS = new Set('@$€£');
const SPACE = /\s/u;
const LETTER = /[\p{L}\p{N}\p{M}]/u;
const ALONE = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{Extended_Pictographic}]/u;

const KINDS = new Map<string, Kind>();

function kindOf(character: string | undefined): Kind {
  if (character === undefined) return 'stop';
  const known = KINDS.get(character);
  if (known !== undefined) return known;
  const kind = classify(character);
  // Bounded, because hostile prompts may hold every character there is.
  if (KINDS.size < 20_000) KINDS.set(character, kind);
  return kind;
}

function classify(character: string): Kind {
  if (STOPS.has(character)) return 'stop';
  if (BORDERS.has(character)) return 'border';
  if (SIGNS.has(character)) return 'sign';
  if (SPACE.test(character)) return 'space';
  if (ALONE.test(character)) return 'alone';
  return LETTER.test(character) ? 'letter' : 'other';
}

/** Splits a prompt into words, once over its characters. */
export function wordsOf(prompt: string): Word[] {
  const characters = Array.from(normalise(prompt));
  const words: Word[] = [];
  let sentence = 0;
  let segment = 0;
  let glued = false;
  const add = (text: string) => {
    words.push({ text, readings: readingsOf(text), glued, sentence, segment });
    glued = true;
  };
  let at = 0;
  while (at < characters.length) {
    const character = characters[at]!;
    const kind = kindOf(character);
    if (kind === 'alone') {
      add(character);
      at++;
    } else if (startsWord(characters, at, kind)) {
      const end = wordEnd(characters, at);
      add(characters.slice(at, end).join(''));
      at = end;
    } else {
      if (kind === 'stop' && !isInner(characters, at)) {
        sentence++;
        segment++;
        glued = false;
      } else if (kind === 'border') {
        segment++;
      } else if (kind === 'space') {
        glued = false;
      }
      at++;
    }
  }
  return words;
}

function isInner(characters: readonly string[], at: number): boolean {
  return INNER_STOPS.has(characters[at]!) && kindOf(characters[at + 1]) === 'letter';
}

function startsWord(characters: readonly string[], at: number, kind: Kind): boolean {
  if (kind === 'letter') return true;
  return OUTER_SIGNS.has(characters[at]!) && kindOf(characters[at + 1]) === 'letter';
}

function wordEnd(characters: readonly string[], start: number): number {
  let at = start + 1;
  for (; ; at++) {
    const kind = kindOf(characters[at]);
    if (kind === 'letter') continue;
    const next = kindOf(characters[at + 1]);
    // Between letters it is one: `l!ke`.
    if (characters[at] === '!' && next === 'letter') continue;
    if (kind !== 'sign') return at;
    // `18+` is an age.
    const isLast = OUTER_SIGNS.has(characters[at]!) || characters[at] === '+';
    if (next !== 'letter' && !(next === 'sign' && characters[at] === '*') && !isLast) return at;
  }
}
