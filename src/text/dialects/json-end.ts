const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Finds the end of a JSON object that arrives in fragments, reading each character once. */
export class JsonEnd {
  #depth = 0;
  #quoted = false;
  #escaped = false;
  #read = 0;
  #ended = false;

  /** Whether the object is complete. @param text all fragments so far */
  isReached(text: string): boolean {
    while (!this.#ended && this.#read < text.length) {
      this.#ended = this.isAt(text.charCodeAt(this.#read));
      this.#read += 1;
    }
    return this.#ended;
  }

  /** Reads one character. @returns whether it closes the object */
  isAt(code: number): boolean {
    if (this.#escaped) {
      this.#escaped = false;
    } else if (this.#quoted) {
      if (code === BACKSLASH) this.#escaped = true;
      else if (code === QUOTE) this.#quoted = false;
    } else if (code === QUOTE) {
      this.#quoted = true;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      this.#depth += 1;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      this.#depth -= 1;
      return this.#depth <= 0;
    }
    return false;
  }
}
