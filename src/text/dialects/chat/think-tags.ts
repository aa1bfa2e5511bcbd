const OPENING = '<think>';
const CLOSING = '</think>';

/** Characters before the opening tag: longer blank text is an answer. */
const MAX_BLANK = 1000;

type Write = (kind: 'reasoning' | 'text', text: string) => void;

/** Splits text that begins with reasoning between tags, as many open models write it, wherever it is cut. */
export class ThinkTags {
  readonly #write: Write;
  #state: 'start' | 'reasoning' | 'text' = 'start';
  /** Text that may be the beginning of a tag, or blank text beside one. */
  #held = '';
  /** Whether a tag came last, beside which blank text is dropped. */
  #isBesideTag = false;

  constructor(write: Write) {
    this.#write = write;
  }

  /** Whether all further text belongs to the answer. */
  get isOver(): boolean {
    return this.#state === 'text' && !this.#isBesideTag;
  }

  push(text: string): void {
    this.#held += text;
    if (this.#state === 'start' && !this.#begin()) return;
    if (this.#state === 'reasoning') this.#readReasoning();
    if (this.#state === 'text') this.#flush('text', this.#held.length);
  }

  /** Writes what is held at the end of the answer. */
  end(): void {
    const kind = this.#state === 'reasoning' ? 'reasoning' : 'text';
    this.#flush(kind, this.#held.length);
  }

  /** @returns whether it is known how the text begins */
  #begin(): boolean {
    const text = this.#held.trimStart();
    const isUndecided = OPENING.startsWith(text) && text !== OPENING;
    if (isUndecided && this.#held.length < MAX_BLANK) return false;
    this.#state = 'text';
    if (text.startsWith(OPENING)) {
      this.#state = 'reasoning';
      this.#held = text.slice(OPENING.length);
      this.#isBesideTag = true;
    }
    return true;
  }

  #readReasoning(): void {
    const end = this.#held.indexOf(CLOSING);
    if (end === -1) {
      this.#flush('reasoning', this.#held.length - lengthOfBegunTag(this.#held));
      return;
    }
    this.#flush('reasoning', end);
    this.#held = this.#held.slice(CLOSING.length);
    this.#state = 'text';
    this.#isBesideTag = true;
  }

  #flush(kind: 'reasoning' | 'text', length: number): void {
    let text = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    if (this.#isBesideTag) text = text.trimStart();
    if (text === '') return;
    this.#isBesideTag = false;
    this.#write(kind, text);
  }
}

/** Characters at the end of a text that may begin the closing tag. */
function lengthOfBegunTag(text: string): number {
  for (let length = CLOSING.length - 1; length > 0; length -= 1) {
    if (text.endsWith(CLOSING.slice(0, length))) return length;
  }
  return 0;
}
