import type { Session } from '../../../account.ts';
import type { Asset } from '../../../asset.ts';
import type { Delivery } from '../../../delivery.ts';
import { unknownCursor } from '../../../errors.ts';
import type { StoreStatistics, TimeRange } from '../../../health.ts';
import type { LedgerEntry, UsageRow } from '../../../ledger.ts';
import type { Page } from '../../../selection.ts';
import {
  sameRequest,
  TASK_STATES,
  type Task,
  type TaskQuery,
  type TaskState,
} from '../../../task.ts';
import type { Row } from '../database/database.ts';
import { decodeText, encodeText } from '../database/text.ts';
import { ACCOUNTS, KEYS, TASKS, TEAMS } from '../transactions/rows.ts';
import { AccountReader } from './account-reader.ts';
import { Conditions } from './conditions.ts';
import type { CachedKey, LoadedKeys } from './key-cache.ts';

/** The queries of the store. */
export class Reader extends AccountReader {
  /** The revision and the keys of some hashes, in one snapshot. */
  async loadKeys(hashes: readonly string[]): Promise<LoadedKeys> {
    const [row] = await this.options.database.query<{
      number: number;
      holders: readonly Row[] | null;
    }>(
      `SELECT number, (
        SELECT json_agg(json_build_object('key', row_to_json(k), 'account', row_to_json(a), 'team', row_to_json(t)))
        FROM $schema.keys AS k JOIN $schema.accounts AS a ON a.id = k.account_id
        LEFT JOIN $schema.teams AS t ON t.id = k.team_id
        WHERE k.hash = ANY($1::text[])
      ) AS holders FROM $schema.revision`,
      [hashes.map(encodeText)],
    );
    const keys = (row!.holders ?? []).map(({ key, account, team }): [string, CachedKey] => {
      const found = KEYS.read(key as Row);
      return [
        found.hash,
        {
          key: found,
          account: ACCOUNTS.read(account as Row).account,
          team: team ? TEAMS.read(team as Row) : undefined,
        },
      ];
    });
    return { revision: row!.number, keys: new Map(keys) };
  }

  async hashOf(keyId: string): Promise<string | undefined> {
    const [row] = await this.options.database.query<{ hash: string }>(
      'SELECT hash FROM $schema.keys WHERE id = $1',
      [encodeText(keyId)],
    );
    return row && decodeText(row.hash);
  }

  async loadSession(
    hash: string,
    now: number,
  ): Promise<{ session: Session; keyHash: string } | undefined> {
    const [row] = await this.options.database.query(
      `SELECT s.*, k.hash AS key_hash FROM $schema.sessions AS s JOIN $schema.keys AS k ON k.id = s.key_id
       WHERE s.hash = $1 AND s.expires_at > $2`,
      [encodeText(hash), now],
    );
    if (!row) return undefined;
    const { account_id: accountId, key_id: keyId, created_at, expires_at, key_hash } = row;
    const session = { hash, accountId, keyId, createdAt: created_at, expiresAt: expires_at };
    return { session: session as Session, keyHash: decodeText(key_hash as string) };
  }

  async findTask(accountId: string, taskId: string): Promise<Task | undefined> {
    const [row] = await this.reads.query(
      accountId,
      'SELECT * FROM $schema.tasks WHERE id = $1 AND account_id = $2',
      [encodeText(taskId), encodeText(accountId)],
    );
    return row && TASKS.read(row);
  }

  async findTaskByIdempotencyKey(
    accountId: string,
    idempotency: NonNullable<Task['idempotency']>,
  ): Promise<Task | undefined> {
    const [row] = await this.reads.query(
      accountId,
      'SELECT * FROM $schema.tasks WHERE account_id = $1 AND idempotency_key = $2',
      [encodeText(accountId), encodeText(idempotency.key)],
    );
    return row && sameRequest(TASKS.read(row), idempotency);
  }

  /** @throws Failure 404 `task_not_found` for an unknown `after`, also for a task of another account */
  async listTasks(
    { accountId, status, type }: TaskQuery,
    { limit, after }: Page<string>,
  ): Promise<readonly Task[]> {
    let last: number | undefined;
    if (after !== undefined) {
      const [row] = await this.reads.query<{ seq: number; account_id: string }>(
        accountId,
        'SELECT seq, account_id FROM $schema.tasks WHERE id = $1',
        [encodeText(after)],
      );
      if (!row || (accountId !== undefined && row.account_id !== accountId)) {
        throw unknownCursor('task', after);
      }
      last = row.seq;
    }
    const conditions = new Conditions();
    conditions.add('account_id =', accountId);
    conditions.add('type =', type);
    conditions.add('seq <', last);
    const { text, values } = conditions;
    const states = TASK_STATES.filter((state) => status === undefined || state === status);
    const order = `ORDER BY seq DESC LIMIT ${Math.max(0, Math.floor(limit))}`;
    const rows = await this.reads.query(
      accountId,
      `SELECT * FROM ${tasksIn(states, text, order)} ${order}`,
      values,
    );
    return rows.map(TASKS.read);
  }

  async findAsset(assetId: string): Promise<Asset | undefined> {
    const [row] = await this.reads.query(undefined, 'SELECT * FROM $schema.assets WHERE id = $1', [
      encodeText(assetId),
    ]);
    return row && assetOf(row);
  }

  async listDeliveries(
    accountId: string,
    taskId: string,
  ): Promise<readonly Delivery[] | undefined> {
    const rows = await this.reads.query(
      accountId,
      `SELECT d.record FROM $schema.tasks AS t LEFT JOIN $schema.deliveries AS d ON d.task_id = t.id
       WHERE t.id = $1 AND t.account_id = $2`,
      [encodeText(taskId), encodeText(accountId)],
    );
    if (rows.length === 0) return undefined;
    return rows.flatMap(({ record }) => (record === null ? [] : (record as Delivery)));
  }

  async listLedger(
    accountId: string,
    { limit, after }: Page<number>,
  ): Promise<readonly LedgerEntry[]> {
    await this.options.bookCharges();
    const rows = await this.reads.query(
      accountId,
      `SELECT * FROM $schema.ledger WHERE account_id = $1 AND ($2::bigint IS NULL OR id < $2)
       ORDER BY id DESC LIMIT ${Math.max(0, Math.floor(limit))}`,
      [encodeText(accountId), after ?? null],
    );
    return rows.map(entryOf);
  }

  async listUsage(
    accountId: string | undefined,
    { from, to }: { readonly from: string; readonly to: string },
  ): Promise<readonly UsageRow[]> {
    await this.options.bookCharges();
    const conditions = new Conditions();
    conditions.add('account_id =', accountId);
    conditions.add('day >=', from);
    conditions.add('day <=', to);
    const { where, values } = conditions;
    const rows = await this.reads.query(
      accountId,
      `SELECT * FROM $schema.usage ${where} ORDER BY seq`,
      values,
    );
    return rows.map(usageOf);
  }

  async timeRange(): Promise<TimeRange | null> {
    const [row] = await this.reads.query<{ from: number | null; to: number }>(
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
  }

  /** Sums over accounts, whose rows count their tasks. */
  async statistics(): Promise<StoreStatistics> {
    await this.options.bookCharges();
    const states = TASK_STATES.map((state) => `coalesce(sum(${state}), 0)::bigint AS ${state}`);
    const [row, idle] = await this.reads.snapshot(undefined, async (connection) => {
      const [sums] = await connection.query<Record<string, number>>(
        `SELECT count(*) AS accounts, (SELECT count(*) FROM $schema.keys) AS keys, ${states.join(', ')},
           coalesce(sum(granted), 0)::bigint AS granted, coalesce(sum(reserved), 0)::bigint AS reserved,
           coalesce(sum(spent), 0)::bigint AS spent FROM $schema.accounts`,
      );
      return [sums, await this.idle(connection)] as const;
    });
    const { accounts, keys, granted, reserved, spent } = row as Record<string, number>;
    let unused = 0;
    for (const [id, sum] of idle) if (id.startsWith('acct_')) unused += sum;
    return {
      accounts: accounts!,
      keys: keys!,
      tasks: Object.fromEntries(TASK_STATES.map((state) => [state, row![state]!])) as Record<
        TaskState,
        number
      >,
      credits: { granted: granted!, reserved: reserved! - unused, spent: spent! },
    };
  }
}

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

const decoded = (text: unknown) => (text === null ? null : decodeText(text as string));

export function assetOf(row: Row): Asset {
  const { id, account_id, task_id, media_type, bytes, sha256, created_at, input } = row;
  return {
    ...{ id, accountId: account_id, taskId: task_id, mediaType: media_type, bytes, sha256 },
    createdAt: created_at,
    ...(input !== null && { input }),
  } as Asset;
}

export function entryOf(row: Row): LedgerEntry {
  const { id, account_id, key_id, type, amount, task_id, model, requests, note, at } = row;
  return {
    ...{ id, accountId: account_id, keyId: key_id, type, amount, taskId: task_id, requests, at },
    model: decoded(model),
    note: decoded(note),
    available: row.available,
  } as LedgerEntry;
}

export function usageOf(row: Row): UsageRow {
  return {
    accountId: row.account_id,
    ...(row.key_id !== '' && { keyId: row.key_id }),
    ...(row.team_id !== '' && { teamId: row.team_id }),
    day: row.day,
    model: decodeText(row.model as string),
    requests: row.requests,
    inputTokens: row.input_tokens,
    cachedInputTokens: row.cached_input_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    cacheWrite1hTokens: row.cache_write_1h_tokens,
    outputTokens: row.output_tokens,
    outputs: row.outputs,
    errors: row.errors,
    spent: row.spent,
  } as UsageRow;
}
