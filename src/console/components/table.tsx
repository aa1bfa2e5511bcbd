import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { formatNumber } from './format.ts';

/**
 * Title and cell of a column. Numbers are right-aligned, with digits of equal width; `wide` columns take the space that
 * is left, and cut what does not fit.
 */
export type Column<Row> = readonly [
  title: ComponentChildren,
  cell: (row: Row) => ComponentChildren,
  kind?: 'number' | 'wide',
];

/** Rows that are rendered at first, and each time that more are asked for. */
const ROWS = 200;

export interface TableProps<Row> {
  /** Read to users of screen readers; visible if `showCaption` is set. */
  readonly caption: string;
  readonly showCaption?: boolean;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row, index: number) => string | number;
  /** Whether the first column names the row, as it does by default. */
  readonly namesRows?: boolean;
  /** Whether it is part of a text, where rows may have several lines. */
  readonly isText?: boolean;
}

/** A table with one line for each row; on a phone each row is a card. It scrolls where it is wider than the screen. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, showCaption = false, columns, rows, keyOf, namesRows = true, isText } = props;
  const [most, setMost] = useState(ROWS);
  const rest = rows.length - most;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by arrow keys
    <section class={isText ? 'table' : 'table lines'} aria-label={caption} tabIndex={0}>
      <table>
        <caption class={showCaption ? undefined : 'hidden'}>{caption}</caption>
        <thead>
          <tr>
            {columns.map(([title, , kind], index) => (
              <th key={index} scope="col" class={kind}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, most).map((row, place) => (
            <tr key={keyOf(row, place)}>
              {columns.map(([label, cell, kind], index) => {
                const isName = namesRows && index === 0;
                const Cell = isName ? 'th' : 'td';
                const content = cell(row);
                const title = typeof content === 'string' ? content : undefined;
                return (
                  <Cell
                    key={index}
                    scope={isName ? 'row' : undefined}
                    class={kind}
                    data-label={typeof label === 'string' ? label : undefined}
                    title={kind === 'number' || isText ? undefined : title}
                  >
                    {content}
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {rest > 0 && (
        <Button onClick={() => setMost(most + ROWS)}>
          Show {formatNumber(Math.min(rest, ROWS))} of {formatNumber(rest)} more
        </Button>
      )}
    </section>
  );
}
