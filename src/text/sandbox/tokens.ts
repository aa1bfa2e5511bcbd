/** Characters of a word per token. */
const TOKEN_LENGTH = 4;

const BLANKS = String.raw`\t-\r \xa0\u3000`;

/** One token: the next characters of a word. */
const TOKEN = new RegExp(`[^${BLANKS}]{1,${TOKEN_LENGTH}}`, 'gu');

/** The characters of the longest piece are those of four tokens: JSON has long runs without blanks. */
const PIECE = new RegExp(`[${BLANKS}]*[^${BLANKS}]{1,${4 * TOKEN_LENGTH}}|[${BLANKS}]+$`, 'gu');

/** A word with the blanks before it, or a part of a long word: the text of one event. */
export interface Piece {
  readonly text: string;
  readonly tokens: number;
}

/** The code units of blanks, which are all below 256 but one. */
const isBlank = (code: number) =>
  code <= 0x20 ? code === 0x20 || (code >= 9 && code <= 13) : code === 0xa0 || code === 0x3000;

/** The number of tokens of a text: one for every four characters of each word. Makes no object for each of them. */
export function countTokens(text: string): number {
  let tokens = 0;
  let inWord = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.codePointAt(at)!;
    if (code > 0xffff) at += 1;
    if (isBlank(code)) inWord = 0;
    else if (inWord++ % TOKEN_LENGTH === 0) tokens += 1;
  }
  return tokens;
}

/** Splits a text into pieces, whose tokens add up to those of the text. */
export function* piecesOf(text: string): Generator<Piece> {
  for (const [piece] of text.matchAll(PIECE)) yield { text: piece, tokens: countTokens(piece) };
}

/** The first tokens of a text, without the blanks after them. */
export function firstTokens(text: string, tokens: number): string {
  let counted = 0;
  let end = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (counted === tokens) return text.slice(0, end);
    counted += 1;
    end = index + token.length;
  }
  return text;
}
