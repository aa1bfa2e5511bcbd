import { useEffect } from 'preact/hooks';
import { Listeners, useChanges } from '../api/listeners.ts';
import { formatSpan, formatTime } from './format.ts';

const TICK_MS = 10_000;

/** Called at an interval while a time is shown. */
const ticks = new Listeners();
let shown = 0;
let timer: ReturnType<typeof setInterval> | undefined;

interface TimeProps {
  /** Seconds since the epoch. */
  readonly at: number;
}

/** A time from now, such as `5 min ago`, with the exact one on hover. */
export function Time({ at }: TimeProps) {
  useChanges(ticks);
  useEffect(() => {
    shown += 1;
    timer ??= setInterval(() => document.hidden || ticks.call(), TICK_MS);
    return () => {
      shown -= 1;
      if (shown > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={formatTime(at)}>
      {formatSpan(at - Date.now() / 1000)}
    </time>
  );
}
