interface Sequence {
  readonly text: string;
  /** Failure function: matched characters that remain after a mismatch, by characters matched before. */
  readonly fallbacks: Int32Array;
  /** Characters of the sequence that the text so far ends with. */
  matched: number;
}

function sequenceOf(text: string): Sequence {
  const fallbacks = new Int32Array(text.length);
  for (let index = 1, matched = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    while (matched > 0 && text.charCodeAt(matched) !== code) matched = fallbacks[matched - 1]!;
    if (text.charCodeAt(matched) === code) matched += 1;
    fallbacks[index] = matched;
  }
  return { text, fallbacks, matched: 0 };
}

function advance(sequence: Sequence, code: number): void {
  const { text, fallbacks } = sequence;
  let { matched } = sequence;
  while (matched > 0 && text.charCodeAt(matched) !== code) matched = fallbacks[matched - 1]!;
  if (text.charCodeAt(matched) === code) matched += 1;
  sequence.matched = matched;
}

/**
 * Cuts a streamed text before the first stop sequence, also one that several chunks contain in parts.
 * Searches by Knuth, Morris and Pratt: clients choose the length of sequences, and the time of this
 * search does not depend on it.
 */
export class StopSequences {
  readonly #sequences: readonly Sequence[];
  /** End of the text so far, which may begin a sequence. */
  #held = '';
  #found: string | null = null;

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences.filter((text) => text !== '').map(sequenceOf);
  }

  /** The sequence that ended the text; null before that. */
  get found(): string | null {
    return this.#found;
  }

  /** Adds text and returns the text that cannot be the beginning of a sequence. */
  push(text: string): string {
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      let longest = '';
      for (const sequence of this.#sequences) {
        advance(sequence, code);
        const isComplete = sequence.matched === sequence.text.length;
        if (isComplete && sequence.text.length > longest.length) longest = sequence.text;
      }
      if (longest !== '') {
        this.#found = longest;
        return (this.#held + text.slice(0, index + 1)).slice(0, -longest.length);
      }
    }
    const pending = this.#held + text;
    const held = this.#sequences.reduce((most, { matched }) => Math.max(most, matched), 0);
    this.#held = pending.slice(pending.length - held);
    return pending.slice(0, pending.length - held);
  }

  /** The text that is still held back, at the end of the stream. */
  flush(): string {
    return this.#held;
  }
}
