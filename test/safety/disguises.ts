/** A way to write a word that people can read and plain searches miss. */
export interface Disguise {
  readonly name: string;
  /** Whether words in letters of other scripts than Latin can be written so. */
  readonly isForAll: boolean;
  readonly write: (word: string) => string;
}

const TWINS: Readonly<Record<string, string>> = {
  a: 'а',
  e: 'е',
  o: 'о',
  c: 'с',
  p: 'р',
  x: 'х',
  i: 'і',
};
const GREEK: Readonly<Record<string, string>> = { a: 'α', e: 'ε', o: 'ο', i: 'ι', n: 'η', u: 'υ' };
const DIGITS: Readonly<Record<string, string>> = { a: '4', e: '3', i: '1', o: '0', s: '5' };
const SIGNS: Readonly<Record<string, string>> = { a: '@', s: '$' };

function swap(table: Readonly<Record<string, string>>): (word: string) => string {
  return (word) => Array.from(word, (letter) => table[letter] ?? letter).join('');
}

/** Puts something between the letters of each word of a term. */
function between(text: string): (term: string) => string {
  return (term) =>
    term
      .split(' ')
      .map((word) => Array.from(word).join(text))
      .join('  ');
}

/** Puts one of several separators after another between the letters. */
function alternately(separators: string): (term: string) => string {
  return (term) =>
    Array.from(term, (letter, index) => letter + separators[index % separators.length]!)
      .join('')
      .slice(0, -1);
}

function codes(write: (code: number) => string): (word: string) => string {
  return (word) => Array.from(word, (letter) => write(letter.codePointAt(0)!)).join('');
}

function percents(text: string): string {
  return Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

/** Writes the Latin letters by another alphabet of 26 that Unicode has. */
function alphabet(start: number): (word: string) => string {
  return (word) =>
    word.replace(/[a-z]/g, (letter) => String.fromCodePoint(start + letter.charCodeAt(0) - 97));
}

export const DISGUISES: readonly Disguise[] = [
  { name: 'capitals', isForAll: true, write: (word) => word.toUpperCase() },
  { name: 'zero-width spaces', isForAll: true, write: between('\u200b') },
  { name: 'zero-width joiners', isForAll: true, write: between('\u200d') },
  { name: 'soft hyphens', isForAll: true, write: between('\u00ad') },
  { name: 'bidirectional controls', isForAll: true, write: (word) => `\u202d${word}\u202c` },
  { name: 'tag characters', isForAll: true, write: between('\u{e0061}') },
  { name: 'variation selectors', isForAll: true, write: between('\ufe0f') },
  { name: 'spaces', isForAll: false, write: between(' ') },
  { name: 'dots', isForAll: false, write: between('.') },
  { name: 'hyphens', isForAll: false, write: between('-') },
  { name: 'underscores', isForAll: false, write: between('_') },
  { name: 'stars', isForAll: false, write: between('*') },
  { name: 'slashes', isForAll: false, write: between('/') },
  {
    name: 'pulled apart',
    isForAll: false,
    write: (word) => `${word.slice(0, 2)} ${word.slice(2)}`,
  },
  { name: 'hyphenated', isForAll: false, write: (word) => `${word.slice(0, 2)}-${word.slice(2)}` },
  { name: 'Cyrillic letters', isForAll: false, write: swap(TWINS) },
  { name: 'Greek letters', isForAll: false, write: swap(GREEK) },
  { name: 'digits', isForAll: false, write: swap(DIGITS) },
  { name: 'signs', isForAll: false, write: swap(SIGNS) },
  { name: 'inner marks', isForAll: false, write: (word) => word.replace(/(?<=.)i(?=.)/g, '!') },
  {
    name: 'masked vowel',
    isForAll: false,
    write: (word) => word.replace(/(?<=.)[aeiou](?=.)/, '*'),
  },
  { name: 'long vowels', isForAll: false, write: (word) => word.replace(/[aeiou]/g, '$&$&$&$&') },
  { name: 'doubled letters', isForAll: false, write: (word) => word.replace(/[a-z]/g, '$&$&') },
  { name: 'full width', isForAll: false, write: alphabet(0xff41) },
  { name: 'mathematical bold', isForAll: false, write: alphabet(0x1d41a) },
  { name: 'mathematical script', isForAll: false, write: alphabet(0x1d4ea) },
  { name: 'circles', isForAll: false, write: alphabet(0x24d0) },
  { name: 'squares', isForAll: false, write: alphabet(0x1f130) },
  { name: 'dark circles', isForAll: false, write: alphabet(0x1f150) },
  { name: 'flags', isForAll: false, write: alphabet(0x1f1e6) },
  { name: 'accents', isForAll: false, write: (word) => word.replace(/[a-z]/g, '$&\u0301\u0323') },
  { name: 'vertical bars', isForAll: false, write: between('|') },
  { name: 'plus signs', isForAll: false, write: between('+') },
  { name: 'at signs', isForAll: false, write: between('@') },
  { name: 'exclamation marks', isForAll: false, write: between('!') },
  { name: 'ellipses', isForAll: false, write: between('…') },
  { name: 'several dots', isForAll: false, write: between('...') },
  { name: 'dots and spaces', isForAll: false, write: between('. ') },
  { name: 'commas', isForAll: false, write: between(', ') },
  { name: 'line ends', isForAll: false, write: between('\n') },
  { name: 'pictures', isForAll: false, write: between('🔥') },
  { name: 'digits between', isForAll: false, write: between('1') },
  { name: 'letters between', isForAll: false, write: between('x') },
  { name: 'changing separators', isForAll: false, write: alternately('_-.*/|') },
  { name: 'tags', isForAll: true, write: between('<b></b>') },
  { name: 'comments', isForAll: true, write: between('<!-- -->') },
  { name: 'entities between', isForAll: true, write: between('&#8203;') },
  { name: 'percent encoding', isForAll: true, write: percents },
  {
    name: 'percent encoding, twice',
    isForAll: true,
    write: (word) => encodeURIComponent(percents(word)),
  },
  { name: 'decimal entities', isForAll: true, write: codes((code) => `&#${code};`) },
  {
    name: 'hexadecimal entities',
    isForAll: true,
    write: codes((code) => `&#x${code.toString(16)};`),
  },
  { name: 'escaped entities', isForAll: true, write: codes((code) => `&amp;amp;#0${code};`) },
  {
    name: 'escapes of JavaScript',
    isForAll: true,
    write: codes((code) => `\\u{${code.toString(16)}}`),
  },
  {
    name: 'one escaped letter',
    isForAll: false,
    write: (word) => percents(word[0]!) + word.slice(1),
  },
  { name: 'overlaid marks', isForAll: false, write: between('\u0338\u0489') },
  { name: 'marks of other scripts', isForAll: false, write: between('\u0e47\u05b0') },
  { name: 'rare marks', isForAll: false, write: between('\u1ab0\u1dc4\ufe20') },
  { name: 'markdown', isForAll: false, write: (word) => `**${word}**` },
];
