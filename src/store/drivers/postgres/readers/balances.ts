import { type BudgetScope, holdersOf } from '../../../budgets.ts';
import { unknownCursor } from '../../../errors.ts';
import type { Selection } from '../../../selection.ts';
import { Sums } from '../../../sums.ts';
import type { Connection, Database, Row } from '../database/database.ts';
import { encodeText } from '../database/text.ts';
import { FairReads } from './fair-reads.ts';

/** Credits that nodes have drawn and no request uses, by the identifier of an account, a key, a team or a window. */
type Idle = Sums;

/** Accounts of which escrows are found by their index. */
const MAX_FOUND = 5000;

/** An account, or a key, a team or a window of one. */
interface Holder {
  readonly id: string;
  readonly accountId?: string;
  readonly reserved: number;
}

interface IdleEscrow {
  readonly accountId: string;
  readonly keyId: string;
  readonly scope?: BudgetScope | null | undefined;
  readonly idle: number;
}

export interface BalanceOptions {
  readonly database: Database;
  /** Identifier of this node as a holder of escrows. */
  readonly node: () => string;
  /** Drawn credits that requests of this node use: its rows are older. */
  readonly ownUse: () => Iterable<readonly [payer: Omit<IdleEscrow, 'idle'>, used: number]>;
}

/** Reads accounts, keys, teams and windows. What their sums count as reserved is what requests use. */
export class Balances {
  readonly #options: BalanceOptions;
  readonly reads: FairReads;

  constructor(options: BalanceOptions) {
    this.#options = options;
    this.reads = new FairReads(options.database);
  }

  /** @throws Failure 404 for an unknown `after`, also for one of another account */
  async selected<Item extends Holder>(
    kind: 'account' | 'key' | 'team',
    accountId: string | undefined,
    { ids, limit, after }: Selection,
    read: (row: Row) => Item,
  ): Promise<Item[]> {
    const table = `$schema.${kind}s`;
    const conditions = ofAccount(accountId);
    if (after !== undefined) {
      const cursor = ofAccount(accountId);
      cursor.add('id =', after);
      const [last] = await this.reads.query<{ seq: number }>(
        accountId,
        `SELECT seq FROM ${table} ${cursor.where}`,
        cursor.values,
      );
      if (!last) throw unknownCursor(kind, after);
      conditions.add('seq >', last.seq);
    }
    conditions.addList('id', ids);
    const { where, values } = conditions;
    const end = limit === undefined ? '' : `LIMIT ${Math.max(0, Math.floor(limit))}`;
    return this.read(
      accountId,
      `SELECT * FROM ${table} ${where} ORDER BY seq ${end}`,
      values,
      read,
    );
  }

  /** @param account whose turn the query takes; undefined for a query over all of them */
  async read<Item extends Holder>(
    account: string | undefined,
    text: string,
    values: readonly unknown[],
    read: (row: Row) => Item,
  ): Promise<Item[]> {
    return this.reads.snapshot(account, async (connection) => {
      const items = (await connection.query(text, values)).map(read);
      const accounts = new Set(items.map((item) => item.accountId ?? item.id));
      const idle = await this.idle(connection, accounts);
      return items.map((item) => withoutIdle(item, idle));
    });
  }

  /** A record without the credits that nodes have drawn in advance. */
  async withoutIdle<Item extends Holder>(item: Item): Promise<Item> {
    const accounts = new Set([item.accountId ?? item.id]);
    return withoutIdle(item, await this.idle(this.#options.database, accounts));
  }

  /** @param accounts identifiers; undefined for all */
  async idle(connection: Connection, accounts?: ReadonlySet<string>): Promise<Idle> {
    const conditions = new Conditions();
    // Of many accounts it costs more to find the rows than to read all of them.
    if (accounts && accounts.size <= MAX_FOUND) conditions.addList('account_id', [...accounts]);
    const { where, values } = conditions;
    const rows = await connection.query<IdleEscrow & { node: string; amount: number }>(
      `SELECT node, account_id AS "accountId", key_id AS "keyId", scope, amount, idle
       FROM $schema.escrows ${where}`,
      values,
    );
    const sums = new Sums();
    const add = ({ scope, idle, ...payer }: IdleEscrow) => {
      for (const holder of holdersOf({ ...payer, scope: scope ?? undefined }))
        sums.add(holder, idle);
    };
    for (const { node, amount, ...escrow } of rows) {
      add(node === this.#options.node() ? { ...escrow, idle: amount } : escrow);
    }
    for (const [payer, used] of this.#options.ownUse()) {
      if (accounts === undefined || accounts.has(payer.accountId)) add({ ...payer, idle: -used });
    }
    return sums;
  }
}

function withoutIdle<Item extends Holder>(item: Item, idle: Idle): Item {
  const sum = idle.of(item.id);
  return sum === 0 ? item : { ...item, reserved: item.reserved - sum };
}

/** Conditions of a query, of which those without a value are left out. */
export class Conditions {
  readonly values: unknown[];
  readonly #conditions: string[] = [];

  /** @param values those of the statement so far */
  constructor(values: readonly unknown[] = []) {
    this.values = [...values];
  }

  /** The conditions, of which each holds. */
  get text(): string {
    return this.#conditions.join(' AND ') || 'true';
  }

  get where(): string {
    return `WHERE ${this.text}`;
  }

  add(condition: string, value: string | number | undefined): void {
    if (value === undefined) return;
    this.values.push(typeof value === 'string' ? encodeText(value) : value);
    this.#conditions.push(`${condition} $${this.values.length}`);
  }

  /** Rows whose column has one of the values. */
  addList(column: string, texts: readonly string[] | undefined): void {
    if (texts === undefined) return;
    this.values.push(texts.map(encodeText));
    this.#conditions.push(`${column} = ANY($${this.values.length}::text[])`);
  }
}

export function ofAccount(accountId: string | undefined): Conditions {
  const conditions = new Conditions();
  conditions.add('account_id =', accountId);
  return conditions;
}
