import { codedFailure } from '../../failure.ts';
import { valueOr } from '../../flow.ts';

/** Bytes of one event. */
const MAX_EVENT_BYTES = 32 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
/** The data of the event that ends a stream of chat completions, and some streams of other dialects. */
export const DONE = '[DONE]';

const BYTE_ORDER_MARK = 0xfeff;

type OnEvent = (data: string) => void;

/**
 * Splits a byte stream into server-sent events, wherever it is cut, by the rules of the HTML standard
 * (9.2.6). An event without data is dropped.
 */
export class EventStream {
  readonly #frames: FrameStream;
  readonly #onEvent: OnEvent;
  /** Whether nothing was read yet, so that a byte order mark may come. */
  #fresh = true;

  /** @param limit the bytes that an event may have before its end is in sight */
  constructor(onEvent: OnEvent, limit = MAX_EVENT_BYTES) {
    this.#frames = new FrameStream(limit);
    this.#onEvent = onEvent;
  }

  /** @throws Failure `service_error` with code `upstream_answer_too_large` */
  push(chunk: Buffer): void {
    const frames = this.#frames.push(chunk);
    if (frames !== null) readEvents(this.#text(frames), this.#onEvent);
  }

  /**
   * Ends the stream. An event without its blank line is dropped, as the standard says, unless its data
   * is complete: some servers omit the last blank line.
   */
  end(): void {
    const rest = this.#frames.rest();
    if (rest.length === 0) return;
    readEvents(`${this.#text(rest)}\n\n`, (data) => {
      if (isWhole(data)) this.#onEvent(data);
    });
  }

  #text(frames: Buffer): string {
    const text = frames.toString();
    if (!this.#fresh) return text;
    this.#fresh = false;
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }
}

/**
 * Splits a byte stream into whole frames. The frames and the rest are together the bytes that came.
 */
export class FrameStream {
  readonly #limit: number;
  /** Bytes after the last blank line: the first `#length` of these. */
  #kept = Buffer.alloc(0);
  #length = 0;

  /** @param limit the bytes that a frame may have before its end is in sight */
  constructor(limit = MAX_EVENT_BYTES) {
    this.#limit = limit;
  }

  /**
   * Returns the bytes up to and including the last blank line; null where no frame has ended.
   *
   * @throws Failure `service_error` with code `upstream_answer_too_large`
   */
  push(chunk: Buffer): Buffer | null {
    const end = this.#lastEnd(chunk);
    if (end === 0) {
      this.#keep(chunk);
      return null;
    }
    const whole = end === chunk.length ? chunk : chunk.subarray(0, end);
    let frames = whole;
    if (this.#length > 0) {
      this.#append(whole);
      frames = this.#take();
    }
    if (end < chunk.length) this.#keep(chunk.subarray(end));
    return frames;
  }

  /** Returns the bytes after the last blank line, and drops them. */
  rest(): Buffer {
    return this.#take();
  }

  /** Where the last blank line of the chunk ends; 0 where none does. */
  #lastEnd(chunk: Buffer): number {
    for (let index = chunk.length - 1; index >= 0; index -= 1) {
      const byte = chunk[index];
      if (byte !== LF && byte !== CR) continue;
      const before = index > 0 ? chunk[index - 1]! : this.#keptFromEnd(1);
      if (byte === CR ? before === LF || before === CR : before === LF) return index + 1;
      // LF of a CRLF: the line before it is blank if another end of line comes before the CR.
      if (byte === LF && before === CR) {
        const earlier = index > 1 ? chunk[index - 2]! : this.#keptFromEnd(2 - index);
        if (earlier === LF || earlier === CR) return index + 1;
      }
    }
    return 0;
  }

  /** A kept byte, counted from the last; LF before the first, since a frame begins at a line. */
  #keptFromEnd(distance: number): number {
    return distance <= this.#length ? this.#kept[this.#length - distance]! : LF;
  }

  #keep(bytes: Buffer): void {
    this.#append(bytes);
    if (this.#length <= this.#limit) return;
    throw codedFailure(
      'upstream_answer_too_large',
      `The provider sent an event of more than ${this.#limit} bytes`,
    );
  }

  #append(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#kept.length) {
      // Doubled, so that a frame that comes in many pieces is not copied as often.
      const larger = Buffer.allocUnsafe(Math.max(length * 2, 1024));
      larger.set(this.#kept.subarray(0, this.#length));
      this.#kept = larger;
    }
    this.#kept.set(bytes, this.#length);
    this.#length = length;
  }

  /** Takes the kept bytes; later chunks do not overwrite them. */
  #take(): Buffer {
    const taken = this.#kept.subarray(0, this.#length);
    this.#kept = Buffer.alloc(0);
    this.#length = 0;
    return taken;
  }
}

/** Reads the events of whole frames. */
export function dataOf(frames: string, onEvent: OnEvent): void {
  readEvents(frames.charCodeAt(0) === BYTE_ORDER_MARK ? frames.slice(1) : frames, onEvent);
}

function readEvents(text: string, onEvent: OnEvent): void {
  if (text.includes('\r')) text = text.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
  let data: string | null = null;
  let end: number;
  for (let start = 0; start < text.length; start = end + 1) {
    end = text.indexOf('\n', start);
    if (end === -1) return;
    if (end === start) {
      if (data !== null && data !== '') onEvent(data);
      data = null;
    } else if (isData(text, start, end)) {
      const from = start + (text.charCodeAt(start + 5) === SPACE ? 6 : 5);
      const value = from < end ? text.slice(from, end) : '';
      data = data === null ? value : `${data}\n${value}`;
    }
  }
}

/** Whether a line is the field `data`; without a colon its value is empty. */
function isData(text: string, start: number, end: number): boolean {
  const after = start + 4;
  return text.startsWith('data', start) && (after === end || text.charCodeAt(after) === COLON);
}

/** Whether an event's data is complete: an end marker or JSON. */
export function isWhole(data: string): boolean {
  if (data === DONE) return true;
  return valueOr(() => typeof JSON.parse(data) === 'object', false);
}
