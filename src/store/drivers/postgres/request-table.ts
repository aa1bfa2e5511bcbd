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
import type { Connection, Database } from './database/database.ts';

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
    const documents = requests.map(({ record }) => record);
    return this.#database.transaction(async (connection) => {
      const values = columnsOf(documents, documents);
      const rows = await connection.query<{ readonly number: number }>(
        `INSERT INTO ${TABLES.records} (id, account_id, key_id, at, record)
         SELECT id, account_id, key_id, at, record FROM ${UNNEST} ORDER BY position
         RETURNING number`,
        values,
      );
      const records = documents.map((one, index) => ({ ...one, number: rows[index]!.number }));
      await addBodies(connection, records, requests);
      return records;
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

/** Columns of a batch as a table with the order of its rows. */
const UNNEST = `unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::json[])
  WITH ORDINALITY AS batch (id, account_id, key_id, at, record, position)`;

type Columns = Pick<RequestRecord, 'id' | 'account' | 'key' | 'ended_ms'>;

function columnsOf(records: readonly Columns[], documents: readonly object[]) {
  return [
    records.map(({ id }) => id),
    records.map(({ account }) => account?.id ?? null),
    records.map(({ key }) => key?.id ?? null),
    records.map((record) => record.ended_ms),
    documents.map((document) => JSON.stringify(document)),
  ];
}

async function addBodies(
  connection: Connection,
  records: readonly RequestRecord[],
  requests: readonly NewRequest[],
): Promise<void> {
  const kept = records.filter((record) => record.has_bodies);
  if (kept.length === 0) return;
  const bodies = requests.flatMap((request) => request.bodies ?? []);
  await connection.query(
    `INSERT INTO ${TABLES.bodies} (id, account_id, key_id, at, record, number)
     SELECT id, account_id, key_id, at, record, ($6::bigint[])[position] FROM ${UNNEST}`,
    [...columnsOf(kept, bodies), kept.map(({ number }) => number)],
  );
}

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
