export interface Table {
  headings: readonly string[];
  rows: readonly (readonly string[])[];
}

/** A Markdown table, padded for terminals. Figures are aligned right. */
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
