/** Characters of a word per token. */
const TOKEN_LENGTH = 4;

/** Characters of the longest piece: JSON has long runs without blanks. */
const PIECE_LENGTH = 4 * TOKEN_LENGTH;

/** A word with the blanks before it, or a part of a long word: the text of one event. */
export interface Piece {
  readonly text: string;
  readonly tokens: number;
}

function isBlank(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0 || code === 0x3000;
}

/** Whether a UTF-16 code unit is the second one of a surrogate pair. */
function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** The number of tokens of a text: one for every four characters of each word. */
export function countTokens(text: string): number {
  let tokens = 0;
  let run = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isBlank(code)) run = 0;
    else if (!isLowSurrogate(code)) {
      if (run % TOKEN_LENGTH === 0) tokens += 1;
      run += 1;
    }
  }
  return tokens;
}

/** Splits a text into pieces, whose tokens add up to those of the text. */
export function* piecesOf(text: string): Generator<Piece> {
  let start = 0;
  let run = 0;
  const pieceTo = (end: number) => ({
    text: text.slice(start, end),
    tokens: Math.ceil(run / TOKEN_LENGTH),
  });
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isLowSurrogate(code)) continue;
    const blank = isBlank(code);
    if (run > 0 && (blank || run === PIECE_LENGTH)) {
      yield pieceTo(index);
      start = index;
      run = 0;
    }
    if (!blank) run += 1;
  }
  if (start < text.length) yield pieceTo(text.length);
}

/** The first tokens of a text, without the blanks after them. */
export function firstTokens(text: string, tokens: number): string {
  let counted = 0;
  let run = 0;
  let end = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isBlank(code)) {
      run = 0;
      continue;
    }
    if (!isLowSurrogate(code)) {
      if (run % TOKEN_LENGTH === 0) {
        if (counted === tokens) return text.slice(0, end);
        counted += 1;
      }
      run += 1;
    }
    end = index + 1;
  }
  return text;
}
