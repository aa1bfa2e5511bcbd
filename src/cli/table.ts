import { print } from './terminal.ts';
import { cutEnd, textWidth } from './text-width.ts';

export interface Cell {
  readonly text: string;
  /** The text in fewer columns of the terminal; by default without its end. */
  readonly cut?: (columns: number) => string;
}

/** How a column of a table gives way where the terminal is too narrow. */
export interface Column {
  /** Columns of the terminal that it may be cut down to; by default it is not cut. */
  readonly least?: number;
  /** Where cutting does not suffice columns are left out, the lowest number first. */
  readonly drop?: number;
}

/** Rows that are looked at before the first is printed, to find the widths of the columns. */
export const HELD_BACK = 200;
const WIDEST = 64;
const GAP = '  ';

/** What terminals have whose size is not known. */
const USUAL_WIDTH = 80;

/** Columns of the terminal that standard output is; no bound where it is none. */
function room(): number {
  return process.stdout.isTTY ? process.stdout.columns || USUAL_WIDTH : Number.POSITIVE_INFINITY;
}

/**
 * Prints rows in aligned columns. The widths are found from the first rows and kept, so that a
 * table of any length is printed as it comes. The last cell of a row that has fewer cells than the
 * first takes the rest of the line.
 */
export class Table {
  readonly #columns: readonly Column[];
  readonly #room: number;
  #sample: (readonly Cell[])[] = [];
  /** By column; undefined for one that is left out. */
  #widths: (number | undefined)[] | undefined;

  /** @param columns with them a table fits the terminal; without, long rows wrap */
  constructor(columns?: readonly Column[]) {
    this.#columns = columns ?? [];
    this.#room = columns ? room() : Number.POSITIVE_INFINITY;
  }

  async add(row: readonly Cell[]): Promise<void> {
    if (this.#widths) return print(this.#line(row));
    this.#sample.push(row);
    if (this.#sample.length >= HELD_BACK) await this.flush();
  }

  /** Prints what was held back. */
  async flush(): Promise<void> {
    const rows = this.#sample;
    this.#sample = [];
    this.#widths ??= this.#fit(rows);
    for (const row of rows) await print(this.#line(row));
  }

  #fit(rows: readonly (readonly Cell[])[]): (number | undefined)[] {
    const natural: number[] = [];
    const count = rows[0]?.length ?? 0;
    for (const row of rows) {
      // What ends a row (the message of a failure, say) pushes nothing aside.
      const own = row.length < count ? row.slice(0, -1) : row;
      for (const [column, { text }] of own.entries()) {
        natural[column] = Math.max(natural[column] ?? 0, Math.min(WIDEST, textWidth(text)));
      }
    }
    const dropped = new Set<number>();
    for (;;) {
      const widths = natural.map((width, column) => (dropped.has(column) ? undefined : width));
      if (this.#cutDown(widths)) return widths;
      const next = this.#nextToDrop(dropped);
      if (next === -1) return widths;
      dropped.add(next);
    }
  }

  /** Cuts the widest columns until all fit; false where they cannot. */
  #cutDown(widths: (number | undefined)[]): boolean {
    for (;;) {
      const kept = widths.filter((width) => width !== undefined);
      const total = kept.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
      if (total <= this.#room) return true;
      let widest = -1;
      for (const [column, width] of widths.entries()) {
        const least = this.#columns[column]?.least;
        if (width === undefined || least === undefined || width <= least) continue;
        if (width > (widths[widest] ?? 0)) widest = column;
      }
      if (widest === -1) return false;
      widths[widest]! -= 1;
    }
  }

  #nextToDrop(dropped: ReadonlySet<number>): number {
    let next = -1;
    for (const [column, { drop }] of this.#columns.entries()) {
      if (drop === undefined || dropped.has(column)) continue;
      if (next === -1 || drop < this.#columns[next]!.drop!) next = column;
    }
    return next;
  }

  #line(row: readonly Cell[]): string {
    const widths = this.#widths ?? [];
    let line = '';
    for (const [column, { text, cut }] of row.entries()) {
      const last = column === row.length - 1;
      const left = this.#room - textWidth(line);
      const width = last ? left : Math.min(widths[column] ?? 0, left);
      const spans = last && row.length < widths.length;
      if (left <= 0 || (widths[column] === undefined && !spans)) continue;
      const fits = this.#room === Number.POSITIVE_INFINITY || textWidth(text) <= width;
      const shown = fits ? text : (cut?.(width) ?? cutEnd(text, width));
      line += last ? shown : shown + ' '.repeat(Math.max(0, width - textWidth(shown))) + GAP;
    }
    return `${line.trimEnd()}\n`;
  }
}
