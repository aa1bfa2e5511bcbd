import type { SingleBar } from 'cli-progress';

/** A bar on standard error while a batch runs. */
export interface Progress {
  advance(): void;
  /** Takes the bar away. */
  stop(): void;
}

const SILENT: Progress = { advance() {}, stop() {} };

/** A bar with rate and time left where a person watches, nothing elsewhere. */
export async function startProgress(total: number, wanted: boolean): Promise<Progress> {
  if (!wanted || !process.stderr.isTTY || total < 2) return SILENT;
  const { default: cliProgress } = await import('cli-progress');
  const started = performance.now();
  let done = 0;
  const bar: SingleBar = new cliProgress.SingleBar(
    {
      format: '{bar} {percentage}% | {value} of {total} | {rate} files/s | {eta_formatted} left',
      stream: process.stderr,
      clearOnComplete: true,
      hideCursor: true,
      fps: 10,
    },
    cliProgress.Presets.shades_classic,
  );
  bar.start(total, 0, { rate: '-' });
  return {
    advance() {
      done += 1;
      const rate = (done / (performance.now() - started)) * 1000;
      bar.update(done, { rate: rate >= 10 ? rate.toFixed(0) : rate.toFixed(1) });
    },
    stop() {
      bar.stop();
    },
  };
}
