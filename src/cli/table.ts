import { print } from './terminal.ts';

export interface Cell {
  readonly text: string;
  /** Columns of the terminal that the text takes, where escape codes make it longer. */
  readonly width?: number;
}

const widthOf = (cell: Cell) => cell.width ?? [...cell.text].length;

/** Rows that are looked at before the first is printed, to find the widths of the columns. */
export const HELD_BACK = 200;
const WIDEST = 64;

/**
 * Prints rows in aligned columns. The widths are found from the first rows and kept, so that a
 * table of any length is printed as it comes.
 */
export class Table {
  #sample: (readonly Cell[])[] = [];
  #widths: number[] | undefined;

  async add(row: readonly Cell[]): Promise<void> {
    if (this.#widths) return print(this.#line(row));
    this.#sample.push(row);
    if (this.#sample.length >= HELD_BACK) await this.flush();
  }

  /** Prints what was held back. */
  async flush(): Promise<void> {
    const rows = this.#sample;
    this.#sample = [];
    this.#widths ??= rows.reduce<number[]>((widths, row) => {
      // What ends a row (the message of a failure, say) pushes nothing aside.
      for (const [column, cell] of row.slice(0, -1).entries()) {
        widths[column] = Math.max(widths[column] ?? 0, Math.min(WIDEST, widthOf(cell)));
      }
      return widths;
    }, []);
    for (const row of rows) await print(this.#line(row));
  }

  #line(row: readonly Cell[]): string {
    const cells = row.map((cell, column) => {
      const room = (this.#widths?.[column] ?? 0) - widthOf(cell);
      return column === row.length - 1 ? cell.text : cell.text + ' '.repeat(Math.max(0, room));
    });
    return `${cells.join('  ').trimEnd()}\n`;
  }
}
