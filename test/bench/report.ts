import { markdown } from './table.ts';
import type { Report } from './trial.ts';

/** The whole report, ready to be pasted into a pull request. */
export function reportText(name: string, machine: Record<string, string>, report: Report): string {
  const { versions, sections, goals, faults } = report;
  const facts = Object.entries({ ...machine, ...versions });
  const goalRows = goals.map(({ met, ...goal }) => [
    ...[goal.case, goal.goal, goal.measured, goal.atBest],
    met === undefined ? 'not measured' : met ? 'yes' : 'NO',
  ]);
  const parts = [
    `# Benchmark: ${name}`,
    markdown({ headings: ['Machine', ''], rows: facts }),
    ...sections.flatMap(({ title, text, table }) => [`## ${title}`, text, markdown(table)]),
    '## Goals',
    markdown({ headings: ['Case', 'Goal', 'Measured', 'At best', 'Met'], rows: goalRows }),
    ...(faults.length > 0 ? ['## Faults', faults.map((fault) => `- ${fault}`).join('\n')] : []),
  ];
  return `${parts.join('\n\n')}\n`;
}
