import { REDACTED_KEY } from '../../routing/redaction.ts';
import { endOfText } from './model-name.ts';

/** Characters of a key at the end of a piece from which its frames are held back. */
const HELD_FROM = 4;

/** Characters of a key that are redacted although the rest never came. */
const PART = 13;

/** Writes that are held back at most while the rest of a key may come. */
const MOST_HELD = 64;

/** Texts followed at once; upstreams number them as they like. */
const MOST_LANES = 64;

/**
 * A member that numbers what follows, or one that holds a piece of an answer's text, as far as its
 * first quote, in each of the three formats.
 */
const MEMBERS =
  /"(?:(?:output_)?index": ?(\d{1,9})|(content|reasoning_content|reasoning|refusal|arguments|text|thinking|partial_json|delta|summary)": ?")/g;

/** The frames of one write. */
interface Frames {
  readonly text: string;
  /** Whether `text` has a character for each byte. */
  readonly isBytes: boolean;
  /** What is taken out of `text`, and put in its place. */
  readonly cuts: { readonly from: number; readonly to: number; readonly place: string }[];
}

/** A piece of an answer's text: a JSON text between its quotes. */
interface Piece {
  readonly frames: Frames;
  readonly start: number;
  readonly end: number;
}

/** One text of an answer, which comes in pieces. */
interface Lane {
  /** Characters of the key that the text so far ends with. */
  matched: number;
  /** The pieces that these may be in. */
  pieces: Piece[];
}

/**
 * Redacts a key that a stream tells in several pieces, such as `sk-ab` in one delta and the rest in
 * the next, whether its characters are escaped or not. Frames whose text ends with the beginning of
 * the key are held back until the text goes on.
 */
export class SplitKeyFilter {
  readonly #key: string;
  /** By characters matched: how many remain matched where the next one differs (Knuth, Morris, Pratt). */
  readonly #fallback: readonly number[];
  readonly #lanes = new Map<string, Lane>();
  #held: Frames[] = [];

  constructor(key: string) {
    this.#key = key;
    this.#fallback = fallbackOf(key);
  }

  /** Takes whole frames, and gives those that may be sent now; null for none. */
  push(given: string | Buffer): string | Buffer | null {
    const isBytes = typeof given !== 'string';
    const frames: Frames = { text: isBytes ? given.toString('latin1') : given, isBytes, cuts: [] };
    this.#scan(frames);
    const isHeld = this.#longestMatch() >= HELD_FROM && this.#held.length < MOST_HELD;
    if (this.#held.length === 0 && frames.cuts.length === 0 && !isHeld) return given;
    this.#held.push(frames);
    return isHeld ? null : this.#release();
  }

  /** The frames that are still held, with those that end the stream. */
  finish(last: string): string {
    const before = last === '' ? null : this.push(last);
    return `${before ?? ''}${this.#held.length > 0 ? this.#release() : ''}`;
  }

  #longestMatch(): number {
    let longest = 0;
    for (const { matched, pieces } of this.#lanes.values()) {
      // A text that did not go on while frames were held may have ended like this.
      if (pieces.length > 0) longest = Math.max(longest, matched);
    }
    return longest;
  }

  #release(): Buffer {
    for (const lane of this.#lanes.values()) {
      if (lane.matched >= PART) this.#cut(lane, lane.matched);
      lane.pieces = [];
    }
    const held = this.#held;
    this.#held = [];
    return Buffer.concat(held.map(rendered));
  }

  #scan(frames: Frames): void {
    const { text } = frames;
    let index = '';
    MEMBERS.lastIndex = 0;
    for (let found = MEMBERS.exec(text); found !== null; found = MEMBERS.exec(text)) {
      const [, number, member] = found;
      if (number !== undefined) {
        index = number;
        continue;
      }
      const start = MEMBERS.lastIndex;
      const end = endOfText(text, start - 1) - 1;
      if (end < start) return;
      this.#follow(this.#laneOf(`${member}${index}`), { frames, start, end });
      MEMBERS.lastIndex = end;
    }
  }

  #laneOf(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      if (this.#lanes.size >= MOST_LANES) this.#lanes.clear();
      lane = { matched: 0, pieces: [] };
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #follow(lane: Lane, piece: Piece): void {
    const { text } = piece.frames;
    const key = this.#key;
    if (piece.start < piece.end) lane.pieces.push(piece);
    let length = 0;
    for (let at = piece.start; at < piece.end; length += 1) {
      const width = widthAt(text, at);
      const code = width === 1 ? text.charCodeAt(at) : escapedAt(text, at);
      while (lane.matched > 0 && key.charCodeAt(lane.matched) !== code) {
        lane.matched = this.#fallback[lane.matched - 1]!;
      }
      if (key.charCodeAt(lane.matched) === code) lane.matched += 1;
      at += width;
      if (lane.matched < key.length) continue;
      this.#cut(lane, key.length, at);
    }
    if (lane.matched === 0) lane.pieces = [];
    else if (lane.matched <= length) lane.pieces = [piece];
  }

  /** Takes the last characters of a text out of its pieces. @param end where they end in the last one */
  #cut(lane: Lane, length: number, end = lane.pieces.at(-1)!.end): void {
    let left = length;
    for (const { frames, start, end: whole } of lane.pieces.toReversed()) {
      const to = left === length ? end : whole;
      const starts = startsIn(frames.text, start, to);
      const from = starts[Math.max(0, starts.length - left)];
      if (from !== undefined)
        frames.cuts.push({ from, to, place: left === length ? REDACTED_KEY : '' });
      left -= starts.length;
      if (left <= 0) break;
    }
    lane.matched = 0;
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
