/** Characters of a word that count as one token. */
const TOKEN = 4;

/** Characters that are written at once at the most, where a word is no word but JSON. */
const PIECE = 4 * TOKEN;

/** A word with the blanks before it, or a part of a long one. */
export interface Piece {
  readonly text: string;
  readonly tokens: number;
}

function isBlank(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0 || code === 0x3000;
}

/** The second half of a character that takes two. */
function isSecondHalf(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** How many tokens a text has: one for every four characters of each of its words. */
export function countTokens(text: string): number {
  let tokens = 0;
  let run = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isBlank(code)) run = 0;
    else if (!isSecondHalf(code)) {
      if (run % TOKEN === 0) tokens += 1;
      run += 1;
    }
  }
  return tokens;
}

/** Cuts a text into what is written at once; the tokens of its pieces are those of the whole. */
export function* piecesOf(text: string): Generator<Piece> {
  let start = 0;
  let run = 0;
  const pieceTo = (end: number) => ({
    text: text.slice(start, end),
    tokens: Math.ceil(run / TOKEN),
  });
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isSecondHalf(code)) continue;
    const blank = isBlank(code);
    if (run > 0 && (blank || run === PIECE)) {
      yield pieceTo(index);
      start = index;
      run = 0;
    }
    if (!blank) run += 1;
  }
  if (start < text.length) yield pieceTo(text.length);
}

/** So many tokens from the start of a text. */
export function firstTokens(text: string, tokens: number): string {
  let counted = 0;
  let run = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isBlank(code)) run = 0;
    else if (!isSecondHalf(code)) {
      if (run % TOKEN === 0) {
        if (counted === tokens) return text.slice(0, index);
        counted += 1;
      }
      run += 1;
    }
  }
  return text;
}
