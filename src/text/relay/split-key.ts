import { REDACTED_KEY } from '../../routing/redaction.ts';
import { endOfText } from './model-name.ts';

/** Characters of a key at the end of a piece from which its frames are held back. */
const HELD_FROM = 4;

/** Characters of the beginning of a key that are redacted even without the rest. */
const PART = 13;

/** Writes that are held back at most while the rest of a key may come. */
const MAX_HELD = 64;

/** Texts that are tracked at once; upstreams number them as they like. */
const MAX_TEXTS = 64;

const PATTERNS = new WeakMap<readonly string[], RegExp>();

/** Matches a member that numbers a text, or a member with a piece of one as far as its first quote. */
function patternOf(textMembers: readonly string[]): RegExp {
  let pattern = PATTERNS.get(textMembers);
  if (pattern === undefined) {
    const names = textMembers.join('|');
    pattern = new RegExp(`"(?:(?:output_)?index": ?(\\d{1,9})|(${names})": ?")`, 'g');
    PATTERNS.set(textMembers, pattern);
  }
  return pattern;
}

/** The frames of one write. */
interface Frames {
  readonly text: string;
  /** Whether `text` has a character for each byte. */
  readonly isBytes: boolean;
  /** Ranges of `text` that are replaced. */
  readonly cuts: { readonly from: number; readonly to: number; readonly place: string }[];
}

/** A piece of an answer's text: a JSON text between its quotes. */
interface Piece {
  readonly frames: Frames;
  readonly start: number;
  readonly end: number;
}

/** One text of an answer, such as a choice's content, which comes in pieces. */
interface SplitText {
  /** Characters of the key that the text so far ends with. */
  matched: number;
  /** The pieces that hold these characters. */
  pieces: Piece[];
}

/**
 * Redacts a key that comes in several pieces, such as `sk-ab` in one delta and the rest in the next, whether its
 * characters are escaped or not. Frames whose text ends with the beginning of the key are held back until the text
 * goes on.
 */
export class SplitKeyFilter {
  readonly #key: string;
  /** By characters matched: how many remain matched where the next one differs (Knuth, Morris, Pratt). */
  readonly #fallback: readonly number[];
  readonly #members: RegExp;
  readonly #texts = new Map<string, SplitText>();
  #held: Frames[] = [];

  /** @param textMembers names of members that hold pieces of an answer's text */
  constructor(key: string, textMembers: readonly string[]) {
    this.#key = key;
    this.#members = patternOf(textMembers);
    this.#fallback = fallbackOf(key);
  }

  /** Takes whole frames, and returns those that can be sent now; null for none. */
  push(given: string | Buffer): string | Buffer | null {
    const isBytes = typeof given !== 'string';
    const frames: Frames = { text: isBytes ? given.toString('latin1') : given, isBytes, cuts: [] };
    this.#scan(frames);
    const isHeld = this.#longestMatch() >= HELD_FROM && this.#held.length < MAX_HELD;
    if (this.#held.length === 0 && frames.cuts.length === 0 && !isHeld) return given;
    this.#held.push(frames);
    return isHeld ? null : this.#release();
  }

  /** Returns the frames that are still held, and those that end the stream. */
  finish(last: string): string {
    const before = last === '' ? null : this.push(last);
    return `${before ?? ''}${this.#held.length > 0 ? this.#release() : ''}`;
  }

  #longestMatch(): number {
    let longest = 0;
    for (const { matched, pieces } of this.#texts.values()) {
      // A text without new pieces while frames were held may have ended.
      if (pieces.length > 0) longest = Math.max(longest, matched);
    }
    return longest;
  }

  #release(): Buffer {
    for (const split of this.#texts.values()) {
      if (split.matched >= PART) this.#cut(split, split.matched);
      split.pieces = [];
    }
    const held = this.#held;
    this.#held = [];
    return Buffer.concat(held.map(rendered));
  }

  #scan(frames: Frames): void {
    const { text } = frames;
    let index = '';
    const members = this.#members;
    members.lastIndex = 0;
    for (let found = members.exec(text); found !== null; found = members.exec(text)) {
      const [, number, member] = found;
      if (number !== undefined) {
        index = number;
        continue;
      }
      const start = members.lastIndex;
      const end = endOfText(text, start - 1) - 1;
      if (end < start) return;
      this.#follow(this.#textNamed(`${member}${index}`), { frames, start, end });
      members.lastIndex = end;
    }
  }

  #textNamed(name: string): SplitText {
    let split = this.#texts.get(name);
    if (split === undefined) {
      if (this.#texts.size >= MAX_TEXTS) this.#texts.clear();
      split = { matched: 0, pieces: [] };
      this.#texts.set(name, split);
    }
    return split;
  }

  #follow(split: SplitText, piece: Piece): void {
    const { text } = piece.frames;
    const key = this.#key;
    if (piece.start < piece.end) split.pieces.push(piece);
    let length = 0;
    for (let at = piece.start; at < piece.end; length += 1) {
      const width = widthAt(text, at);
      const code = width === 1 ? text.charCodeAt(at) : escapedAt(text, at);
      while (split.matched > 0 && key.charCodeAt(split.matched) !== code) {
        split.matched = this.#fallback[split.matched - 1]!;
      }
      if (key.charCodeAt(split.matched) === code) split.matched += 1;
      at += width;
      if (split.matched < key.length) continue;
      this.#cut(split, key.length, at);
    }
    if (split.matched === 0) split.pieces = [];
    else if (split.matched <= length) split.pieces = [piece];
  }

  /** Redacts the last characters of a text. @param end where they end in its last piece */
  #cut(split: SplitText, length: number, end = split.pieces.at(-1)!.end): void {
    let left = length;
    for (const { frames, start, end: whole } of split.pieces.toReversed()) {
      const to = left === length ? end : whole;
      const starts = startsIn(frames.text, start, to);
      const from = starts[Math.max(0, starts.length - left)];
      if (from !== undefined)
        frames.cuts.push({ from, to, place: left === length ? REDACTED_KEY : '' });
      left -= starts.length;
      if (left <= 0) break;
    }
    split.matched = 0;
  }
}

/** Length of a character of a JSON text, escaped or not. */
function widthAt(text: string, at: number): number {
  if (text.charCodeAt(at) !== 0x5c) return 1;
  return text[at + 1] === 'u' ? 6 : 2;
}

/** The character that an escape stands for; NaN for a control character, which no key has. */
function escapedAt(text: string, at: number): number {
  const sign = text[at + 1]!;
  if (sign === 'u') return Number.parseInt(text.slice(at + 2, at + 6), 16);
  return '"\\/'.includes(sign) ? sign.charCodeAt(0) : Number.NaN;
}

/** Where each character of a part of a JSON text begins. */
function startsIn(text: string, start: number, end: number): number[] {
  const starts: number[] = [];
  for (let at = start; at < end; at += widthAt(text, at)) starts.push(at);
  return starts;
}

function rendered({ text, isBytes, cuts }: Frames): Buffer {
  let clean = '';
  let copied = 0;
  for (const { from, to, place } of cuts.toSorted((a, b) => a.from - b.from)) {
    clean += text.slice(copied, from) + place;
    copied = to;
  }
  return Buffer.from(clean + text.slice(copied), isBytes ? 'latin1' : 'utf8');
}

function fallbackOf(key: string): number[] {
  const fallback = [0];
  for (let at = 1, matched = 0; at < key.length; at += 1) {
    while (matched > 0 && key[at] !== key[matched]) matched = fallback[matched - 1]!;
    if (key[at] === key[matched]) matched += 1;
    fallback.push(matched);
  }
  return fallback;
}
