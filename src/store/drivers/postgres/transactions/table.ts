import { type Columns, type Element, type RowStatement, rowStatement } from '../database/arrays.ts';
import type { Row, Statement } from '../database/database.ts';
import { decodeText, encodeText } from '../database/text.ts';

/**
 * How a column holds a property: as it is, `encoded` as text that may have any characters, and with null or a
 * blank for one that is absent.
 */
type Field<Item> = readonly [
  type: 'text' | 'bigint' | 'json',
  property: keyof Item & string,
  how?: 'encoded' | 'optional' | 'blank',
];

/** The columns of records, and the function that reads them, by one declaration. */
export function fieldsOf<Item extends object>(
  fields: Readonly<Record<string, Field<Item>>>,
): { readonly columns: Columns<Item>; readonly read: (row: Row) => Item } {
  const entries = Object.entries(fields);
  const columns = entries.map(([column, [type, property, how]]) => {
    const value = (item: Item) => {
      const held = item[property] ?? (how === 'blank' ? '' : null);
      if (type === 'json') return JSON.stringify(held);
      return how === 'encoded' && held !== null ? encodeText(held as string) : (held as Element);
    };
    return [column, [type, value]] as const;
  });
  const read = (row: Row) => {
    const item: Record<string, unknown> = {};
    for (const [column, [, property, how]] of entries) {
      const held = row[column];
      if ((how === 'optional' && held === null) || (how === 'blank' && held === '')) continue;
      item[property] = how === 'encoded' && held !== null ? decodeText(held as string) : held;
    }
    return item as Item;
  };
  return { columns: Object.fromEntries(columns), read };
}

/** How records of one kind are stored. */
interface TableDefinition<Item> {
  readonly name: string;
  /** Column of the identifier. */
  readonly key: string;
  readonly columns: Columns<Item>;
  /** Columns that never change. */
  readonly fixed?: readonly string[];
  /** Columns that null leaves as they are. */
  readonly keep?: readonly string[];
  readonly read: (row: Row) => Item;
}

export interface Table<Item> extends TableDefinition<Item> {
  readonly insert: RowStatement<Item>;
  readonly update: RowStatement<Item>;
}

export function tableOf<Item>(definition: TableDefinition<Item>): Table<Item> {
  const { name, key, columns, fixed = [], keep = [] } = definition;
  const changing = Object.entries(columns).filter(([column]) => !fixed.includes(column));
  const sets = changing
    .filter(([column]) => column !== key)
    .map(([column]) => {
      const value = `given.${column}`;
      return `${column} = ${keep.includes(column) ? `coalesce(${value}, stored.${column})` : value}`;
    });
  return {
    ...definition,
    insert: rowStatement(columns, insertInto(name)),
    update: rowStatement<Item>(
      Object.fromEntries(changing),
      ({ given }) => `UPDATE $schema.${name} AS stored SET ${sets.join(', ')}
      FROM ${given} WHERE stored.${key} = given.${key}`,
    ),
  };
}

/** In the order of the rows, in which new ones are numbered. */
export function insertInto(table: string) {
  return ({ names, given }: { readonly names: string; readonly given: string }) =>
    `INSERT INTO $schema.${table} (${names}) SELECT ${names} FROM ${given}`;
}

/** Records of one kind in a transaction. Changes of one operation are staged until it has succeeded. */
export class Records<Item extends { readonly id: string }> {
  readonly table: Table<Item>;
  readonly #stored = new Map<string, Item>();
  readonly #changed = new Map<string, Item | null>();
  readonly #staged = new Map<string, Item | null>();

  constructor(table: Table<Item>) {
    this.table = table;
  }

  load(row: Row): void {
    const record = this.table.read(row);
    this.#stored.set(record.id, record);
  }

  get(id: string): Item | undefined {
    const staged = this.#staged.get(id);
    if (staged !== undefined) return staged ?? undefined;
    const changed = this.#changed.get(id);
    if (changed !== undefined) return changed ?? undefined;
    return this.#stored.get(id);
  }

  values(): readonly Item[] {
    const ids = new Set([...this.#stored.keys(), ...this.#changed.keys(), ...this.#staged.keys()]);
    return [...ids].flatMap((id) => this.get(id) ?? []);
  }

  put(record: Item): void {
    this.#staged.set(record.id, record);
  }

  remove(id: string): void {
    this.#staged.set(id, null);
  }

  /** Keeps the changes of an operation. */
  keep(): void {
    for (const [id, record] of this.#staged) this.#changed.set(id, record);
    this.#staged.clear();
  }

  /** Drops the changes of an operation that was refused. */
  drop(): void {
    this.#staged.clear();
  }

  /** Goes on after the statements were executed. */
  written(): void {
    for (const [id, record] of this.#changed) {
      if (record) this.#stored.set(id, record);
      else this.#stored.delete(id);
    }
    this.#changed.clear();
  }

  statements(): Statement[] {
    const added: Item[] = [];
    const changed: Item[] = [];
    const removed: string[] = [];
    for (const [id, record] of this.#changed) {
      const isStored = this.#stored.has(id);
      if (record) (isStored ? changed : added).push(record);
      else if (isStored) removed.push(id);
    }
    const { name, key, insert, update } = this.table;
    const statements: Statement[] = [];
    if (added.length > 0) statements.push(insert(added));
    if (changed.length > 0) statements.push(update(changed, ({ id }) => this.#stored.get(id)));
    if (removed.length > 0) {
      const text = `DELETE FROM $schema.${name} WHERE ${key} = ANY($1::text[])`;
      statements.push({ text, values: [removed] });
    }
    return statements;
  }
}

/** Rows that are only added, or lists of work at the end of a transaction. */
export class Additions<Row> {
  readonly #write: (rows: readonly Row[]) => readonly Statement[];
  readonly #kept: Row[] = [];
  #staged: Row[] = [];

  /** @param write the statements for all rows, of which there is one at least */
  constructor(write: (rows: readonly Row[]) => readonly Statement[]) {
    this.#write = write;
  }

  get all(): readonly Row[] {
    return this.#kept;
  }

  push(row: Row): void {
    this.#staged.push(row);
  }

  /** Replaces a row that is kept. */
  replace(index: number, row: Row): void {
    this.#kept[index] = row;
  }

  keep(): void {
    this.#kept.push(...this.#staged);
    this.#staged = [];
  }

  drop(): void {
    this.#staged = [];
  }

  statements(): readonly Statement[] {
    return this.#kept.length > 0 ? this.#write(this.#kept) : [];
  }
}
