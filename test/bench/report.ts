import type { Report } from './suite.ts';
import { markdown } from './table.ts';

/** The whole report, ready to be pasted into a pull request. */
export function reportText(name: string, machine: Record<string, string>, report: Report): string {
  const facts = { ...machine, ...report.versions };
  const parts = [`# Benchmark: ${name}`];
  parts.push(markdown({ headings: ['Machine', ''], rows: Object.entries(facts) }));
  for (const { title, text, table } of report.sections) {
    parts.push(`## ${title}`, text, markdown(table));
  }
  parts.push('## Goals');
  parts.push(
    markdown({
      headings: ['Case', 'Goal', 'Measured', 'At best', 'Met'],
      rows: report.goals.map((goal) => [
        goal.case,
        goal.goal,
        goal.measured,
        goal.atBest,
        goal.met === undefined ? 'not measured' : goal.met ? 'yes' : 'NO',
      ]),
    }),
  );
  if (report.faults.length > 0) {
    parts.push('## Faults', report.faults.map((fault) => `- ${fault}`).join('\n'));
  }
  return `${parts.join('\n\n')}\n`;
}
