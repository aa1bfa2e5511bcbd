import type { SingleBar } from 'cli-progress';

/** A progress bar on standard error. */
export interface Progress {
  advance(): void;
  /** Removes the bar. */
  stop(): void;
}

const SILENT: Progress = { advance() {}, stop() {} };

/** Cells of the bar: as many as cli-progress draws at most, and the fewest that are readable. */
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

/** A bar with rate and time left where standard error is a terminal; nothing elsewhere. */
export async function startProgress(total: number, wanted: boolean): Promise<Progress> {
  if (!wanted || !process.stderr.isTTY || total < 2) return SILENT;
  const { default: cliProgress } = await import('cli-progress');
  const started = performance.now();
  let done = 0;
  const bar: SingleBar = new cliProgress.SingleBar({
    format: (_, { value }) =>
      progressLine(
        value,
        total,
        performance.now() - started,
        process.stderr.columns || DEFAULT_WIDTH,
      ),
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
    fps: 10,
  });
  bar.start(total, 0);
  return {
    advance() {
      done += 1;
      bar.update(done);
    },
    stop() {
      bar.stop();
    },
  };
}
