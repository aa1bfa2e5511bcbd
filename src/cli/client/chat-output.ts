import { print } from '../terminal.ts';

/** What commands a terminal: all controls but the ends of lines and tabs, those of direction included. */
const COMMANDS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]/g;

/** A text from somewhere as a terminal may have it. */
function harmless(text: string): string {
  return text.replace(COMMANDS, '');
}

/**
 * Shows an answer while it comes: the answer on standard output; the reasoning on standard error,
 * dimmed, and only where a person sees it.
 */
export class ChatOutput {
  readonly #isTerminal = process.stdout.isTTY === true;
  readonly #showsReasoning = process.stderr.isTTY === true;
  readonly #dims = process.stderr.isTTY === true && process.stderr.getColorDepth() > 1;
  #reasoned = false;
  #written = false;
  #lineOpen = false;

  reasoning(text: string): void {
    const shown = harmless(text);
    if (!this.#showsReasoning || this.#written || shown === '') return;
    this.#reasoned = true;
    process.stderr.write(this.#dims ? `\u001b[2m${shown}\u001b[22m` : shown);
  }

  /** @throws EPIPE where the reader has gone away */
  async text(text: string): Promise<void> {
    const shown = this.#isTerminal ? harmless(text) : text;
    if (shown === '') return;
    if (this.#reasoned && !this.#written) process.stderr.write('\n\n');
    this.#written = true;
    this.#lineOpen = !shown.endsWith('\n');
    await print(shown);
  }

  /** Ends the line, so that what is said next begins one. */
  async end(): Promise<void> {
    if (this.#reasoned && !this.#written) process.stderr.write('\n');
    if (this.#lineOpen) await print('\n');
    this.#reasoned = false;
    this.#written = false;
    this.#lineOpen = false;
  }
}
