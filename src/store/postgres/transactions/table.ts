import type { Row, Statement } from '../database.ts';

type Cell = string | number | null;

/** A column: its type, and its value. `before` is the row as it is stored; undefined for a new one. */
type Column<Record> = readonly [
  type: 'text' | 'bigint' | 'json' | 'timestamptz',
  value: (record: Record, before: Record | undefined) => Cell,
];

/** How records of one kind are stored. */
export interface Table<Record> {
  readonly name: string;
  /** Column of the identifier. */
  readonly key: string;
  readonly columns: Readonly<{ [name: string]: Column<Record> }>;
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
    const written: Record[] = [];
    const removed: string[] = [];
    for (const [id, record] of this.#changed) {
      if (record) written.push(record);
      else if (this.#stored.has(id)) removed.push(id);
    }
    const { name, key } = this.table;
    const statements: Statement[] = [];
    if (written.length > 0) statements.push(this.#upsert(written));
    if (removed.length > 0) {
      const text = `DELETE FROM $schema.${name} WHERE ${key} = ANY($1::text[])`;
      statements.push({ text, values: [removed] });
    }
    return statements;
  }

  #upsert(written: readonly Record[]): Statement {
    const { name, key, columns, keep = [] } = this.table;
    const names = Object.keys(columns);
    const values = names.map((column) => {
      const [, value] = columns[column]!;
      return written.map((record) => value(record, this.#stored.get(record.id)));
    });
    const arrays = names.map((column, index) => `$${index + 1}::${columns[column]![0]}[]`);
    const sets = names
      .filter((column) => column !== key)
      .map((column) =>
        keep.includes(column)
          ? `${column} = coalesce(excluded.${column}, ${name}.${column})`
          : `${column} = excluded.${column}`,
      );
    return {
      text:
        `INSERT INTO $schema.${name} (${names.join(', ')}) ` +
        `SELECT ${names.join(', ')} FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS given (${names.join(', ')}, place) ORDER BY place ` +
        `ON CONFLICT (${key}) DO UPDATE SET ${sets.join(', ')}`,
      values,
    };
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
