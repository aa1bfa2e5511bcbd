import { unescaped } from './escapes.ts';
import { normalise } from './normalise.ts';

/**
 * What stands between letters without spaces: signs, which within a word may also be letters (`n@ked`),
 * dots but for a single one, which would end a sentence, and pictures. There is one way to read each
 * character: with two, a search that fails would try all combinations.
 */
const SIGNS_BETWEEN =
  /(?<=\p{L})(?:(?!(?<!\.)\.(?!\.))[@$€£!|+*.\p{Extended_Pictographic}])+(?=\p{L})/gu;

/** Single letters with one separator between each two: `n|u|d|e`, `n. u. d. e`. */
const SAME_SEPARATOR = /(?<![\p{L}\p{N}])\p{L}([^\p{L}]{1,8})\p{L}(?!\p{L})(?:\1\p{L}(?!\p{L}))+/gu;

/** Single letters with any separators between them: `n.u-d_e`. */
const ANY_SEPARATOR = /(?<![\p{L}\p{N}])\p{L}(?:[^\p{L}]{1,8}\p{L}(?!\p{L})){2,}/gu;

/** Letters with one letter or digit between each two: `nxuxdxe`. */
const LETTER_AS_SEPARATOR =
  /(?<![\p{L}\p{N}])\p{L}([\p{L}\p{N}])\p{L}(?:\1\p{L})+(?![\p{L}\p{N}])/gu;

const NON_LETTERS = /[^\p{L}]+/gu;

/**
 * The readings of a text, normalised, each of which is judged: as it is written; without escapes and
 * markup; with signs as spaces; and with letters joined that separators keep apart. Most texts have one.
 */
export function* readingsOfText(text: string): Generator<string> {
  const written = normalise(text);
  yield written;
  const clear = unescaped(text);
  const resolved = clear === text ? written : normalise(clear);
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
