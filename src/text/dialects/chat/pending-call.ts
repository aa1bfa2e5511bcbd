/** A function call, as far as it is received. */
export class PendingCall {
  readonly kind = 'call';
  readonly id: string;
  /** Whether the id was made here, because the provider's was missing or taken. */
  readonly isOurId: boolean;
  /** The client's name of the tool; empty until it is received. */
  name = '';
  /** The arguments so far. */
  json = '';
  /** Characters of the arguments that are emitted. */
  emitted = 0;
  closed = false;
  readonly #end = new JsonEnd();

  constructor(id: string, isOurId: boolean) {
    this.id = id;
    this.isOurId = isOurId;
  }

  /** Whether the arguments are a complete JSON object. */
  get isComplete(): boolean {
    return this.#end.isReached(this.json);
  }
}

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Finds the end of a JSON object that arrives in fragments, reading each character once. */
class JsonEnd {
  #depth = 0;
  #quoted = false;
  #escaped = false;
  #read = 0;
  #ended = false;

  /** Whether the object is complete. @param text all fragments so far */
  isReached(text: string): boolean {
    while (!this.#ended && this.#read < text.length) {
      this.#step(text.charCodeAt(this.#read));
      this.#read += 1;
    }
    return this.#ended;
  }

  #step(code: number): void {
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
      if (this.#depth <= 0) this.#ended = true;
    }
  }
}
