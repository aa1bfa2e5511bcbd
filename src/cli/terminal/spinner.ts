import { printable } from '../../operations/batch/filename.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const PERIOD_MS = 100;

const CLEAR = '\r\u001b[K';

/** A line with a spinner on standard error, where that is a terminal. */
export class Spinner {
  readonly #started = performance.now();
  readonly #dims = process.stderr.isTTY === true && process.stderr.getColorDepth() > 1;
  #text = '';
  #frame = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param wanted false shows nothing */
  constructor(wanted: boolean) {
    if (!wanted || !process.stderr.isTTY || process.env['TERM'] === 'dumb') return;
    this.#timer = setInterval(() => this.#draw(), PERIOD_MS).unref();
  }

  /** @param text may contain control characters, which are shown as escapes */
  show(text: string): void {
    this.#text = printable(text);
    this.#draw();
  }

  /** Removes the line. */
  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    process.stderr.write(CLEAR);
  }

  #draw(): void {
    if (this.#timer === undefined) return;
    const seconds = Math.floor((performance.now() - this.#started) / 1000);
    const time = `${seconds} s`;
    const frame = FRAMES[this.#frame % FRAMES.length]!;
    this.#frame += 1;
    // A line that wraps could not be removed.
    const width = Math.max(0, (process.stderr.columns || 80) - time.length - 4);
    const text = [...this.#text].slice(0, width).join('');
    const shown = this.#dims ? `\u001b[2m${time}\u001b[22m` : time;
    process.stderr.write(`${CLEAR}${frame} ${text} ${shown}`);
  }
}
