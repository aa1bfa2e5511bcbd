import { latinReading } from './normalise.ts';

/** Digits and signs that stand for letters. */
const LETTER_FOR: Readonly<Record<string, string>> = {
  ...{ '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '6': 'g', '7': 't', '8': 'b', '9': 'g' },
  ...{ '@': 'a', $: 's', '€': 'e', '!': 'i', '|': 'i', '+': 't', '£': 'l' },
};

const POUND = 0xa3;
const EURO = 0x20ac;
const SIGN = /[0-9@$€!|+£]/;
const SIGNS = /[0-9@$€!|+£]/g;
const LETTER = /\p{L}/u;
const NON_ASCII = /[^\x20-\x7e]/;
const REPEATED = /(.)\1/u;
const THRICE = /(.)\1{2,}/gu;
/** Digits before or after a word: `1girl`, `girl2`. */
const COUNTED = /^[0-9]{1,4}(?=[\p{L}\p{M}]{3})|(?<=[\p{L}\p{M}]{2})[0-9]{1,4}$/gu;
const ARABIC = /^[\u0620-\u064a]+$/;
const ARABIC_PARTICLE = /^(?:وال|بال|فال|كال|لل|ال|[وبلفك])(?=[\u0620-\u064a]{2})/;
const HANGUL = /^[\uac00-\ud7a3]+$/;
const HANGUL_PARTICLE =
  /(?:에게서|으로서|에서는|이라는|에게|에서|으로|까지|부터|처럼|보다|이랑|들은|들이|들을|들의|들과|들|은|는|이|가|을|를|의|에|와|과|도|로|만|랑)$/;
const VOWELS = ['a', 'e', 'i', 'o', 'u'];

/** Most letters of a word with several readings; no term has as many. */
const MAX_LETTERS = 40;
/** Fewest letters of a word in which a single double letter may be a disguise: not `barre`. */
const MIN_SQUEEZED = 5;

/** The readings of a normalised word, its own text first. At most a dozen. */
export function readingsOf(text: string): readonly string[] {
  const letters = lettersOf(text);
  if (letters === 'latin') return [text];
  if (letters === 'repeated') return repeatedReadings(text);
  if (text.length > MAX_LETTERS && !REPEATED.test(text)) return [text];
  const readings = new Set([text]);
  if (letters === 'foreign') {
    addForeign(text, readings);
    return readings.size === 1 ? [text] : [...readings];
  }
  const hasLetter = LETTER.test(text);
  if (hasLetter && SIGN.test(text)) {
    const counted = text.replace(COUNTED, '');
    for (const word of new Set([text, counted])) {
      readings.add(word);
      readings.add(word.replace(SIGNS, (sign) => LETTER_FOR[sign]!));
      if (/[1!|]/.test(word)) {
        readings.add(word.replace(/[1!|]/g, 'l').replace(SIGNS, (sign) => LETTER_FOR[sign]!));
      }
    }
  } else if (!hasLetter && text.length === 1 && SIGN.test(text)) {
    readings.add(LETTER_FOR[text] ?? text);
  }
  if (text.includes('*')) for (const guess of unmasked(text)) readings.add(guess);
  if (NON_ASCII.test(text)) addForeign(text, readings);
  for (const reading of [...readings]) {
    if (!REPEATED.test(reading)) continue;
    const atMostTwice = reading.replace(THRICE, '$1$1');
    const squeezed = squeeze(reading);
    readings.add(atMostTwice);
    const isDisguise = atMostTwice !== reading || reading.length - squeezed.length > 1;
    if (isDisguise || squeezed.length >= MIN_SQUEEZED) readings.add(squeezed);
    if (isDisguise) readings.add(SQUEEZED + squeezed);
  }
  return [...readings];
}

/** The readings of a word of plain letters, some of which are repeated. */
function repeatedReadings(text: string): string[] {
  let atMostTwice = '';
  let squeezed = '';
  let run = 0;
  for (let at = 0; at < text.length; at++) {
    run = at > 0 && text[at] === text[at - 1] ? run + 1 : 1;
    if (run <= 2) atMostTwice += text[at];
    if (run === 1) squeezed += text[at];
  }
  const readings = atMostTwice === text ? [text] : [text, atMostTwice];
  const isDisguise = atMostTwice !== text || text.length - squeezed.length > 1;
  if (isDisguise || squeezed.length >= MIN_SQUEEZED) readings.push(squeezed);
  if (isDisguise) readings.push(SQUEEZED + squeezed);
  return readings;
}

type Letters = 'latin' | 'repeated' | 'foreign' | 'other';

/**
 * The kind of letters of a word: `latin`, a to z without repeated letters, as in nearly every word;
 * `repeated`, a to z with repeated letters; `foreign`, characters with a single reading and without
 * repetitions; `other`, anything else.
 */
function lettersOf(text: string): Letters {
  let isPlain = true;
  let isRepeated = false;
  let before = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === before) isRepeated = true;
    before = code;
    if (code >= 0x61 && code <= 0x7a) continue;
    const isSurrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < 0x80 || code === POUND || code === EURO || isSurrogate) return 'other';
    isPlain = false;
  }
  if (isPlain) return isRepeated ? 'repeated' : 'latin';
  return isRepeated ? 'other' : 'foreign';
}

/** Prefix of a reading without double letters, which matches only terms without theirs. */
export const SQUEEZED = '=';

/** Replaces every run of one letter with a single one. */
export function squeeze(word: string): string {
  // Most words have none, and this check takes a tenth of the time.
  const letters = lettersOf(word);
  if (letters === 'latin' || letters === 'foreign') return word;
  return word.replace(/(.)\1+/gu, '$1');
}

/** Replaces all stars with the same vowel: nearly always the first vowel is masked. */
function unmasked(text: string): string[] {
  const bare = text.replace(/\*/g, '');
  return [bare, ...VOWELS.map((vowel) => text.replace(/\*+/g, vowel))];
}

function addForeign(text: string, readings: Set<string>): void {
  const latin = latinReading(text);
  if (latin !== null) readings.add(latin);
  if (ARABIC.test(text)) {
    const bare = text.replace(ARABIC_PARTICLE, '');
    readings.add(bare);
    readings.add(bare.replace(ARABIC_PARTICLE, ''));
  } else if (HANGUL.test(text)) {
    const bare = text.replace(HANGUL_PARTICLE, '');
    if (bare.length > 0) readings.add(bare);
    const barer = bare.replace(HANGUL_PARTICLE, '');
    if (barer.length > 1) readings.add(barer);
  }
}
