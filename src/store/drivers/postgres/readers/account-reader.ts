import type { Account, ApiKey, Team } from '../../../account.ts';
import type { BudgetScope, BudgetWindow } from '../../../budgets.ts';
import { unknownCursor } from '../../../errors.ts';
import type { Selection } from '../../../selection.ts';
import type { Connection, Database, Row } from '../database/database.ts';
import { encodeText } from '../database/text.ts';
import { ACCOUNTS, KEYS, TEAMS, WINDOWS } from '../transactions/rows.ts';
import { Conditions } from './conditions.ts';
import { FairReads } from './fair-reads.ts';

/** Credits that nodes have drawn and no request uses, by the identifier of an account, a key, a team or a window. */
type Idle = ReadonlyMap<string, number>;

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

export interface ReaderOptions {
  readonly database: Database;
  /** Identifier of this node as a holder of escrows. */
  readonly node: () => string;
  /** Drawn credits that requests of this node use: its rows are older. */
  readonly ownUse: () => Iterable<readonly [payer: Omit<IdleEscrow, 'idle'>, used: number]>;
  /** Waits until all charges of this node are in the database. Rejects if the store is closed. */
  readonly bookCharges: () => Promise<void>;
}

/** The queries for accounts, keys, teams and windows. What their sums count as reserved is what requests use. */
export class AccountReader {
  protected readonly options: ReaderOptions;
  readonly reads: FairReads;

  constructor(options: ReaderOptions) {
    this.options = options;
    this.reads = new FairReads(options.database);
  }

  async findAccount(idOrName: string): Promise<Account | undefined> {
    await this.options.bookCharges();
    return this.storedAccount(idOrName);
  }

  /** The account without the charges that this node has yet to book. */
  async storedAccount(idOrName: string): Promise<Account | undefined> {
    const [account] = await this.#holders(
      idOrName,
      'SELECT * FROM $schema.accounts WHERE id = $1 OR name = $1 ORDER BY id = $1 DESC LIMIT 1',
      [encodeText(idOrName)],
      accountOf,
    );
    return account;
  }

  async listAccounts(selection: Selection = {}): Promise<readonly Account[]> {
    await this.options.bookCharges();
    return this.#selected('account', undefined, selection, accountOf);
  }

  async listKeys(accountId?: string, selection: Selection = {}): Promise<readonly ApiKey[]> {
    await this.options.bookCharges();
    return this.#selected('key', accountId, selection, KEYS.read);
  }

  async matchKeys(text: string, limit: number): Promise<readonly ApiKey[]> {
    await this.options.bookCharges();
    // Each part reads one index. Characters of identifiers are before the tilde.
    return this.#holders(
      undefined,
      `(SELECT * FROM $schema.keys WHERE hint = $1 ORDER BY hint LIMIT $2)
       UNION ALL (SELECT * FROM $schema.keys WHERE id >= $1 AND id < $1 || '~' ORDER BY id LIMIT $2)
       LIMIT $2`,
      [encodeText(text), limit],
      KEYS.read,
    );
  }

  async listTeams(accountId?: string, selection: Selection = {}): Promise<readonly Team[]> {
    await this.options.bookCharges();
    return this.#selected('team', accountId, selection, TEAMS.read);
  }

  async countKeys(teams: readonly Team[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.reads.query<{ team_id: string; keys: number }>(
      teams[0]?.accountId,
      `SELECT team_id, count(*) AS keys FROM $schema.keys
       WHERE account_id = ANY($1::text[]) AND team_id = ANY($2::text[]) AND revoked_at IS NULL GROUP BY team_id`,
      [[...new Set(teams.map(({ accountId }) => accountId))], teams.map(({ id }) => id)],
    );
    return new Map(rows.map(({ team_id: team, keys }) => [team, keys]));
  }

  async listBudgetWindows(
    accountId?: string,
    holderIds?: readonly string[],
  ): Promise<readonly BudgetWindow[]> {
    await this.options.bookCharges();
    const conditions = ofAccount(accountId);
    conditions.addList('holder_id', holderIds);
    const { where, values } = conditions;
    const text = `SELECT * FROM $schema.windows ${where} ORDER BY seq`;
    const windows = await this.#holders(accountId, text, values, WINDOWS.read);
    const starts = new Map<string, string[]>();
    const groupOf = ({ holderId, period }: BudgetWindow) => `${holderId} ${period}`;
    for (const window of windows) {
      const group = starts.get(groupOf(window));
      if (group) group.push(window.from);
      else starts.set(groupOf(window), [window.from]);
    }
    const later = (window: BudgetWindow) =>
      starts.get(groupOf(window))!.filter((from) => from > window.from).length;
    // Older ones stay for credits that were drawn in advance, until the next window begins.
    return windows.filter((window) => window.reserved > 0 || later(window) < 2);
  }

  /** @throws Failure 404 for an unknown `after`, also for one of another account */
  async #selected<Item extends Holder>(
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
    const text = `SELECT * FROM ${table} ${where} ORDER BY seq ${end}`;
    return this.#holders(accountId, text, values, read);
  }

  async #holders<Item extends Holder>(
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
    return withoutIdle(item, await this.idle(this.options.database, accounts));
  }

  /** @param accounts identifiers; undefined for all */
  protected async idle(connection: Connection, accounts?: ReadonlySet<string>): Promise<Idle> {
    const conditions = new Conditions();
    // Of many accounts it costs more to find the rows than to read all of them.
    if (accounts && accounts.size <= MAX_FOUND) conditions.addList('account_id', [...accounts]);
    const { where, values } = conditions;
    const rows = await connection.query<{ node: string; amount: number; idle: number } & Row>(
      `SELECT node, account_id, key_id, scope, amount, idle FROM $schema.escrows ${where}`,
      values,
    );
    const sums = new Map<string, number>();
    const add = ({ accountId, keyId, scope, idle }: IdleEscrow) => {
      const holders = [accountId, keyId, ...(scope?.windows ?? []), scope?.teamId ?? []].flat();
      for (const holder of holders) sums.set(holder, (sums.get(holder) ?? 0) + idle);
    };
    for (const { node, account_id, key_id, scope, amount, idle } of rows) {
      const own = node === this.options.node() ? amount : idle;
      add({ accountId: account_id, keyId: key_id, scope, idle: own } as IdleEscrow);
    }
    for (const [payer, used] of this.options.ownUse()) {
      if (accounts === undefined || accounts.has(payer.accountId)) add({ ...payer, idle: -used });
    }
    return sums;
  }
}

function ofAccount(accountId: string | undefined): Conditions {
  const conditions = new Conditions();
  conditions.add('account_id =', accountId);
  return conditions;
}

const accountOf = (row: Row): Account & { readonly accountId?: never } =>
  ACCOUNTS.read(row).account;

function withoutIdle<Item extends Holder>(item: Item, idle: Idle): Item {
  const sum = idle.get(item.id) ?? 0;
  return sum === 0 ? item : { ...item, reserved: item.reserved - sum };
}
