import { printable } from '../../operations/filename.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const PERIOD = 100;

const CLEAR = '\r\u001b[K';

/** One line on standard error that moves while a person waits, and is gone afterwards. */
export class WaitLine {
  readonly #started = performance.now();
  readonly #dims = process.stderr.isTTY === true && process.stderr.getColorDepth() > 1;
  #text = '';
  #turns = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(wanted: boolean) {
    if (!wanted || !process.stderr.isTTY || process.env['TERM'] === 'dumb') return;
    this.#timer = setInterval(() => this.#draw(), PERIOD).unref();
  }

  /** @param text what is waited for, from whomever */
  show(text: string): void {
    this.#text = printable(text);
    this.#draw();
  }

  /** Takes the line away. */
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
    const frame = FRAMES[this.#turns % FRAMES.length]!;
    this.#turns += 1;
    // A line that wraps could not be taken away.
    const room = Math.max(0, (process.stderr.columns || 80) - time.length - 4);
    const text = [...this.#text].slice(0, room).join('');
    const shown = this.#dims ? `\u001b[2m${time}\u001b[22m` : time;
    process.stderr.write(`${CLEAR}${frame} ${text} ${shown}`);
  }
}
