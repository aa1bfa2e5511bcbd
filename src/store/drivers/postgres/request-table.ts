import type {
  NewRequest,
  RequestBodies,
  RequestFilter,
  RequestLimits,
  RequestPart,
  RequestRecord,
  RequestSelection,
  RequestStorage,
} from '../../requests/record.ts';
import { type Columns, rowStatement } from './database/arrays.ts';
import type { Database } from './database/database.ts';
import { insertInto } from './transactions/table.ts';

/** Rows that one statement reads or deletes. */
const ROWS = 1000;

const TABLES = { records: '$schema.requests', bodies: '$schema.request_bodies' };

/** The requests of all nodes. */
export class RequestTable implements RequestStorage {
  readonly isShared = true;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(requests: readonly NewRequest[]): Promise<readonly RequestRecord[]> {
    return this.#database.transaction(async (connection) => {
      const added = insertRecords(requests);
      const rows = await connection.query<{ readonly number: number }>(added.text, added.values);
      const numbered = requests.map(({ record, bodies }, index) => {
        return { record: { ...record, number: rows[index]!.number }, bodies };
      });
      const kept = numbered.filter(({ bodies }) => bodies !== null);
      if (kept.length > 0) {
        const { text, values } = insertBodies(kept);
        await connection.query(text, values);
      }
      return numbered.map(({ record }) => record);
    });
  }

  async *read(filter: RequestFilter, before: number): AsyncGenerator<RequestPart, void> {
    const { accountId, keyId, id, from = 0, to } = filter;
    let end = Math.min(before, Number.MAX_SAFE_INTEGER);
    if (to !== undefined) {
      const [last] = await this.#database.query<{ readonly number: number }>(
        `SELECT number FROM ${TABLES.records} WHERE at < $1 ORDER BY at DESC LIMIT 1`,
        [to],
      );
      end = Math.min(end, last === undefined ? 0 : last.number + ROWS);
    }
    for (;;) {
      const { conditions, values } = conditionsOf({ accountId, keyId, id }, [end, ROWS]);
      const rows = await this.#database.query<{ number: number; record: RequestRecord }>(
        `SELECT number, record FROM ${TABLES.records} WHERE number < $1 ${conditions}
         ORDER BY number DESC LIMIT $2`,
        values,
      );
      const records = rows.map(({ number, record }) => ({ ...record, number }));
      const last = records.at(-1);
      if (last === undefined) return;
      yield { records, lowest: last.number };
      if (rows.length < ROWS || last.ended_ms < from) return;
      end = last.number;
    }
  }

  async bodiesOf(number: number): Promise<RequestBodies | undefined> {
    const [row] = await this.#database.query<{ readonly record: RequestBodies }>(
      `SELECT record FROM ${TABLES.bodies} WHERE number = $1`,
      [number],
    );
    return row?.record;
  }

  async remove(selection: RequestSelection, onlyBodies: boolean): Promise<number> {
    const bodies = await this.#delete(TABLES.bodies, selection);
    return onlyBodies ? bodies : this.#delete(TABLES.records, selection);
  }

  async trim({ before, bodiesBefore }: RequestLimits): Promise<void> {
    await this.#delete(TABLES.bodies, { before: bodiesBefore });
    await this.#delete(TABLES.records, { before });
  }

  async close(): Promise<void> {}

  /** Deletes rows, some at a time, so that no statement takes long. */
  async #delete(table: string, selection: RequestSelection): Promise<number> {
    let sum = 0;
    for (;;) {
      const { conditions, values } = conditionsOf(selection, [ROWS]);
      const [gone] = await this.#database.query<{ readonly count: number }>(
        `WITH gone AS (
           DELETE FROM ${table} WHERE number IN (
             SELECT number FROM ${table} WHERE true ${conditions} LIMIT $1
           ) RETURNING 1
         ) SELECT count(*)::integer AS count FROM gone`,
        values,
      );
      sum += gone!.count;
      if (gone!.count < ROWS) return sum;
    }
  }
}

/** Columns of both tables. */
const COLUMNS: Columns<NewRequest> = {
  id: ['text', ({ record }) => record.id],
  account_id: ['text', ({ record }) => record.account?.id ?? null],
  key_id: ['text', ({ record }) => record.key?.id ?? null],
  at: ['bigint', ({ record }) => record.ended_ms],
};

const insertRecords = rowStatement<NewRequest>(
  { ...COLUMNS, record: ['json', ({ record }) => JSON.stringify(record)] },
  (relation) => `${insertInto('requests')(relation)} RETURNING number`,
);

const insertBodies = rowStatement<NewRequest>(
  {
    ...{ number: ['bigint', ({ record }) => record.number], ...COLUMNS },
    record: ['json', ({ bodies }) => JSON.stringify(bodies)],
  },
  insertInto('request_bodies'),
);

/** Conditions that follow others. @param values those of the statement so far */
function conditionsOf(
  { accountId, keyId, id, before }: RequestSelection,
  values: readonly unknown[],
): { readonly conditions: string; readonly values: readonly unknown[] } {
  const all = [...values];
  const conditions = [
    ['account_id =', accountId],
    ['key_id =', keyId],
    ['id =', id],
    ['at <', before],
  ].flatMap(([condition, value]) =>
    value === undefined ? [] : [`AND ${condition} $${all.push(value)}`],
  );
  return { conditions: conditions.join(' '), values: all };
}
