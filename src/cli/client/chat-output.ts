import { print } from '../terminal/terminal.ts';

/** Characters that control a terminal, bidi controls included, except line ends and tabs. */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]/g;

/** Removes characters that control a terminal. */
function withoutControls(text: string): string {
  return text.replace(CONTROLS, '');
}

/**
 * Prints an answer while it arrives: its text to standard output, its reasoning dimmed to standard
 * error where that is a terminal.
 */
export class ChatOutput {
  readonly #isTerminal = process.stdout.isTTY === true;
  readonly #showsReasoning = process.stderr.isTTY === true;
  readonly #dims = process.stderr.isTTY === true && process.stderr.getColorDepth() > 1;
  #reasoned = false;
  #written = false;
  #lineOpen = false;

  reasoning(text: string): void {
    const shown = withoutControls(text);
    if (!this.#showsReasoning || this.#written || shown === '') return;
    this.#reasoned = true;
    process.stderr.write(this.#dims ? `\u001b[2m${shown}\u001b[22m` : shown);
  }

  /** @throws EPIPE where the reader has closed standard output */
  async text(text: string): Promise<void> {
    const shown = this.#isTerminal ? withoutControls(text) : text;
    if (shown === '') return;
    if (this.#reasoned && !this.#written) process.stderr.write('\n\n');
    this.#written = true;
    this.#lineOpen = !shown.endsWith('\n');
    await print(shown);
  }

  /** Ends the line, so that the next output starts a new one. */
  async end(): Promise<void> {
    if (this.#reasoned && !this.#written) process.stderr.write('\n');
    if (this.#lineOpen) await print('\n');
    this.#reasoned = false;
    this.#written = false;
    this.#lineOpen = false;
  }
}
