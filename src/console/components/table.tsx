import type { ComponentChildren } from 'preact';

/** Title and cell of a column. Numbers are right-aligned, with digits of equal width. */
export type Column<Row> = readonly [
  title: ComponentChildren,
  cell: (row: Row) => ComponentChildren,
  kind?: 'number',
];

interface TableProps<Row> {
  /** Read to users of screen readers; visible if `showCaption` is set. */
  readonly caption: string;
  readonly showCaption?: boolean;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row, index: number) => string | number;
  /** Whether the first column names the row, as it does by default. */
  readonly namesRows?: boolean;
}

/** A table that scrolls sideways where it is wider than the screen. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, showCaption = false, columns, rows, keyOf, namesRows = true } = props;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by arrow keys
    <section class="table" aria-label={caption} tabIndex={0}>
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
          {rows.map((row, place) => (
            <tr key={keyOf(row, place)}>
              {columns.map(([, cell, kind], index) => {
                const isName = namesRows && index === 0;
                const Cell = isName ? 'th' : 'td';
                return (
                  <Cell key={index} scope={isName ? 'row' : undefined} class={kind}>
                    {cell(row)}
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
