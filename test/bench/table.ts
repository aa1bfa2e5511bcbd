import type { Report } from './suite.ts';

export interface Table {
  headings: readonly string[];
  rows: readonly (readonly string[])[];
}

/** A Markdown table, padded so that it reads as well in a terminal. Figures are aligned right. */
export function markdown({ headings, rows }: Table): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = headings.map((_, column) =>
    Math.max(3, ...cells.map((row) => (row[column] ?? '').length)),
  );
  const figures = headings.map((_, column) =>
    rows.every((row) => /^[\d.–]*$/.test(row[column] ?? '')),
  );
  const line = (row: readonly string[]): string =>
    `| ${row
      .map((cell, column) =>
        figures[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join(' | ')} |`;
  const rule = widths.map((width, column) =>
    figures[column] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width),
  );
  const [head, ...body] = cells;
  return [line(head!), line(rule), ...body.map(line)].join('\n');
}

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
