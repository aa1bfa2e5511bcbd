import { unescaped } from './escapes.ts';
import { normalise } from './normalise.ts';

/**
 * Separators between letters without spaces: signs, which within a word may also be letters (`n@ked`),
 * several dots (a single one ends a sentence), and pictures. The pattern matches each character in one
 * way only: with two, a failing search would try all combinations.
 */
const SIGNS_BETWEEN =
  /(?<=\p{L})(?:(?!(?<!\.)\.(?!\.))[@$€£!|+*.\p{Extended_Pictographic}])+(?=\p{L})/gu;

/** Single letters with the same separator between them: `n|u|d|e`, `n. u. d. e`. */
const SAME_SEPARATOR = /(?<![\p{L}\p{N}])\p{L}([^\p{L}]{1,8})\p{L}(?!\p{L})(?:\1\p{L}(?!\p{L}))+/gu;

/** Single letters with different separators between them: `n.u-d_e`. */
const ANY_SEPARATOR = /(?<![\p{L}\p{N}])\p{L}(?:[^\p{L}]{1,8}\p{L}(?!\p{L})){2,}/gu;

/** Letters with the same letter or digit between them: `nxuxdxe`. */
const LETTER_AS_SEPARATOR =
  /(?<![\p{L}\p{N}])\p{L}([\p{L}\p{N}])\p{L}(?:\1\p{L})+(?![\p{L}\p{N}])/gu;

const NON_LETTERS = /[^\p{L}]+/gu;

/**
 * The normalised readings of a text, each of which the rules check: as written; without escapes and
 * markup; with signs as spaces; and with separated letters joined. Most texts have one.
 */
export function* readingsOfText(text: string): Generator<string> {
  const written = normalise(text);
  yield written;
  const plain = unescaped(text);
  const resolved = plain === text ? written : normalise(plain);
  if (resolved !== written) yield resolved;
  const spaced = resolved.replace(SIGNS_BETWEEN, ' ');
  if (spaced !== resolved) yield spaced;
  const joined = spaced
    .replace(SAME_SEPARATOR, (run) => run.replace(NON_LETTERS, ''))
    .replace(LETTER_AS_SEPARATOR, (run) => Array.from(run).filter(isEven).join(''));
  if (joined !== spaced) yield joined;
  const mixed = spaced.replace(ANY_SEPARATOR, (run) => run.replace(NON_LETTERS, ''));
  if (mixed !== spaced && mixed !== joined) yield mixed;
}

function isEven(_: string, index: number): boolean {
  return index % 2 === 0;
}
