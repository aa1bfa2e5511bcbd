import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { machine } from '../bench/machine.ts';
import { megabytes, type Report } from './torture.ts';

export function table(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const cells = [head, ...rows.map((row) => row.map(String))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(cells[0]!), rule, ...cells.slice(1).map(line)].join('\n');
}

const whole = (value: number) => Math.round(value).toLocaleString('en-US');

/** Report in Markdown, for SECURITY.md. */
export function reportText(report: Report): string {
  const { settings, attackers, capacity, compared, small, smallImages, latencies, violations } =
    report;
  const { load, seconds, fuzzed } = attackers;
  const { bounds } = settings;
  const facts = machine();
  const inputs = Object.values(fuzzed).reduce((sum, count) => sum + count, 0);
  const lost = violations.filter(({ rule }) => /lost|sum|uploads/.test(rule));
  const perSecond = (count: number) => (count / seconds).toFixed(1);
  const lines = [
    `Run of ${facts['Date']} UTC, ${settings.minutes} min, seed \`${settings.seed}\`, on ${facts['CPU']}, ` +
      `${facts['Cores']} cores, ${facts['Memory']}, ${facts['System']}, Node ${facts['Node']}. Daemon, upstream, ` +
      'tenants and attackers shared this machine; V8 had a heap of ' +
      `${bounds.heap} MB.`,
    '',
    table(
      ['Measure', 'Measured', 'Limit'],
      [
        ['Capacity, mixed requests a second', capacity.toFixed(1), ''],
        [
          'Requests of bad tenants, a second',
          `${perSecond(load.sent + load.skipped)} (${((load.sent + load.skipped) / seconds / capacity).toFixed(1)} × capacity)`,
          '',
        ],
        [
          'of which sent, served, rejected',
          `${perSecond(load.sent)}, ${perSecond(load.served)}, ${perSecond(load.rejected)}`,
          '',
        ],
        [
          'Good tenants: requests served',
          whole(report.tenants.reduce((sum, { served }) => sum + served, 0)),
          '',
        ],
        [
          'Good tenants: share served at once',
          worstShare(report),
          `≥ ${(bounds.share * 100).toFixed(0)} %`,
        ],
        [
          'Small requests of good tenants, p50 and p99',
          `${whole(small.p50)}, ${whole(small.p99)} ms`,
          `≤ ${whole(bounds.p99)} ms`,
        ],
        [
          'The same with images (uploads, small batches)',
          `${whole(smallImages.p50)}, ${whole(smallImages.p99)} ms`,
          `≤ ${whole(bounds.imageP99)} ms`,
        ],
        [
          'Peak resident memory, with children',
          megabytes(report.peakBytes),
          `≤ ${megabytes(bounds.peak)}`,
        ],
        [
          'Resident memory after the load',
          megabytes(report.restBytes),
          `≤ ${megabytes(bounds.rest)}`,
        ],
        ['Most descriptors', whole(report.peakDescriptors), ''],
        [
          'Fuzzed inputs',
          `${whole(inputs)} (${Object.entries(fuzzed)
            .map(([kind, count]) => `${kind} ${whole(count)}`)
            .join(', ')})`,
          '',
        ],
        [
          'Tasks, uploads and callbacks compared',
          `${whole(compared.tasks)}, ${whole(compared.uploads)}, ${whole(compared.callbacks)}`,
          '',
        ],
        [
          'Lost, charged twice or damaged',
          lost.length === 0 ? 'nothing' : `${lost.length} rules violated`,
          'nothing',
        ],
      ],
    ),
    '',
    table(
      ['Fault', 'Outcome'],
      report.faults.map(({ name, outcome }) => [name, outcome]),
    ),
    '',
    table(
      ['Attack', 'What it does', 'Rounds', 'Requests'],
      attackers.attacks.map(({ name, summary, rounds, requests }) => [
        name,
        summary,
        rounds,
        whole(requests),
      ]),
    ),
    '',
    table(
      ['Requests of good tenants', 'Count', 'p50 ms', 'p99 ms', 'worst ms'],
      latencies.groups.map(({ group, count, p50, p99, worst }) => [
        group,
        whole(count),
        whole(p50),
        whole(p99),
        whole(worst),
      ]),
    ),
    '',
    `Log: ${whole(report.logLines)} lines${Object.entries(report.logErrors)
      .map(([text, count]) => `; ${count} × "${text}"`)
      .join('')}. ` +
      `The event loop of the harness was delayed by ${whole(report.harnessDelay)} ms (p99).`,
    '',
    violations.length === 0
      ? 'Violations: none.'
      : [
          'Violations:',
          '',
          ...violations.flatMap(({ rule, count, examples }) => [
            `- ${rule} (${count})`,
            ...examples.map((example) => `  - ${example.replaceAll('\n', ' ')}`),
          ]),
        ].join('\n'),
    '',
  ];
  return lines.join('\n');
}

function worstShare({ tenants }: Report): string {
  const shares = tenants.map(({ served, refused }) => served / Math.max(1, served + refused));
  return `${(Math.min(...shares) * 100).toFixed(1)} %`;
}

/** Writes a report to a file, between the markers of its name if the file has them. */
export function writeReport(file: string, name: string, text: string): void {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const [opening, closing] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`];
  const [start, end] = [before.indexOf(opening), before.indexOf(closing)];
  const isMarked = start !== -1 && end > start;
  const whole = isMarked
    ? `${before.slice(0, start)}${opening}\n\n${text}\n${before.slice(end)}`
    : text;
  writeFileSync(file, whole);
}
