import type { Account, ApiKey, Team } from '../account.ts';
import type { Asset } from '../asset.ts';
import type { BudgetScope, BudgetWindow } from '../budgets.ts';
import type { Delivery } from '../delivery.ts';
import { notFound } from '../errors.ts';
import type { LedgerEntry, UsageRow } from '../ledger.ts';
import type { Session } from '../session.ts';
import type { Page, StoreStatistics, TaskQuery, TimeRange } from '../store.ts';
import { TASK_STATES, type Task, type TaskState } from '../task.ts';
import type { Connection, Database, Row } from './database.ts';
import type { CachedKey, LoadedKeys } from './key-cache.ts';
import { decodeText, encodeText } from './text.ts';
import { ACCOUNTS, KEYS, TASKS, TEAMS, WINDOWS } from './transactions/rows.ts';

/** Credits that nodes have drawn and no request uses, by the identifier of an account, a key, a team or a window. */
type Idle = ReadonlyMap<string, number>;

interface IdleEscrow {
  readonly accountId: string;
  readonly keyId: string;
  readonly scope?: BudgetScope | null | undefined;
  readonly idle: number;
}

/** Drawn credits that requests of this node use: its rows are older. */
export type OwnUse = () => Iterable<readonly [payer: Omit<IdleEscrow, 'idle'>, used: number]>;

/** The queries of the store. */
export class Reader {
  readonly #database: Database;
  readonly #node: () => string;
  readonly #ownUse: OwnUse;

  constructor(database: Database, node: () => string, ownUse: OwnUse) {
    this.#database = database;
    this.#node = node;
    this.#ownUse = ownUse;
  }

  async findAccount(idOrName: string): Promise<Account | undefined> {
    const [account] = await this.#accounts(
      'SELECT * FROM $schema.accounts WHERE id = $1 OR name = $1 ORDER BY id = $1 DESC LIMIT 1',
      [encodeText(idOrName)],
    );
    return account;
  }

  listAccounts(): Promise<readonly Account[]> {
    return this.#accounts('SELECT * FROM $schema.accounts ORDER BY seq', []);
  }

  async #accounts(text: string, values: unknown[]): Promise<Account[]> {
    return this.#database.snapshot(async (connection) => {
      const rows = await connection.query(text, values);
      const idle = await this.#idle(connection);
      return rows.map((row) => withoutIdle(ACCOUNTS.read(row).account, idle));
    });
  }

  async listKeys(accountId?: string): Promise<readonly ApiKey[]> {
    const text = `SELECT * FROM $schema.keys ${of(accountId)} ORDER BY seq`;
    return this.#holders(text, accountId, KEYS.read);
  }

  async listTeams(accountId?: string): Promise<readonly Team[]> {
    const text = `SELECT * FROM $schema.teams ${of(accountId)} ORDER BY seq`;
    return this.#holders(text, accountId, TEAMS.read);
  }

  async listBudgetWindows(accountId?: string): Promise<readonly BudgetWindow[]> {
    const text = `SELECT * FROM $schema.windows ${of(accountId)} ORDER BY seq`;
    const windows = await this.#holders(text, accountId, WINDOWS.read);
    const later = (window: BudgetWindow) =>
      windows.filter(({ holderId, period, from }) => {
        return holderId === window.holderId && period === window.period && from > window.from;
      }).length;
    // Older ones stay for credits that were drawn in advance, until the next window begins.
    return windows.filter((window) => window.reserved > 0 || later(window) < 2);
  }

  async #holders<Holder extends { readonly id: string; readonly reserved: number }>(
    text: string,
    accountId: string | undefined,
    read: (row: Row) => Holder,
  ): Promise<Holder[]> {
    return this.#database.snapshot(async (connection) => {
      const rows = await connection.query(text, valuesOf(accountId));
      const idle = await this.#idle(connection, accountId);
      return rows.map((row) => withoutIdle(read(row), idle));
    });
  }

  /** A record without the credits that nodes have drawn in advance. */
  async withoutIdle<Holder extends { readonly id: string; readonly reserved: number }>(
    holder: Holder,
  ): Promise<Holder> {
    return withoutIdle(holder, await this.#idle(this.#database));
  }

  async #idle(connection: Connection, accountId?: string): Promise<Idle> {
    const rows = await connection.query<{ node: string; amount: number; idle: number } & Row>(
      `SELECT node, account_id, key_id, scope, amount, idle FROM $schema.escrows ${of(accountId)}`,
      valuesOf(accountId),
    );
    const sums = new Map<string, number>();
    const add = ({ accountId, keyId, scope, idle }: IdleEscrow) => {
      const holders = [accountId, keyId, ...(scope?.windows ?? []), scope?.teamId ?? []].flat();
      for (const holder of holders) sums.set(holder, (sums.get(holder) ?? 0) + idle);
    };
    for (const { node, account_id, key_id, scope, amount, idle } of rows) {
      const own = node === this.#node() ? amount : idle;
      add({ accountId: account_id, keyId: key_id, scope, idle: own } as IdleEscrow);
    }
    for (const [payer, used] of this.#ownUse()) {
      if (accountId === undefined || payer.accountId === accountId) add({ ...payer, idle: -used });
    }
    return sums;
  }

  /** The revision and the keys of some hashes, in one snapshot. */
  async loadKeys(hashes: readonly string[]): Promise<LoadedKeys> {
    const [row] = await this.#database.query<{ number: number; holders: readonly Row[] | null }>(
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
    const [row] = await this.#database.query<{ hash: string }>(
      'SELECT hash FROM $schema.keys WHERE id = $1',
      [encodeText(keyId)],
    );
    return row && decodeText(row.hash);
  }

  async findSession(
    hash: string,
    now: number,
  ): Promise<{ session: Session; keyHash: string } | undefined> {
    const [row] = await this.#database.query(
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
    const [row] = await this.#database.query(
      'SELECT * FROM $schema.tasks WHERE id = $1 AND account_id = $2',
      [encodeText(taskId), encodeText(accountId)],
    );
    return row && TASKS.read(row);
  }

  async findTaskByIdempotencyKey(accountId: string, key: string): Promise<Task | undefined> {
    const [row] = await this.#database.query(
      'SELECT * FROM $schema.tasks WHERE account_id = $1 AND idempotency_key = $2',
      [encodeText(accountId), encodeText(key)],
    );
    return row && TASKS.read(row);
  }

  /** @throws Failure 404 `task_not_found` for an unknown `after`, also for a task of another account */
  async listTasks(
    { accountId, status, type }: TaskQuery,
    { limit, after }: Page<string>,
  ): Promise<readonly Task[]> {
    let last: number | undefined;
    if (after !== undefined) {
      const [row] = await this.#database.query<{ seq: number; account_id: string }>(
        'SELECT seq, account_id FROM $schema.tasks WHERE id = $1',
        [encodeText(after)],
      );
      if (!row || (accountId !== undefined && row.account_id !== accountId)) {
        throw notFound('task', after);
      }
      last = row.seq;
    }
    const conditions = new Conditions();
    conditions.add('account_id =', accountId);
    conditions.add('status =', status);
    conditions.add('type =', type);
    conditions.add('seq <', last);
    const { where, values } = conditions;
    const rows = await this.#database.query(
      `SELECT * FROM $schema.tasks ${where} ORDER BY seq DESC LIMIT ${Math.max(0, Math.floor(limit))}`,
      values,
    );
    return rows.map(TASKS.read);
  }

  async findAsset(assetId: string): Promise<Asset | undefined> {
    const [row] = await this.#database.query('SELECT * FROM $schema.assets WHERE id = $1', [
      encodeText(assetId),
    ]);
    return row && assetOf(row);
  }

  async listDeliveries(
    accountId: string,
    taskId: string,
  ): Promise<readonly Delivery[] | undefined> {
    const rows = await this.#database.query(
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
    const rows = await this.#database.query(
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
    const conditions = new Conditions();
    conditions.add('account_id =', accountId);
    conditions.add('day >=', from);
    conditions.add('day <=', to);
    const { where, values } = conditions;
    const rows = await this.#database.query(
      `SELECT * FROM $schema.usage ${where} ORDER BY seq`,
      values,
    );
    return rows.map(usageOf);
  }

  async timeRange(): Promise<TimeRange | null> {
    const [row] = await this.#database.query<{ from: number | null; to: number }>(
      // Each maximum of a large table is read from an index. The ledger is written in the order of its times, nearly.
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
    const states = TASK_STATES.map((state) => `coalesce(sum(${state}), 0)::bigint AS ${state}`);
    const [row, idle] = await this.#database.snapshot(async (connection) => {
      const [sums] = await connection.query<Record<string, number>>(
        `SELECT count(*) AS accounts, (SELECT count(*) FROM $schema.keys) AS keys, ${states.join(', ')},
           coalesce(sum(granted), 0)::bigint AS granted, coalesce(sum(reserved), 0)::bigint AS reserved,
           coalesce(sum(spent), 0)::bigint AS spent FROM $schema.accounts`,
      );
      return [sums, await this.#idle(connection)] as const;
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

function of(accountId: string | undefined): string {
  return accountId === undefined ? '' : 'WHERE account_id = $1';
}

function valuesOf(accountId: string | undefined): string[] {
  return accountId === undefined ? [] : [encodeText(accountId)];
}

function withoutIdle<Holder extends { readonly id: string; readonly reserved: number }>(
  holder: Holder,
  idle: Idle,
): Holder {
  const sum = idle.get(holder.id) ?? 0;
  return sum === 0 ? holder : { ...holder, reserved: holder.reserved - sum };
}

/** Conditions of a query, of which those without a value are left out. */
class Conditions {
  readonly values: unknown[] = [];
  readonly #conditions: string[] = [];

  get where(): string {
    return this.#conditions.length === 0 ? '' : `WHERE ${this.#conditions.join(' AND ')}`;
  }

  add(condition: string, value: string | number | undefined): void {
    if (value === undefined) return;
    this.values.push(typeof value === 'string' ? encodeText(value) : value);
    this.#conditions.push(`${condition} $${this.values.length}`);
  }
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
