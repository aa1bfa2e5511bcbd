import type { Latencies } from '../torture/latencies.ts';
import { table } from '../torture/report.ts';
import type { Violation } from '../torture/violations.ts';
import { short } from './picture.ts';
import type { Recording } from './samples.ts';
import type { Judged } from './verdict.ts';

/** What a run did beside its samples. */
export interface Outcome {
  readonly served: number;
  /** Requests that got 429 or 503 and were sent again. */
  readonly refused: number;
  /** Requests that were due but not sent. */
  readonly skipped: number;
  /** Tasks, uploads and callbacks. */
  readonly compared: number;
  readonly violations: readonly Violation[];
  readonly groups: Latencies['groups'];
}

const whole = (value: number) => Math.round(value).toLocaleString('en-US');

/** Report in Markdown, for SECURITY.md. @param outcome null of a run that has not ended */
export function soakText(
  { header, samples, happenings }: Recording,
  judged: readonly Judged[],
  outcome: Outcome | null,
): string {
  const { machine, capacity, rate, hours } = header;
  const minutes = (samples.at(-1)?.at ?? 0) / 60;
  const done = new Map<string, number>();
  for (const { happened } of happenings) done.set(happened, (done.get(happened) ?? 0) + 1);
  const requests = samples.reduce((sum, { requests: count }) => sum + count, 0);
  const lines = [
    `Run of ${header.started.slice(0, 16).replace('T', ' ')} UTC, ${short(minutes)} of ${short(hours * 60)} minutes, ` +
      `on ${machine['CPU']}, ${machine['Cores']} cores, ${machine['Memory']}, ${machine['System']}, ` +
      `Node ${machine['Node']}. Load and provider shared the machine. Capacity: ${capacity.toFixed(1)} mixed requests a ` +
      `second, of which ${rate.toFixed(1)} were sent, ${whole(requests)} in all.`,
    '',
    table(
      ['Measure', 'Level', 'Change an hour, with 95 % confidence', 'Verdict'],
      judged.map(({ name, level, slope, confidence, unit, verdict }) => {
        const suffix = unit === '' ? '' : ` ${unit}`;
        const sign = slope < 0 ? '−' : '+';
        return verdict === 'not judged' && level === 0
          ? [name, '', '', verdict]
          : [
              name,
              `${short(level)}${suffix}`,
              `${sign}${short(Math.abs(slope))} ± ${short(confidence)}${suffix}`,
              verdict,
            ];
      }),
    ),
    '',
    `Meanwhile: ${[...done].map(([word, count]) => `${word} (${count})`).join(', ')}.`,
  ];
  if (outcome !== null) {
    const { served, refused, skipped, compared, violations } = outcome;
    lines.push(
      `${whole(served)} requests were served, ${whole(refused)} refused and sent again, ${whole(skipped)} not sent; ` +
        `${whole(compared)} tasks, uploads and callbacks were compared.`,
      '',
      violations.length === 0 ? 'Lost, charged wrong or damaged: nothing.' : 'Violations:\n',
      ...violations.flatMap(({ rule, count, examples }) => [
        `- ${rule} (${count})`,
        ...examples.map((example) => `  - ${example.replaceAll('\n', ' ')}`),
      ]),
    );
  }
  return `${lines.join('\n')}\n`;
}
