/** Letters of other scripts that look like Latin ones, after folding to lower case. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  // Cyrillic
  ...pairs(
    'а в е к м н о р с т у х і ѕ ј ԁ ԛ ԝ һ ӏ ь г п',
    'a b e k m h o p c t y x i s j d q w h l b r n',
  ),
  // Greek
  ...pairs('α β ε η ι κ ν ο ρ τ υ χ γ ω σ', 'a b e n i k v o p t u x y w o'),
  // Armenian and Cherokee letters that have been seen in such tricks
  ...pairs('օ ո ս հ ց', 'o n u h g'),
};

/** Latin letters that have no decomposition, and look-alikes that no living language uses. */
const FOLDED: Readonly<Record<string, string>> = {
  ...pairs('ß ẞ æ œ ø đ ð ł ı ħ ŧ þ ſ ς ɑ ɡ ɩ ɪ ʏ', 'ss ss ae oe o d d l i h t th s σ a g i i y'),
  ...pairs(
    'ᴀ ʙ ᴄ ᴅ ᴇ ꜰ ɢ ʜ ᴊ ᴋ ʟ ᴍ ɴ ᴏ ᴘ ʀ ꜱ ᴛ ᴜ ᴠ ᴡ ᴢ',
    'a b c d e f g h j k l m n o p r s t u v w z',
  ),
  // One letter written in several ways
  ...pairs('أ إ آ ٱ ى ة ک ی', 'ا ا ا ا ي ه ك ي'),
};

/**
 * Joiners, bidirectional controls, tags, variation selectors, skin tones, blank letters, enclosing
 * marks, Arabic vowel marks and tatweel, and controls other than tabs and line ends.
 */
const INVISIBLE = new RegExp(
  [
    String.raw`\p{Cf}`,
    String.raw`\p{Variation_Selector}`,
    String.raw`\p{Emoji_Modifier}`,
    String.raw`[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]`,
    String.raw`[\u20d0-\u20ff]`,
    String.raw`[\u0640\u064b-\u065f\u0670]`,
    String.raw`(?![\t\n\r])\p{Cc}`,
  ].join('|'),
  'gu',
);

/**
 * Accents, and any other mark on a Latin, Greek or Cyrillic letter. Vowel signs of other scripts stay,
 * because they are letters there.
 */
const ACCENTS = new RegExp(
  [
    // First, so that it matches all marks on a letter at once.
    String.raw`(?<=[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])\p{M}+`,
    String.raw`[\u0300-\u036f]`,
    String.raw`[\u0483-\u0489]`,
    String.raw`[\u1ab0-\u1aff\u1dc0-\u1dff\ufe20-\ufe2f]`,
  ].join('|'),
  'gu',
);

/** Apostrophes that Unicode counts as letters or accents. */
const APOSTROPHES =
  /[\u02b9\u02bb-\u02bd\u02be\u02bf\u02c8\u02ca\u02cb\ua78b\ua78c\u055a\uff07\u2032\u2035]/g;

const FOLDABLE = new RegExp(`[${Object.keys(FOLDED).join('')}]`, 'gu');
const LOOKING_ALIKE = new RegExp(`[${Object.keys(LOOK_ALIKES).join('')}]`, 'u');
const LOOK_ALIKE = new RegExp(LOOKING_ALIKE, 'gu');
const ENCLOSED = /[\u{1f1e6}-\u{1f1ff}\u{1f130}-\u{1f149}\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]/gu;
const LATIN = /[a-z]/;
const WORD = /[\p{L}\p{N}]+/gu;
const DIGIT = /(?![0-9])\p{Nd}/gu;
const ASCII = /^[\t\n\r\x20-\x7e]*$/;
/** Two ligatures of whole sentences, which would grow a prompt eighteenfold. */
const FORMULAS = /[\ufdfa\ufdfb]/g;
const LINE_END = /[\v\f\u2028\u2029\u0085]/g;

/**
 * Folds spellings that look alike into one: compatibility forms, case, accents, invisible characters,
 * digits of all scripts, and foreign letters inside a Latin word. Idempotent. Time and memory grow with
 * the length.
 */
export function normalise(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const folded = text
    .replace(LINE_END, '\n')
    .replace(FORMULAS, ' ')
    .normalize('NFKD')
    .toLowerCase()
    .normalize('NFKD')
    .replace(INVISIBLE, '')
    // Before the accents, which are removed from Latin letters only: an enclosed letter becomes one here.
    .replace(ENCLOSED, unenclosed)
    .replace(ACCENTS, '')
    .replace(APOSTROPHES, "'")
    .replace(FOLDABLE, (letter) => FOLDED[letter]!)
    .replace(DIGIT, asciiDigit)
    .normalize('NFC');
  // Nearly no text has both look-alikes and Latin letters.
  if (!LOOKING_ALIKE.test(folded) || !LATIN.test(folded)) return folded;
  return folded
    .replace(WORD, (word) => (LATIN.test(word) ? latinised(word) : word))
    .replace(ACCENTS, '');
}

/** The word in Latin letters if each of its letters looks like one; otherwise null. */
export function latinReading(word: string): string | null {
  let reading = '';
  for (const letter of word) {
    const latin = LOOK_ALIKES[letter];
    if (latin === undefined) return null;
    reading += latin;
  }
  return reading;
}

function latinised(word: string): string {
  return word.replace(LOOK_ALIKE, (letter) => LOOK_ALIKES[letter]!);
}

/** The Latin letter of an enclosed letter or a regional indicator. */
function unenclosed(letter: string): string {
  const code = letter.codePointAt(0)!;
  const first = [0x1f1e6, 0x1f170, 0x1f150, 0x1f130].find((start) => code >= start)!;
  return String.fromCharCode(0x61 + code - first);
}

/** A script's digits are ten consecutive code points; the zero is the first one with no digit before it. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0)!;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++;
  return String(value);
}

function pairs(from: string, to: string): Record<string, string> {
  const targets = to.split(' ');
  return Object.fromEntries(from.split(' ').map((letter, index) => [letter, targets[index]!]));
}
