type Write = (word: string) => string;

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

function swap(table: Readonly<Record<string, string>>): Write {
  return (word) => Array.from(word, (letter) => table[letter] ?? letter).join('');
}

/** Puts something between the letters of each word of a term. */
function between(text: string): Write {
  return (term) =>
    term
      .split(' ')
      .map((word) => Array.from(word).join(text))
      .join('  ');
}

/** Puts one of several separators after another between the letters. */
function alternately(separators: string): Write {
  return (term) =>
    Array.from(term, (letter, index) => letter + separators[index % separators.length]!)
      .join('')
      .slice(0, -1);
}

function codes(write: (code: number) => string): Write {
  return (word) => Array.from(word, (letter) => write(letter.codePointAt(0)!)).join('');
}

function percents(text: string): string {
  return Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

/** Writes the Latin letters by another alphabet of 26 that Unicode has. */
function alphabet(start: number): Write {
  return (word) =>
    word.replace(/[a-z]/g, (letter) => String.fromCodePoint(start + letter.charCodeAt(0) - 97));
}

/** Ways to write a word that people can read and plain searches miss. */
export const DISGUISES: Readonly<Record<string, Write>> = {
  capitals: (word) => word.toUpperCase(),
  'zero-width spaces': between('\u200b'),
  'zero-width joiners': between('\u200d'),
  'soft hyphens': between('\u00ad'),
  'bidirectional controls': (word) => `\u202d${word}\u202c`,
  'tag characters': between('\u{e0061}'),
  'variation selectors': between('\ufe0f'),
  tags: between('<b></b>'),
  comments: between('<!-- -->'),
  'entities between': between('&#8203;'),
  'percent encoding': percents,
  'percent encoding, twice': (word) => encodeURIComponent(percents(word)),
  'decimal entities': codes((code) => `&#${code};`),
  'hexadecimal entities': codes((code) => `&#x${code.toString(16)};`),
  'escaped entities': codes((code) => `&amp;amp;#0${code};`),
  'escapes of JavaScript': codes((code) => `\\u{${code.toString(16)}}`),
};

/** The same for words in Latin letters. */
export const LATIN_DISGUISES: Readonly<Record<string, Write>> = {
  spaces: between(' '),
  dots: between('.'),
  hyphens: between('-'),
  underscores: between('_'),
  stars: between('*'),
  slashes: between('/'),
  'pulled apart': (word) => `${word.slice(0, 2)} ${word.slice(2)}`,
  hyphenated: (word) => `${word.slice(0, 2)}-${word.slice(2)}`,
  'Cyrillic letters': swap(TWINS),
  'Greek letters': swap(GREEK),
  digits: swap(DIGITS),
  signs: swap(SIGNS),
  'inner marks': (word) => word.replace(/(?<=.)i(?=.)/g, '!'),
  'masked vowel': (word) => word.replace(/(?<=.)[aeiou](?=.)/, '*'),
  'long vowels': (word) => word.replace(/[aeiou]/g, '$&$&$&$&'),
  'doubled letters': (word) => word.replace(/[a-z]/g, '$&$&'),
  'full width': alphabet(0xff41),
  'mathematical bold': alphabet(0x1d41a),
  'mathematical script': alphabet(0x1d4ea),
  circles: alphabet(0x24d0),
  squares: alphabet(0x1f130),
  'dark circles': alphabet(0x1f150),
  flags: alphabet(0x1f1e6),
  accents: (word) => word.replace(/[a-z]/g, '$&\u0301\u0323'),
  'vertical bars': between('|'),
  'plus signs': between('+'),
  'at signs': between('@'),
  'exclamation marks': between('!'),
  ellipses: between('…'),
  'several dots': between('...'),
  'dots and spaces': between('. '),
  commas: between(', '),
  'line ends': between('\n'),
  pictures: between('🔥'),
  'digits between': between('1'),
  'letters between': between('x'),
  'changing separators': alternately('_-.*/|'),
  'one escaped letter': (word) => percents(word[0]!) + word.slice(1),
  'overlaid marks': between('\u0338\u0489'),
  'marks of other scripts': between('\u0e47\u05b0'),
  'rare marks': between('\u1ab0\u1dc4\ufe20'),
  markdown: (word) => `**${word}**`,
};
