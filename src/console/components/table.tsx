import type { ComponentChildren } from 'preact';

/** Title and cell of a column. Numbers are right-aligned, with digits of equal width. */
export type Column<Row> = readonly [
  title: string,
  cell: (row: Row) => ComponentChildren,
  kind?: 'number',
];

interface TableProps<Row> {
  /** Read to users of screen readers; visible if `showCaption` is set. */
  readonly caption: string;
  readonly showCaption?: boolean;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
}

/** A table that scrolls sideways where it is wider than the screen. The first column names the row. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, showCaption = false, columns, rows, keyOf } = props;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by arrow keys
    <section class="table" aria-label={caption} tabIndex={0}>
      <table>
        <caption class={showCaption ? undefined : 'hidden'}>{caption}</caption>
        <thead>
          <tr>
            {columns.map(([title, , kind]) => (
              <th key={title} scope="col" class={kind}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(([title, cell, kind], index) => {
                const Cell = index === 0 ? 'th' : 'td';
                return (
                  <Cell key={title} scope={index === 0 ? 'row' : undefined} class={kind}>
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
