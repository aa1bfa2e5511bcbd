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

/**
 * Characters that show nothing or blank space, skin tones, overlaid marks, and signs that fold to letters: raised
 * ones, abbreviations such as `№`, and letters in squares and flags.
 */
const LOST_SIGNS = [
  String.raw`[\p{Cf}\p{Variation_Selector}\p{Emoji_Modifier}]`,
  String.raw`(?![\t-\r\x85])\p{Cc}`,
  String.raw`[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]`,
  String.raw`[\u0334-\u0338\u0488\u0489\u20d0-\u20ff]`,
  String.raw`[ªºµ\u02d0-\u02df\u2100-\u214f\u3200-\u33ff\u{1f100}-\u{1f1ff}]`,
].join('|');

/** Marks of letters that Unicode does not compose, marks of other scripts, and the Arabic tatweel. */
const STRAY_MARK = String.raw`(?<=[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hangul}\p{Script=Han}])[\p{M}\u0640]`;

/**
 * Separators that are no longer there, or join words of two scripts, once a text is normalised. Always matches a whole
 * run: a search that fails at its end would begin anew within it.
 */
const LOST = new RegExp(
  String.raw`(?<=[\p{L}\p{M}\p{N}])(?:${LOST_SIGNS}|${STRAY_MARK})(?:${LOST_SIGNS}|\p{M})*`,
  'gu',
);

/** Digits between letters, or between a letter and a sign. */
const DIGITS = /(?<=[\p{L}\p{M}])\p{N}+(?=[\p{L}@$€£!|+*])/gu;

const LETTER_FIRST = /^[\p{L}\p{N}]/u;

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
  const composed = plain.normalize('NFC');
  const visible = composed.replace(LOST, (run, at: number) => {
    const end = at + run.length;
    return LETTER_FIRST.test(composed.slice(end, end + 2)) ? ' ' : run;
  });
  for (const parted of [visible, composed.replace(DIGITS, ' ')]) {
    if (parted === composed) continue;
    const reading = normalise(parted);
    yield reading;
    yield* separatedReadings(reading);
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

const isEven = (_: string, index: number): boolean => index % 2 === 0;
