interface Sequence {
  readonly text: string;
  /**
   * Failure function: matched characters that remain after a mismatch, by characters matched before. As long as the
   * longest match so far: a sequence may be much longer than the text that is searched.
   */
  readonly fallbacks: number[];
  /** Characters of the sequence that the text so far ends with. */
  matched: number;
}

const sequenceOf = (text: string): Sequence => ({ text, fallbacks: [], matched: 0 });

/** Characters that match after one more, of which a number matched before. */
function matchedWith({ text, fallbacks }: Sequence, before: number, code: number): number {
  let matched = before;
  while (matched > 0 && text.charCodeAt(matched) !== code) matched = fallbacks[matched - 1]!;
  return text.charCodeAt(matched) === code ? matched + 1 : matched;
}

function advance(sequence: Sequence, code: number): void {
  const { text, fallbacks, matched } = sequence;
  sequence.matched = matchedWith(sequence, matched, code);
  if (sequence.matched <= fallbacks.length) return;
  const last = fallbacks.length;
  fallbacks.push(
    last === 0 ? 0 : matchedWith(sequence, fallbacks[last - 1]!, text.charCodeAt(last)),
  );
}

/**
 * Cuts a streamed text before the first stop sequence, also one that several chunks contain in parts.
 * The first is the one that ends first; of several that end there, the longest. Searches by Knuth,
 * Morris and Pratt: clients choose the length of sequences, and the time of this search does not depend
 * on it.
 */
export class StopSequences {
  readonly #sequences: readonly Sequence[];
  /** First characters of the sequences. */
  readonly #firsts: ReadonlySet<number>;
  /** Whether the text so far ends with the beginning of a sequence. */
  #isMatching = false;
  /** End of the text so far, which may begin a sequence. */
  #held = '';
  /** The sequence that ended the text; null before that. */
  found: string | null = null;

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences.filter((text) => text !== '').map(sequenceOf);
    this.#firsts = new Set(this.#sequences.map(({ text }) => text.charCodeAt(0)));
  }

  /** Adds text and returns the text that cannot be the beginning of a sequence. */
  push(text: string): string {
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (!this.#isMatching && !this.#firsts.has(code)) continue;
      const found = this.#advance(code);
      if (found === '') continue;
      this.found = found;
      return (this.#held + text.slice(0, index + 1)).slice(0, -found.length);
    }
    const pending = this.#held + text;
    const held = this.#sequences.reduce((most, { matched }) => Math.max(most, matched), 0);
    this.#held = pending.slice(pending.length - held);
    return pending.slice(0, pending.length - held);
  }

  /** Returns the text that is held back, at the end of the text; what comes next is another text. */
  flush(): string {
    const held = this.#held;
    this.#held = '';
    this.#isMatching = false;
    for (const sequence of this.#sequences) sequence.matched = 0;
    return held;
  }

  /** Returns the longest sequence that ends with a character; empty for none. */
  #advance(code: number): string {
    let longest = '';
    this.#isMatching = false;
    for (const sequence of this.#sequences) {
      advance(sequence, code);
      const { matched, text } = sequence;
      if (matched > 0) this.#isMatching = true;
      if (matched === text.length && matched > longest.length) longest = text;
    }
    return longest;
  }
}
