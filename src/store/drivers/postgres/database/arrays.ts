import type { Statement } from './database.ts';

/** Object identifiers of types of elements, which are the same in every database. */
const TYPES = { text: 25, bigint: 20, json: 114 } as const;

type ElementType = keyof typeof TYPES;
export type Element = string | number | null;

/** Bytes before the first element: dimensions, flags, type, length, lower bound. */
const HEADER = 20;

/** An array as a parameter in PostgreSQL's binary format: of arrays in text pg escapes each element in JavaScript. */
function arrayOf(type: ElementType, elements: readonly Element[]): Buffer {
  let size = HEADER + 4 * elements.length;
  for (const element of elements) {
    if (typeof element === 'string') size += Buffer.byteLength(element);
    else if (element !== null) size += 8;
  }
  const array = Buffer.allocUnsafe(size);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(elements.includes(null) ? 1 : 0, 4);
  array.writeInt32BE(TYPES[type], 8);
  array.writeInt32BE(elements.length, 12);
  array.writeInt32BE(1, 16);
  let at = HEADER;
  for (const element of elements) {
    if (element === null) at = array.writeInt32BE(-1, at);
    else if (typeof element === 'string') {
      const length = array.write(element, at + 4);
      array.writeInt32BE(length, at);
      at += 4 + length;
    } else {
      if (!Number.isSafeInteger(element)) throw new RangeError(`${element} is no whole number`);
      at = array.writeInt32BE(8, at);
      const high = Math.floor(element / 2 ** 32);
      at = array.writeInt32BE(high, at);
      at = array.writeUInt32BE(element - high * 2 ** 32, at);
    }
  }
  return array;
}

/** Columns of rows: the type of each, and its value. `before` is the row as it is stored; undefined for a new one. */
export type Columns<Row> = Readonly<{
  [name: string]: readonly [
    type: ElementType,
    value: (row: Row, before: Row | undefined) => Element,
  ];
}>;

/** A statement of any number of rows, by the rows, and by each as it is stored. */
export type RowStatement<Row> = (
  rows: readonly Row[],
  beforeOf?: (row: Row) => Row | undefined,
) => Statement;

/**
 * A statement with the relation `given`, which has the rows in their order and the columns by their names.
 *
 * @param textOf called once: the text is the same for all rows
 */
export function rowStatement<Row>(
  columns: Columns<Row>,
  textOf: (relation: { readonly names: string; readonly given: string }) => string,
): RowStatement<Row> {
  const names = Object.keys(columns).join(', ');
  const entries = Object.values(columns);
  const arrays = entries.map(([type], index) => `$${index + 1}::${type}[]`).join(', ');
  const text = textOf({ names, given: `unnest(${arrays}) AS given (${names})` });
  return (rows, beforeOf) => {
    const values = entries.map(([type, value]) =>
      arrayOf(
        type,
        rows.map((row) => value(row, beforeOf?.(row))),
      ),
    );
    return { text, values };
  };
}
