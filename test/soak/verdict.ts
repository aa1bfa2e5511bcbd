import type { Sample } from './samples.ts';

/** One measure that a picture shows and a verdict judges. */
export interface Line {
  readonly name: string;
  readonly unit: 'MB' | 'ms' | '';
  readonly of: (sample: Sample) => number | null;
  /** What a group of samples counts as: the lowest is what garbage collection leaves. */
  readonly by: 'lowest' | 'median' | 'mean';
  /** Growth that is noise whatever the level is, in the line's unit. */
  readonly slack: number;
  /** Whether it is flat only once the daemon deletes as much as it writes. */
  readonly isKept?: boolean;
  /** Factor of the allowed growth: other work on the machine changes times. */
  readonly leeway?: number;
}

const mega = (bytes: number | null) => (bytes === null ? null : bytes / 2 ** 20);

export const LINES: readonly Line[] = [
  { name: 'Memory of the daemon', unit: 'MB', of: ({ rss }) => mega(rss), by: 'mean', slack: 16 },
  { name: 'Heap in use', unit: 'MB', of: ({ heap }) => mega(heap), by: 'lowest', slack: 8 },
  {
    name: 'Memory with its processes',
    unit: 'MB',
    of: ({ tree }) => mega(tree),
    by: 'mean',
    slack: 48,
  },
  { name: 'Open descriptors', unit: '', of: ({ fds }) => fds, by: 'mean', slack: 16 },
  {
    name: 'Files in the data folder',
    unit: '',
    of: ({ files }) => files,
    by: 'mean',
    slack: 40,
    isKept: true,
  },
  {
    name: 'Bytes in the data folder',
    unit: 'MB',
    of: ({ bytes }) => mega(bytes),
    by: 'mean',
    slack: 4,
    isKept: true,
  },
  {
    name: 'Bytes of log files',
    unit: 'MB',
    of: ({ logs }) => mega(logs),
    by: 'mean',
    slack: 0.5,
    isKept: true,
  },
  {
    name: 'Small requests, p50',
    unit: 'ms',
    of: ({ p50 }) => p50,
    by: 'median',
    slack: 10,
    leeway: 5,
  },
  {
    name: 'Small requests, p99',
    unit: 'ms',
    of: ({ p99 }) => p99,
    by: 'median',
    slack: 200,
    leeway: 5,
  },
  {
    name: 'Event loop delay, p99',
    unit: 'ms',
    of: ({ loop }) => loop,
    by: 'median',
    slack: 25,
    leeway: 5,
  },
];

/** A straight line through points, with the half-width of the 95 % confidence interval of its slope. */
export interface Fit {
  readonly slope: number;
  readonly intercept: number;
  readonly halfWidth: number;
}

export interface Judged {
  readonly name: string;
  readonly unit: Line['unit'];
  /** Mean after the warm-up. */
  readonly level: number;
  /** Change an hour. */
  readonly slope: number;
  /** Half of the 95 % confidence interval of the slope. */
  readonly confidence: number;
  /** Change over the measured time. */
  readonly growth: number;
  /** Growth from which on the line is not flat. */
  readonly allowed: number;
  readonly verdict: 'flat' | 'grows' | 'not judged';
}

/** Groups of samples whose values are independent enough for a regression. */
const GROUPS = 24;
/** Fewer groups give no confidence. */
const LEAST_GROUPS = 6;

/** 97.5 % quantiles of Student's t by degrees of freedom; 2 for more. */
const STUDENT = [12.7, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16];

/** Least squares. */
export function regression(points: readonly (readonly [number, number])[]): Fit {
  const count = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / count;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count;
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
  const intercept = meanY - slope * meanX;
  const rest = points.reduce((sum, [x, y]) => sum + (y - intercept - slope * x) ** 2, 0);
  const deviation = Math.sqrt(rest / (count - 2) / spread);
  return { slope, intercept, halfWidth: (STUDENT[count - 3] ?? 2) * deviation };
}

function groupValue(values: readonly number[], by: Line['by']): number {
  const sorted = values.toSorted((one, other) => one - other);
  if (by === 'lowest') return sorted[0]!;
  if (by === 'median') return sorted[Math.floor(sorted.length / 2)]!;
  return sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
}

/** Points of a line, one for each of `groups` equal spans of time; spans without samples have none. */
export function pointsOf(
  samples: readonly Sample[],
  line: Line,
  groups: number,
): [number, number][] {
  const [first, last] = [samples[0]?.at ?? 0, samples.at(-1)?.at ?? 0];
  const spans: Sample[][] = Array.from({ length: groups }, () => []);
  for (const sample of samples) {
    const span = Math.floor(((sample.at - first) / Math.max(1, last - first)) * groups);
    spans[Math.min(groups - 1, span)]!.push(sample);
  }
  return spans.flatMap((span): [number, number][] => {
    const values = span.map(line.of).filter((value) => value !== null);
    if (values.length === 0) return [];
    const middle = span.reduce((sum, { at }) => sum + at, 0) / span.length;
    return [[middle, groupValue(values, line.by)]];
  });
}

/** Samples after the warm-up. */
export function measured(samples: readonly Sample[], warmUp: number): Sample[] {
  return samples.filter(({ at }) => at >= warmUp);
}

/**
 * Judges each line by the regression of its values after the warm-up: it grows if even the lower bound of the slope's
 * confidence interval gives more than the allowed growth.
 *
 * @param share of the level by which a line may grow over the measured time
 * @param isFull whether the run is so much longer than the retention that deletions have caught up
 */
export function judge(
  samples: readonly Sample[],
  { warmUp, share, isFull }: { warmUp: number; share: number; isFull: boolean },
): Judged[] {
  const rest = measured(samples, warmUp);
  const seconds = (rest.at(-1)?.at ?? 0) - (rest[0]?.at ?? 0);
  return LINES.map((line) => {
    const points = pointsOf(rest, line, GROUPS);
    const { name, unit } = line;
    if (points.length < LEAST_GROUPS) {
      const none = { level: 0, slope: 0, confidence: 0, growth: 0, allowed: 0 };
      return { name, unit, ...none, verdict: 'not judged' };
    }
    const { slope, halfWidth } = regression(points);
    const level = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
    const allowed = Math.max(line.slack, level * share * (line.leeway ?? 1));
    const surely = (slope - halfWidth) * seconds;
    const isJudged = isFull || line.isKept !== true;
    const verdict = isJudged ? (surely > allowed ? 'grows' : 'flat') : 'not judged';
    const hourly = { slope: slope * 3600, confidence: halfWidth * 3600 };
    return { name, unit, level, ...hourly, growth: slope * seconds, allowed, verdict };
  });
}
