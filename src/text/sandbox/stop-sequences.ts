interface Sequence {
  readonly text: string;
  /** For each length of what has matched: how much of it still does when the next character fails. */
  readonly fallbacks: Int32Array;
  /** How much of it the text ends with. */
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
 * Ends a text before the first stop sequence in it, however the text is cut. Takes time in
 * proportion to the text alone (Knuth, Morris, Pratt), since sequences are as long as clients like.
 */
export class StopSequences {
  readonly #sequences: readonly Sequence[];
  #held = '';
  #found: string | null = null;

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences.filter((text) => text !== '').map(sequenceOf);
  }

  /** The sequence that ended the text. */
  get found(): string | null {
    return this.#found;
  }

  /** What of the text so far is certain to come before any sequence. */
  push(text: string): string {
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      let longest = '';
      for (const sequence of this.#sequences) {
        advance(sequence, code);
        const whole = sequence.matched === sequence.text.length;
        if (whole && sequence.text.length > longest.length) longest = sequence.text;
      }
      if (longest !== '') {
        this.#found = longest;
        return (this.#held + text.slice(0, index + 1)).slice(0, -longest.length);
      }
    }
    const whole = this.#held + text;
    const kept = this.#sequences.reduce((most, { matched }) => Math.max(most, matched), 0);
    this.#held = whole.slice(whole.length - kept);
    return whole.slice(0, whole.length - kept);
  }

  /** What was held back, now that nothing more comes. */
  rest(): string {
    return this.#held;
  }
}
