import { type Columns, givenRows } from '../arrays.ts';
import type { Row, Statement } from '../database.ts';

/** How records of one kind are stored. */
export interface Table<Record> {
  readonly name: string;
  /** Column of the identifier. */
  readonly key: string;
  readonly columns: Columns<Record>;
  /** Columns that never change. */
  readonly fixed?: readonly string[];
  /** Columns that null leaves as they are. */
  readonly keep?: readonly string[];
  readonly read: (row: Row) => Record;
}

/** Records of one kind in a transaction. Changes of one operation are staged until it has succeeded. */
export class Records<Record extends { readonly id: string }> {
  readonly table: Table<Record>;
  readonly #stored = new Map<string, Record>();
  readonly #changed = new Map<string, Record | null>();
  readonly #staged = new Map<string, Record | null>();

  constructor(table: Table<Record>) {
    this.table = table;
  }

  load(row: Row): void {
    const record = this.table.read(row);
    this.#stored.set(record.id, record);
  }

  get(id: string): Record | undefined {
    const staged = this.#staged.get(id);
    if (staged !== undefined) return staged ?? undefined;
    const changed = this.#changed.get(id);
    if (changed !== undefined) return changed ?? undefined;
    return this.#stored.get(id);
  }

  *values(): Generator<Record> {
    const ids = new Set([...this.#stored.keys(), ...this.#changed.keys(), ...this.#staged.keys()]);
    for (const id of ids) {
      const record = this.get(id);
      if (record) yield record;
    }
  }

  put(record: Record): void {
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

  statements(): Statement[] {
    const added: Record[] = [];
    const changed: Record[] = [];
    const removed: string[] = [];
    for (const [id, record] of this.#changed) {
      const isStored = this.#stored.has(id);
      if (record) (isStored ? changed : added).push(record);
      else if (isStored) removed.push(id);
    }
    const { name, key } = this.table;
    const statements: Statement[] = [];
    if (added.length > 0) statements.push(this.#insert(added));
    if (changed.length > 0) statements.push(this.#update(changed));
    if (removed.length > 0) {
      const text = `DELETE FROM $schema.${name} WHERE ${key} = ANY($1::text[])`;
      statements.push({ text, values: [removed] });
    }
    return statements;
  }

  // In the order of the operations, in which new rows are numbered.
  #insert(records: readonly Record[]): Statement {
    const { name, columns } = this.table;
    const { names, given, values } = givenRows(columns, records);
    return { text: `INSERT INTO $schema.${name} (${names}) SELECT ${names} FROM ${given}`, values };
  }

  #update(records: readonly Record[]): Statement {
    const { name, key, columns, fixed = [], keep = [] } = this.table;
    const changing = Object.entries(columns).filter(([column]) => !fixed.includes(column));
    const { given, values } = givenRows(Object.fromEntries(changing), records, ({ id }) =>
      this.#stored.get(id),
    );
    const sets = changing.map(([column]) => {
      const value = `given.${column}`;
      return `${column} = ${keep.includes(column) ? `coalesce(${value}, stored.${column})` : value}`;
    });
    const text = `UPDATE $schema.${name} AS stored SET ${sets.join(', ')}
      FROM ${given} WHERE stored.${key} = given.${key}`;
    return { text, values };
  }
}

/** Rows that are only added, or lists of work at the end of a transaction. */
export class Additions<Row> {
  readonly #kept: Row[] = [];
  #staged: Row[] = [];

  get all(): readonly Row[] {
    return this.#kept;
  }

  push(row: Row): void {
    this.#staged.push(row);
  }

  keep(): void {
    this.#kept.push(...this.#staged);
    this.#staged = [];
  }

  drop(): void {
    this.#staged = [];
  }
}
