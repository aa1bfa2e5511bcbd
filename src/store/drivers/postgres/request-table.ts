import type {
  NewRequest,
  RequestBodies,
  RequestRecord,
  RequestSelection,
  RequestStorage,
} from '../../requests/record.ts';
import { type Columns, rowStatement } from './database/arrays.ts';
import type { Database } from './database/database.ts';
import { Conditions } from './readers/balances.ts';
import { insertInto } from './transactions/table.ts';

/** Rows that one statement reads or deletes. */
const ROWS = 1000;

const TABLES = { records: '$schema.requests', bodies: '$schema.request_bodies' };

/** The requests of all nodes. */
export function requestTable(database: Database): RequestStorage {
  return {
    isShared: true,

    async add(requests) {
      return database.transaction(async (connection) => {
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
    },
    async *read(filter, before) {
      const { accountId, keyId, id, from = 0, to } = filter;
      let end = Math.min(before, Number.MAX_SAFE_INTEGER);
      if (to !== undefined) {
        const [last] = await database.query<{ readonly number: number }>(
          `SELECT number FROM ${TABLES.records} WHERE at < $1 ORDER BY at DESC LIMIT 1`,
          [to],
        );
        end = Math.min(end, last === undefined ? 0 : last.number + ROWS);
      }
      for (;;) {
        const { text, values } = conditionsOf({ accountId, keyId, id }, end, ROWS);
        const rows = await database.query<{ number: number; record: RequestRecord }>(
          `SELECT number, record FROM ${TABLES.records} WHERE number < $1 AND ${text}
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
    },
    async bodiesOf(number) {
      const [row] = await database.query<{ readonly record: RequestBodies }>(
        `SELECT record FROM ${TABLES.bodies} WHERE number = $1`,
        [number],
      );
      return row?.record;
    },
    async remove(selection, onlyBodies) {
      const bodies = await deleteRows(database, TABLES.bodies, selection);
      return onlyBodies ? bodies : deleteRows(database, TABLES.records, selection);
    },
    async trim({ before, bodiesBefore }) {
      await deleteRows(database, TABLES.bodies, { before: bodiesBefore });
      await deleteRows(database, TABLES.records, { before });
    },
    async close() {},
  };
}

/** Deletes rows, some at a time, so that no statement takes long. */
async function deleteRows(
  database: Database,
  table: string,
  selection: RequestSelection,
): Promise<number> {
  let sum = 0;
  for (;;) {
    const { text, values } = conditionsOf(selection, ROWS);
    const [gone] = await database.query<{ readonly count: number }>(
      `WITH gone AS (
           DELETE FROM ${table} WHERE number IN (
             SELECT number FROM ${table} WHERE ${text} LIMIT $1
           ) RETURNING 1
         ) SELECT count(*)::integer AS count FROM gone`,
      values,
    );
    sum += gone!.count;
    if (gone!.count < ROWS) return sum;
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

/** @param values those of the statement so far */
function conditionsOf(
  { accountId, keyId, id, before }: RequestSelection,
  ...values: readonly number[]
): Conditions {
  const conditions = new Conditions(values);
  conditions.add('account_id =', accountId);
  conditions.add('key_id =', keyId);
  conditions.add('id =', id);
  conditions.add('at <', before);
  return conditions;
}
