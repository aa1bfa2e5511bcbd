import { isObject, textOf } from '../../schema/untrusted.ts';

interface Entry {
  /** Position of the end of its token in the text. */
  readonly end: number;
  readonly value: unknown;
}

/** Log probabilities of tokens, until the text of each token is passed on. */
export class LogprobQueue {
  #entries: Entry[] = [];
  /** Characters of text that were added. */
  #added = 0;
  /** Characters of text that were passed on. */
  #taken = 0;

  /** Adds a text and the log probabilities of its tokens; null for a text without. */
  add(text: string, logprobs: readonly unknown[] | null): void {
    const end = this.#added + text.length;
    let position = this.#added;
    for (const value of logprobs ?? []) {
      const token = isObject(value) ? textOf(value['token']) : '';
      // A token of a few bytes of a character may have no text of its own.
      position = Math.min(end, position + token.length);
      this.#entries.push({ end: position, value });
    }
    this.#added = end;
  }

  /** Returns those of the tokens that are complete once the next characters are passed on. */
  take(characters: number): readonly unknown[] {
    this.#taken += characters;
    if (this.#entries.length === 0) return [];
    const count = this.#entries.findIndex(({ end }) => end > this.#taken);
    const taken = this.#entries.splice(0, count === -1 ? this.#entries.length : count);
    return taken.map(({ value }) => value);
  }

  /** Begins another text. */
  clear(): void {
    this.#entries = [];
    this.#added = 0;
    this.#taken = 0;
  }
}
