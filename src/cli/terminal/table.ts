import type { Column } from '../../administration/admin-command.ts';
import { printable } from '../../operations/batch/filename.ts';
import { inert, print } from './terminal.ts';
import { cutEnd, cutMiddle, textWidth, wrapped } from './text-width.ts';

export interface Cell {
  readonly text: string;
  /**
   * Shortens the text to so many columns of the terminal; by default its end is cut off. Its start gets a share of
   * them, by which names that differ in their middle stay apart.
   */
  readonly cut?: (columns: number, share: number) => string;
  /** Continues a text that is too wide, such as an error, on further lines; only in the last cell. */
  readonly wraps?: boolean;
}

/** A name, which is shortened in its middle: both its ends tell it apart from others. */
export function nameCell(text: string, cut: typeof cutMiddle = cutMiddle): Cell {
  return { text, cut: (columns, share) => cut(text, columns, share) };
}

/** The cell of an item by the title of each column. */
export type Columns<Item> = Readonly<
  Record<string, readonly [cell: (item: Item) => string | Cell, column?: Column]>
>;

type Row = readonly (string | Cell)[];

/** Prints a row for each item, below the titles of the columns. Null is an empty line. */
export async function printTable<Item>(columns: Columns<Item>, items: readonly (Item | null)[]) {
  const all = Object.values(columns);
  const titles = Object.keys(columns).map((title) => ({ text: title }));
  const rows = items.map((item) => (item === null ? [] : all.map(([cell]) => cell(item))));
  const widths = all.map(([, column = {}]) => column);
  await printRows([titles, ...rows], widths);
}

/** Prints rows, whose texts are names. @param write takes each line in place of standard output */
export async function printRows(
  rows: Iterable<Row>,
  columns?: readonly Column[],
  write: (line: string) => Promise<void> = print,
): Promise<void> {
  const table = new Table(columns, write);
  for (const row of rows) {
    await table.add(
      row.map((cell, index) => {
        if (typeof cell !== 'string') return cell;
        const text = printable(cell);
        const cut = columns?.[index]?.cut;
        return cut === 'end' ? { text } : nameCell(text, cut);
      }),
    );
  }
  await table.flush();
}

/** Rows that are buffered before the first is printed, to find the widths of the columns. */
const SAMPLE_ROWS = 200;
const GAP = '  ';

/** Shares of a shortened name that its start may get. */
const SHARES = [0.5, 0.3, 0.7, 0.1, 0.9];

/** Columns of the terminal that a wrapped text takes at least. */
const MIN_TEXT_WIDTH = 24;
/** Indentation of a text below its row. */
const INDENT = 2;

/** Columns of a terminal whose size is unknown. */
const DEFAULT_WIDTH = 80;

/** Columns of the terminal at standard output; infinite where it is no terminal. */
function availableWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns || DEFAULT_WIDTH : Number.POSITIVE_INFINITY;
}

/**
 * Prints rows in aligned columns. The first SAMPLE_ROWS rows set the widths, so that a table of any
 * length is printed while its rows are added. In a row with fewer cells than the first, the last cell
 * takes the rest of the line.
 */
export class Table {
  readonly #columns: readonly Column[];
  readonly #width: number;
  #share = SHARES[0]!;
  #sample: (readonly Cell[])[] = [];
  /** Widths by column; undefined for a column that is left out. */
  #widths: (number | undefined)[] | undefined;

  readonly #write: (line: string) => Promise<void>;

  /** @param columns narrow the table to the terminal; without them long rows wrap */
  constructor(columns?: readonly Column[], write: (line: string) => Promise<void> = print) {
    this.#columns = columns ?? [];
    this.#write = (line) => write(inert(line));
    this.#width = columns ? availableWidth() : Number.POSITIVE_INFINITY;
  }

  async add(row: readonly Cell[]): Promise<void> {
    if (this.#widths) return this.#write(this.#line(row));
    this.#sample.push(row);
    if (this.#sample.length >= SAMPLE_ROWS) await this.flush();
  }

  /** Prints the buffered rows. */
  async flush(): Promise<void> {
    const rows = this.#sample;
    this.#sample = [];
    this.#widths ??= this.#fit(rows);
    for (const row of rows) await this.#write(this.#line(row));
  }

  #fit(rows: readonly (readonly Cell[])[]): (number | undefined)[] {
    const natural: number[] = [];
    const count = rows[0]?.length ?? 0;
    for (const row of rows) {
      // A cell that spans the rest of its row, such as an error message, widens no column.
      const own = row.length < count ? row.slice(0, -1) : row;
      for (const [column, { text }] of own.entries()) {
        natural[column] = Math.max(natural[column] ?? 0, textWidth(text));
      }
    }
    const dropped = new Set<number>();
    let fitting: (number | undefined)[] | undefined;
    for (;;) {
      const widths = natural.map((width, column) => (dropped.has(column) ? undefined : width));
      const next = this.#nextToDrop(dropped);
      const fits = this.#narrow(widths);
      const share = SHARES.find((one) => fits && areApart(rows, widths, one));
      if (share !== undefined) {
        this.#share = share;
        return widths;
      }
      if (fits) fitting ??= widths;
      if (next === -1) return fitting ?? widths;
      dropped.add(next);
    }
  }

  /** Narrows the widest columns until all fit; false where they cannot. */
  #narrow(widths: (number | undefined)[]): boolean {
    for (;;) {
      const kept = widths.filter((width) => width !== undefined);
      const total = kept.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
      if (total <= this.#width) return true;
      let widest = -1;
      for (const [column, width] of widths.entries()) {
        const minWidth = this.#columns[column]?.minWidth;
        if (width === undefined || minWidth === undefined || width <= minWidth) continue;
        if (width > (widths[widest] ?? 0)) widest = column;
      }
      if (widest === -1) return false;
      widths[widest]! -= 1;
    }
  }

  #nextToDrop(dropped: ReadonlySet<number>): number {
    let next = -1;
    for (const [column, { dropOrder }] of this.#columns.entries()) {
      if (dropOrder === undefined || dropped.has(column)) continue;
      if (next === -1 || dropOrder < this.#columns[next]!.dropOrder!) next = column;
    }
    return next;
  }

  #line(row: readonly Cell[]): string {
    const widths = this.#widths ?? [];
    let line = '';
    for (const [column, { text, cut, wraps }] of row.entries()) {
      const last = column === row.length - 1;
      const left = this.#width - textWidth(line);
      const width = last ? left : Math.min(widths[column] ?? 0, left);
      const spans = last && row.length < widths.length;
      if (left <= 0 || (widths[column] === undefined && !spans)) continue;
      if (last && wraps && textWidth(text) > left) return `${this.#wrap(text, line)}\n`;
      const fits = this.#width === Number.POSITIVE_INFINITY || textWidth(text) <= width;
      const shown = fits ? text : (cut?.(width, this.#share) ?? cutEnd(text, width));
      line += last ? shown : shown + ' '.repeat(Math.max(0, width - textWidth(shown))) + GAP;
    }
    return `${line.trimEnd()}\n`;
  }

  /** A text on several lines: below each other where the row has space for it, else below the row. */
  #wrap(text: string, line: string): string {
    const left = this.#width - textWidth(line);
    const isBeside = left >= MIN_TEXT_WIDTH;
    const indent = isBeside ? textWidth(line) : INDENT;
    const lines = wrapped(text, Math.max(1, this.#width - indent)).join(`\n${' '.repeat(indent)}`);
    return isBeside ? line + lines : `${line.trimEnd()}\n${' '.repeat(indent)}${lines}`;
  }
}

/** Whether the first cells of rows, which name them, are still different when they are shortened. */
function areApart(
  rows: readonly (readonly Cell[])[],
  [width = Number.POSITIVE_INFINITY]: readonly (number | undefined)[],
  share: number,
): boolean {
  const names = new Map<string, string>();
  return rows.every(([cell]) => {
    if (!cell?.cut || textWidth(cell.text) <= width) return true;
    const shown = cell.cut(width, share);
    const other = names.get(shown);
    names.set(shown, cell.text);
    return other === undefined || other === cell.text;
  });
}
