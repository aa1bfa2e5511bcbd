import { unescaped } from './escapes.ts';
import { normalise } from './normalise.ts';

/**
 * Separators between letters and digits without spaces: signs, which within a word may also be letters
 * (`n@ked`), several dots (a single one ends a sentence), and pictures; then signs at either end of a word,
 * where they count as letters too. The pattern matches each character in one way only: with two, a failing
 * search would try all combinations.
 */
const SIGNS = new RegExp(
  [
    String.raw`(?<=[\p{L}\p{M}\p{N}])SIGN+(?=[\p{L}\p{N}])`,
    String.raw`(?<=[\p{L}\p{M}]\p{N}{0,4})[@$€£|+]+`,
    String.raw`(?<![@$€£])[@$€£]+(?=\p{L})`,
  ]
    .join('|')
    .replaceAll('SIGN', String.raw`(?:(?!(?<!\.)\.(?!\.))[@$€£!|+*.\p{Extended_Pictographic}])`),
  'gu',
);

/** Characters that show nothing or blank space, overlaid marks, and raised signs that fold to letters. */
const INVISIBLE = [
  String.raw`\p{Cf}`,
  String.raw`[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]`,
  String.raw`[\u0334-\u0338\u0488\u0489\u20d0-\u20ff]`,
  '[ªº™℠]',
].join('|');

/** Separators that are no longer there, or join words of two scripts, once a text is normalised. */
const LOST = [
  // From the first of them alone: some are marks, which else would begin a search each.
  new RegExp(
    String.raw`(?<=[\p{L}\p{M}\p{N}])(?<!${INVISIBLE})(?:${INVISIBLE})+(?=[\p{L}\p{N}])`,
    'gu',
  ),
  // Digits between letters, or between a letter and a sign.
  /(?<=[\p{L}\p{M}])\p{N}+(?=[\p{L}@$€£!|+*])/gu,
] as const;

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
 * markup; with signs, digits and invisible characters as spaces; and with separated letters joined. Most
 * texts have one.
 */
export function* readingsOfText(text: string): Generator<string> {
  const written = normalise(text);
  yield written;
  const plain = unescaped(text);
  const resolved = plain === text ? written : normalise(plain);
  if (resolved !== written) yield resolved;
  yield* separatedReadings(resolved);
  for (const separators of LOST) {
    const parted = plain.replace(separators, ' ');
    if (parted === plain) continue;
    const visible = normalise(parted);
    yield visible;
    yield* separatedReadings(visible);
  }
}

/** The readings of a normalised text without the separators that it has, if any. */
function* separatedReadings(text: string): Generator<string> {
  const spaced = text.replace(SIGNS, ' ');
  if (spaced !== text) yield spaced;
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
