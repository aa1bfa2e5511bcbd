import type { Delivery } from '../../../delivery.ts';
import { unknownCursor } from '../../../errors.ts';
import type { Store } from '../../../store.ts';
import { sameRequest, TASK_STATES, type TaskState } from '../../../task.ts';
import { encodeText } from '../database/text.ts';
import { TASKS } from '../transactions/rows.ts';
import { ALL_USAGE, ASSETS, entryOf, usageOf } from '../transactions/sums.ts';
import type { Balances } from './balances.ts';
import { ofAccount } from './balances.ts';

const limitTo = (limit: number) => `LIMIT ${Math.max(0, Math.floor(limit))}`;

/**
 * The queries for tasks, their files and deliveries, the ledger, usage and sums.
 *
 * @param bookCharges waits until all charges of this node are in the database; rejects if the store is closed
 */
export function queries(balances: Balances, bookCharges: () => Promise<void>) {
  const { reads } = balances;
  return {
    async findTask(accountId, taskId) {
      const [row] = await reads.query(
        accountId,
        'SELECT * FROM $schema.tasks WHERE id = $1 AND account_id = $2',
        [encodeText(taskId), encodeText(accountId)],
      );
      return row && TASKS.read(row);
    },
    async findTaskByIdempotencyKey(accountId, idempotency) {
      const [row] = await reads.query(
        accountId,
        'SELECT * FROM $schema.tasks WHERE account_id = $1 AND idempotency_key = $2',
        [encodeText(accountId), encodeText(idempotency.key)],
      );
      return row && sameRequest(TASKS.read(row), idempotency);
    },
    async listTasks({ accountId, status, type }, { limit, after }) {
      const conditions = ofAccount(accountId);
      conditions.add('type =', type);
      if (after !== undefined) {
        const [row] = await reads.query<{ seq: number; account_id: string }>(
          accountId,
          'SELECT seq, account_id FROM $schema.tasks WHERE id = $1',
          [encodeText(after)],
        );
        if (!row || (accountId !== undefined && row.account_id !== accountId)) {
          throw unknownCursor('task', after);
        }
        conditions.add('seq <', row.seq);
      }
      const { text, values } = conditions;
      const states = TASK_STATES.filter((state) => status === undefined || state === status);
      const order = `ORDER BY seq DESC ${limitTo(limit)}`;
      const tasks = `SELECT * FROM ${tasksIn(states, text, order)} ${order}`;
      return (await reads.query(accountId, tasks, values)).map(TASKS.read);
    },
    async findAsset(assetId) {
      const text = 'SELECT * FROM $schema.assets WHERE id = $1';
      const [row] = await reads.query(undefined, text, [encodeText(assetId)]);
      return row && ASSETS.read(row);
    },
    async listDeliveries(accountId, taskId) {
      const rows = await reads.query<{ record: Delivery | null }>(
        accountId,
        `SELECT d.record FROM $schema.tasks AS t LEFT JOIN $schema.deliveries AS d ON d.task_id = t.id
         WHERE t.id = $1 AND t.account_id = $2`,
        [encodeText(taskId), encodeText(accountId)],
      );
      return rows.length === 0 ? undefined : rows.flatMap(({ record }) => record ?? []);
    },
    async listLedger(accountId, { limit, after }) {
      await bookCharges();
      const conditions = ofAccount(accountId);
      conditions.add('id <', after);
      const text = `SELECT * FROM $schema.ledger ${conditions.where} ORDER BY id DESC ${limitTo(limit)}`;
      return (await reads.query(accountId, text, conditions.values)).map(entryOf);
    },
    async listUsage(accountId, { from, to }) {
      await bookCharges();
      const conditions = ofAccount(accountId);
      conditions.add('day >=', from);
      conditions.add('day <=', to);
      const text = `SELECT * FROM ${ALL_USAGE} ${conditions.where} ORDER BY seq`;
      return (await reads.query(accountId, text, conditions.values)).map(usageOf);
    },
    async timeRange() {
      const [row] = await reads.query<{ from: number | null; to: number }>(
        undefined, // Each maximum of a large table is read from an index. The ledger is written in the order of its times, nearly.
        `SELECT min(created_at) AS from, greatest(
           max(created_at),
           (SELECT max(created_at) FROM $schema.keys),
           (SELECT max(created_at) FROM $schema.assets),
           (SELECT max(updated_at) FROM $schema.tasks WHERE status IN ('pending', 'processing')),
           (SELECT max(updated_at) FROM $schema.tasks WHERE status NOT IN ('pending', 'processing')),
           (SELECT max(at) FROM (SELECT at FROM $schema.ledger ORDER BY id DESC LIMIT 1000) AS l)
         ) AS to FROM $schema.accounts`,
      );
      return row!.from === null ? null : { from: row!.from, to: row!.to };
    },
    /** Sums over accounts, whose rows count their tasks. */
    async statistics() {
      await bookCharges();
      const sums = [...TASK_STATES, 'granted', 'reserved', 'spent'].map(
        (column) => `coalesce(sum(${column}), 0)::bigint AS ${column}`,
      );
      const text = `SELECT count(*) AS accounts, (SELECT count(*) FROM $schema.keys) AS keys, ${sums.join(', ')}
        FROM $schema.accounts`;
      return reads.snapshot(undefined, async (connection) => {
        const [row] = await connection.query<StatisticsRow>(text);
        const { accounts, keys, granted, reserved, spent, ...tasks } = row!;
        let unused = 0;
        for (const [id, sum] of await balances.idle(connection)) {
          if (id.startsWith('acct_')) unused += sum;
        }
        return { accounts, keys, tasks, credits: { granted, reserved: reserved - unused, spent } };
      });
    },
  } satisfies Partial<Store>;
}

type StatisticsRow = Readonly<
  Record<TaskState | 'accounts' | 'keys' | 'granted' | 'reserved' | 'spent', number>
>;

/**
 * Tasks of some states, as `t`. Indexes have the state before `seq`: each part reads one in its order.
 *
 * @param order with a limit; the query repeats it over all parts
 */
export function tasksIn(states: readonly TaskState[], where: string, order: string): string {
  const parts = states.map(
    (state) => `(SELECT * FROM $schema.tasks AS t WHERE status = '${state}' AND ${where} ${order})`,
  );
  return `(${parts.join(' UNION ALL ')}) AS t`;
}
