import { tryParseJson } from '../../schema/json.ts';

/** Characters of the largest object: it is parsed at once. */
const MAX_LENGTH = 4 * 1024 * 1024;

/** The first line of a code fence, and what may become one. */
const FENCE = /^\s*```[ \t]*(json)?[ \t]*\r?\n/i;
const PARTIAL_FENCE = /^\s*(`{1,2}|```[ \t]*(j|js|jso|json)?[ \t]*\r?)?$/i;
/** Longest beginning that is waited for: more is blanks without end. */
const MAX_LEADING = 1000;

/** Reads one JSON object from a streamed text, which may be within a code fence. */
export class ObjectReader {
  /** Text before the object. */
  leading = '';
  /** What is wrong with the text: `start` where it does not begin with an object; null for nothing. */
  fault: string | null = null;
  /** Whether the object has come, and is valid. */
  isComplete = false;
  #text = '';
  #isFenced = false;
  #isOpen = false;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** Text after the object. */
  #trailing = '';

  /** Returns the part of the object that a piece of text adds. */
  push(text: string): string {
    if (this.fault !== null) return '';
    if (this.isComplete) {
      this.#end(text);
      return '';
    }
    return this.#isOpen ? this.#read(text) : this.#begin(text);
  }

  #begin(text: string): string {
    this.leading += text;
    const fence = FENCE.exec(this.leading);
    const inner = fence === null ? this.leading : this.leading.slice(fence[0].length);
    const rest = inner.trimStart();
    if (rest.startsWith('{')) {
      this.#isFenced = fence !== null;
      this.#isOpen = true;
      return this.#read(rest);
    }
    const isWaiting = rest === '' || (fence === null && PARTIAL_FENCE.test(inner));
    if (!isWaiting || this.leading.length > MAX_LEADING) this.fault = 'start';
    return '';
  }

  #read(text: string): string {
    for (let index = 0; index < text.length; index += 1) {
      if (!this.#closesObject(text.charCodeAt(index))) continue;
      const own = text.slice(0, index + 1);
      this.#text += own;
      this.isComplete = tryParseJson(this.#text) !== undefined;
      this.#text = '';
      if (!this.isComplete) this.fault = 'invalid JSON';
      else this.#end(text.slice(index + 1));
      return own;
    }
    this.#text += text;
    if (this.#text.length > MAX_LENGTH) this.fault = `more than ${MAX_LENGTH} characters of JSON`;
    return text;
  }

  /** Reads one character. @returns whether it closes the object */
  #closesObject(code: number): boolean {
    if (this.#inString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === 0x5c) this.#isEscaped = true;
      else if (code === 0x22) this.#inString = false;
      return false;
    }
    if (code === 0x22) this.#inString = true;
    else if (code === 0x7b || code === 0x5b) this.#depth += 1;
    else if (code === 0x7d || code === 0x5d) this.#depth -= 1;
    return this.#depth === 0;
  }

  /** After the object only the end of its fence may come. */
  #end(text: string): void {
    const rest = (this.#trailing + text).trim();
    this.#trailing = rest;
    const isExpected = this.#isFenced ? '```'.startsWith(rest) : rest === '';
    if (!isExpected) this.fault = 'more text after the object';
  }
}
