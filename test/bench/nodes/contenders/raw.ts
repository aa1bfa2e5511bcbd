import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { TASK } from '../../store/contenders/records.ts';
import { figures, inFlight } from '../../store/contenders/work.ts';

// The limit of durable creations: a gathered transaction that locks and reads the account and the key, and writes
// them, a task and a line of the ledger by unnest, without rules. Its tasks have identifiers of Oriel's shape, and the
// index of a list alone: none for states, deadlines and idempotency keys.

const WARM_UP = 3000;
const BATCH = 500;
const AMOUNT = 4_000_000;

const TABLES = `
CREATE TABLE raw_accounts (id text PRIMARY KEY, reserved bigint NOT NULL) WITH (fillfactor = 70);
CREATE TABLE raw_keys (id text PRIMARY KEY, reserved bigint NOT NULL) WITH (fillfactor = 70);
CREATE TABLE raw_tasks (id text PRIMARY KEY, seq bigint GENERATED ALWAYS AS IDENTITY, account_id text NOT NULL,
  status text NOT NULL, record json NOT NULL);
CREATE INDEX raw_tasks_account ON raw_tasks (account_id, seq);
CREATE TABLE raw_ledger (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account_id text NOT NULL,
  task_id text NOT NULL, amount bigint NOT NULL);
CREATE INDEX raw_ledger_account ON raw_ledger (account_id, id);
INSERT INTO raw_accounts VALUES ('account', 0);
INSERT INTO raw_keys VALUES ('key', 0);`;

const WRITE = `
WITH a AS (UPDATE raw_accounts AS t SET reserved = g.reserved
    FROM unnest($1::text[], $2::bigint[]) AS g (id, reserved) WHERE t.id = g.id),
  k AS (UPDATE raw_keys AS t SET reserved = g.reserved
    FROM unnest($3::text[], $4::bigint[]) AS g (id, reserved) WHERE t.id = g.id),
  l AS (INSERT INTO raw_ledger (account_id, task_id, amount)
    SELECT 'account', id, ${AMOUNT} FROM unnest($5::text[]) AS g (id))
INSERT INTO raw_tasks (id, account_id, status, record)
  SELECT id, 'account', 'pending', record FROM unnest($5::text[], $6::json[]) AS g (id, record)`;

const [url = '', count = '0'] = process.argv.slice(2);
const client = new pg.Client({ connectionString: url });
await client.connect();
await client.query(`DROP TABLE IF EXISTS raw_accounts, raw_keys, raw_tasks, raw_ledger; ${TABLES}`);

const record = JSON.stringify(TASK);

let waiting: (() => void)[] = [];
let isRunning = false;

function create(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (!isRunning) void commitAll();
  });
}

async function commitAll(): Promise<void> {
  isRunning = true;
  // Calls of the same turn of the event loop share a transaction.
  await null;
  while (waiting.length > 0) {
    const batch = waiting.splice(0, BATCH);
    const ids = batch.map(() => `task_${randomBytes(15).toString('base64url')}`);
    await client.query('BEGIN');
    const read = async (table: string, id: string) => {
      const text = `SELECT reserved FROM ${table} WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE`;
      const { rows } = await client.query<{ reserved: string }>(text, [[id]]);
      return Number(rows[0]!.reserved) + batch.length * AMOUNT;
    };
    const account = await read('raw_accounts', 'account');
    const key = await read('raw_keys', 'key');
    const records = ids.map(() => record);
    await client.query(WRITE, [['account'], [account], ['key'], [key], ids, records]);
    await client.query('COMMIT');
    for (const resolve of batch) resolve();
    await null;
  }
  isRunning = false;
}

await inFlight(64, WARM_UP, create);
figures({ seconds: await inFlight(64, Number(count), create), bytes: 0 });
await client.end();
waiting = [];
