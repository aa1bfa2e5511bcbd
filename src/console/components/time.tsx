import { useState } from 'preact/hooks';
import { useRefresh } from '../api/resource.ts';
import { formatSpan, formatTime } from './format.ts';

const TICK_MS = 10_000;

interface TimeProps {
  /** Seconds since the epoch. */
  readonly at: number;
}

/** A time from now, such as `5 min ago`, with the exact one on hover. */
export function Time({ at }: TimeProps) {
  const [, setTicks] = useState(0);
  useRefresh(() => setTicks((ticks) => ticks + 1), TICK_MS);
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={formatTime(at)}>
      {formatSpan(at - Date.now() / 1000)}
    </time>
  );
}
