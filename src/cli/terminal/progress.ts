import { printable } from '../../operations/batch/filename.ts';
import { beforeLines } from './terminal.ts';

/** A progress bar on standard error. */
export interface Progress {
  advance(): void;
  /** Removes the bar. */
  stop(): void;
}

const SILENT: Progress = { advance() {}, stop() {} };

/** Cells of the bar: at most, and the fewest that are readable. */
const MAX_CELLS = 40;
const MIN_CELLS = 10;

/** Columns of a terminal whose size is unknown. */
const DEFAULT_WIDTH = 80;

/** Seconds as text: `42s`, `3m05s`, `2h10m`. */
function duration(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}m${two(whole % 60)}s`;
  return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
}

/**
 * The bar in one line.
 *
 * @param milliseconds since the first file was started
 * @param columns of the terminal
 */
export function progressLine(
  done: number,
  total: number,
  milliseconds: number,
  columns: number,
): string {
  const share = `${Math.floor((done / total) * 100)}%`;
  const parts = [`${done} of ${total}`];
  // Both are unknown before a file has finished.
  if (done > 0) {
    const rate = (done / Math.max(1, milliseconds)) * 1000;
    parts.push(`${rate >= 10 ? rate.toFixed(0) : rate.toFixed(1)} files/s`);
    parts.push(`${duration((total - done) / rate)} left`);
  }
  // One column stays empty: some terminals wrap when the last one is written.
  const width = columns - 1;
  const text = () => [share, ...parts].join(' | ');
  while (parts.length > 1 && text().length + 1 + MIN_CELLS > width) parts.pop();
  const cells = Math.min(MAX_CELLS, width - text().length - 1);
  if (cells < MIN_CELLS) return text().slice(0, Math.max(0, width));
  const full = Math.round((done / total) * cells);
  return `${'█'.repeat(full)}${'░'.repeat(cells - full)} ${text()}`;
}

const REDRAW_MS = 100;
const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_TO_END = '\u001b[K';
const CLEAR_LINE = '\r\u001b[2K';

/** Whether standard error is a terminal that moves the cursor. */
const canRedraw = () => process.stderr.isTTY === true && process.env['TERM'] !== 'dumb';

/** A bar with rate and time left where standard error is a terminal; nothing elsewhere. */
export function startProgress(total: number, wanted: boolean): Progress {
  const { stderr } = process;
  if (!wanted || !canRedraw() || total < 2) return SILENT;
  const started = performance.now();
  let done = 0;
  const draw = () => {
    const columns = stderr.columns || DEFAULT_WIDTH;
    const line = progressLine(done, total, performance.now() - started, columns);
    stderr.write(`\r${line}${CLEAR_TO_END}`);
  };
  stderr.write(HIDE_CURSOR);
  draw();
  const timer = setInterval(draw, REDRAW_MS).unref();
  // Other lines scroll past above the bar, which is drawn again below them.
  beforeLines(() => stderr.write(CLEAR_LINE));
  let stopped = false;
  return {
    advance() {
      done += 1;
    },
    stop() {
      if (stopped) return;
      stopped = true;
      clearInterval(timer);
      beforeLines(undefined);
      draw();
      stderr.write(SHOW_CURSOR + CLEAR_LINE);
    },
  };
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/** A line with a spinner on standard error, where that is a terminal. */
export class Spinner {
  readonly #started = performance.now();
  readonly #dims = process.stderr.isTTY === true && process.stderr.getColorDepth() > 1;
  #text = '';
  #frame = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param wanted false shows nothing */
  constructor(wanted: boolean) {
    if (!wanted || !canRedraw()) return;
    this.#timer = setInterval(() => this.#draw(), REDRAW_MS).unref();
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
    process.stderr.write(`\r${CLEAR_TO_END}`);
  }

  #draw(): void {
    if (this.#timer === undefined) return;
    const seconds = Math.floor((performance.now() - this.#started) / 1000);
    const time = `${seconds} s`;
    const frame = FRAMES[this.#frame % FRAMES.length]!;
    this.#frame += 1;
    // A line that wraps could not be removed.
    const width = Math.max(0, (process.stderr.columns || DEFAULT_WIDTH) - time.length - 4);
    const text = [...this.#text].slice(0, width).join('');
    const shown = this.#dims ? `\u001b[2m${time}\u001b[22m` : time;
    process.stderr.write(`\r${CLEAR_TO_END}${frame} ${text} ${shown}`);
  }
}
