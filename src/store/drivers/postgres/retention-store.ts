import { type Asset, countsAsStored } from '../../asset.ts';
import { carryForward, LEDGER_SLACK, type LedgerEntry, MAX_DELETED_USAGE } from '../../ledger.ts';
import type { Store } from '../../store.ts';
import {
  type DeletedRecords,
  isTerminal,
  MAX_DELETED_BYTES,
  MAX_DELETED_TASKS,
  TASK_STATES,
} from '../../task.ts';
import type { Connection, Database, Row } from './database/database.ts';
import { encodeText } from './database/text.ts';
import type { PostgresParts } from './parts.ts';
import { tasksIn } from './readers/reader.ts';
import { ACCOUNTS, bytesOf, TASKS } from './transactions/rows.ts';
import { ASSETS, entryOf } from './transactions/sums.ts';

/** Maximum assets that one transaction deletes, and entries that it folds. */
const MAX_ASSETS = 1000;
const MAX_ENTRIES = 50_000;

const IS_DELIVERED = `NOT EXISTS (
  SELECT 1 FROM $schema.deliveries AS d WHERE d.task_id = t.id AND d.status = 'pending')`;

interface Candidate {
  readonly id: string;
  readonly account_id: string;
  readonly bytes: number;
}

/** The methods that delete many records, each in transactions of its own. */
export function retentionMethods({ database, bookCharges }: PostgresParts) {
  return {
    async deleteTasks(which) {
      const [condition, values] =
        typeof which === 'number'
          ? ['t.updated_at < $1', [which]]
          : ['t.account_id = $1 AND t.id = $2', [encodeText(which.accountId), which.id]];
      return database.transaction(async (connection) => {
        const ended = await connection.query<Candidate>(
          `SELECT t.id, t.account_id, t.bytes FROM $schema.tasks AS t
           WHERE t.status NOT IN ('pending', 'processing') AND ${IS_DELIVERED} AND ${condition}
           ORDER BY t.updated_at LIMIT ${MAX_DELETED_TASKS}`,
          values,
        );
        let bytes = 0;
        const chosen = ended.filter((task) => {
          bytes += task.bytes;
          return bytes - task.bytes < MAX_DELETED_BYTES;
        });
        await lockAccounts(connection, chosen);
        return deleteRows(connection, chosen);
      });
    },
    async trimTasks(accountId, limits) {
      return database.transaction(async (connection) => {
        const [row] = await lockAccounts(connection, [{ account_id: encodeText(accountId) }]);
        if (!row) return { tasks: [], assets: [] };
        const account = ACCOUNTS.read(row);
        let tasks = account.tasks.completed + account.tasks.failed + account.tasks.expired;
        let bytes = account.endedBytes + account.resultBytes;
        const isOver = () => tasks > limits.tasks || bytes > limits.bytes;
        if (!isOver()) return { tasks: [], assets: [] };
        const order = `ORDER BY seq LIMIT ${MAX_DELETED_TASKS}`;
        const mayDelete = `account_id = $1 AND ${IS_DELIVERED}`;
        const ended = await connection.query<Candidate & { readonly files: number }>(
          `SELECT t.id, t.account_id, t.bytes, (
             SELECT coalesce(sum(a.bytes), 0)::bigint FROM $schema.assets AS a
             WHERE a.task_id = t.id AND a.input IS NULL
           ) AS files FROM ${tasksIn(TASK_STATES.filter(isTerminal), mayDelete, order)} ${order}`,
          [account.id],
        );
        const chosen = ended.filter((task) => {
          if (!isOver()) return false;
          tasks -= 1;
          bytes -= task.bytes + task.files;
          return true;
        });
        return deleteRows(connection, chosen);
      });
    },
    deleteInputs: () =>
      deleteAssets(
        database,
        `SELECT id, account_id FROM $schema.assets WHERE input = 'spent' ORDER BY seq LIMIT ${MAX_ASSETS}`,
      ),
    removeUploads: (accountId, assetIds) =>
      deleteAssets(
        database,
        'SELECT id, account_id FROM $schema.assets WHERE task_id IS NULL AND account_id = $1 AND id = ANY($2::text[])',
        [encodeText(accountId), assetIds],
      ),
    async deleteUploads(madeBefore) {
      const deleted: Asset[] = [];
      for (;;) {
        const some = await deleteAssets(
          database,
          `SELECT id, account_id FROM $schema.assets WHERE task_id IS NULL AND created_at < $1
           ORDER BY created_at LIMIT ${MAX_ASSETS}`,
          [madeBefore],
        );
        deleted.push(...some);
        if (some.length < MAX_ASSETS) return deleted;
      }
    },
    async compactLedger(accountId, { before = -Infinity, lines }) {
      await bookCharges();
      const id = encodeText(accountId);
      await database.transaction(async (connection) => {
        await lockAccounts(connection, [{ account_id: id }]);
        const [row] = await connection.query<{ count: number; oldest: number | null }>(
          `SELECT count(*) AS count, (SELECT at FROM $schema.ledger WHERE account_id = $1 ORDER BY id LIMIT 1) AS oldest
           FROM $schema.ledger WHERE account_id = $1`,
          [id],
        );
        const { count, oldest } = row!;
        const excess = count > lines * LEDGER_SLACK ? count - lines : 0;
        if (oldest === null || (excess === 0 && oldest >= before)) return;
        const entries = await connection.query(
          `SELECT * FROM $schema.ledger WHERE account_id = $1 ORDER BY id LIMIT ${MAX_ENTRIES}`,
          [id],
        );
        const isFolded = ({ at }: LedgerEntry, index: number) => index < excess || at < before;
        const carried = carryForward(entries.map(entryOf), isFolded)?.carried;
        if (!carried) return;
        await connection.query('DELETE FROM $schema.ledger WHERE account_id = $1 AND id <= $2', [
          id,
          carried.id,
        ]);
        await connection.query(
          `INSERT INTO $schema.ledger (id, account_id, type, amount, at, available)
           VALUES ($1, $2, 'carried', $3, $4, $5)`,
          [carried.id, id, carried.amount, carried.at, carried.available],
        );
      });
    },
    async deleteUsage(before) {
      await bookCharges();
      let count = 0;
      for (const table of ['usage', 'tagged_usage']) {
        const [row] = await database.query<{ count: number }>(
          `WITH gone AS (
             DELETE FROM $schema.${table} WHERE ctid IN (
               SELECT ctid FROM $schema.${table} WHERE day < $1 LIMIT $2
             ) RETURNING 1
           ) SELECT count(*) AS count FROM gone`,
          [before, MAX_DELETED_USAGE - count],
        );
        count += row!.count;
      }
      return count;
    },
  } satisfies Partial<Store>;
}

/** Locks accounts in the order of their identifiers, as all transactions do. */
function lockAccounts(
  connection: Connection,
  rows: readonly { readonly account_id: string }[],
): Promise<Row[]> {
  return connection.query(
    'SELECT * FROM $schema.accounts WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE',
    [[...new Set(rows.map(({ account_id }) => account_id))]],
  );
}

/** Deletes ended tasks of locked accounts, with their assets and deliveries. */
async function deleteRows(
  connection: Connection,
  chosen: readonly Candidate[],
): Promise<DeletedRecords> {
  if (chosen.length === 0) return { tasks: [], assets: [] };
  // Another node may have deleted some of them before the lock.
  const rows = await connection.query(
    'DELETE FROM $schema.tasks WHERE id = ANY($1::text[]) RETURNING *',
    [chosen.map(({ id }) => id)],
  );
  const tasks = rows.map(TASKS.read);
  const ids = [tasks.map(({ id }) => id)];
  await connection.query('DELETE FROM $schema.deliveries WHERE task_id = ANY($1::text[])', ids);
  const assets = await connection.query(
    'DELETE FROM $schema.assets WHERE task_id = ANY($1::text[]) RETURNING *',
    ids,
  );
  const deleted = { tasks, assets: assets.map(ASSETS.read) };
  await subtract(connection, deleted);
  return deleted;
}

/** Takes deleted records from the sums of their accounts. */
async function subtract(connection: Connection, { tasks, assets }: DeletedRecords): Promise<void> {
  const sums = new Map<string, Record<string, number>>();
  const add = (accountId: string, column: string, amount: number) => {
    const sum = sums.get(accountId) ?? {};
    sums.set(accountId, sum);
    sum[column] = (sum[column] ?? 0) + amount;
  };
  for (const task of tasks) {
    add(task.accountId, task.status, 1);
    add(task.accountId, 'ended_bytes', bytesOf(task));
  }
  for (const asset of assets) {
    const column = countsAsStored(asset) ? 'stored_bytes' : 'result_bytes';
    add(asset.accountId, column, asset.bytes);
  }
  const columns = [...TASK_STATES, 'ended_bytes', 'result_bytes', 'stored_bytes'];
  await connection.query(
    `UPDATE $schema.accounts AS a SET ${columns.map((column) => `${column} = a.${column} - gone.${column}`).join(', ')}
     FROM unnest($1::text[], ${columns.map((_, index) => `$${index + 2}::bigint[]`).join(', ')})
       AS gone (id, ${columns.join(', ')}) WHERE a.id = gone.id`,
    [
      [...sums.keys()],
      ...columns.map((column) => [...sums.values()].map((sum) => sum[column] ?? 0)),
    ],
  );
}

function deleteAssets(
  database: Database,
  query: string,
  values: readonly unknown[] = [],
): Promise<readonly Asset[]> {
  return database.transaction(async (connection) => {
    const chosen = await connection.query<{ id: string; account_id: string }>(query, values);
    if (chosen.length === 0) return [];
    await lockAccounts(connection, chosen);
    const rows = await connection.query(
      'DELETE FROM $schema.assets WHERE id = ANY($1::text[]) RETURNING *',
      [chosen.map(({ id }) => id)],
    );
    const assets = rows.map(ASSETS.read);
    await subtract(connection, { tasks: [], assets });
    return assets;
  });
}
