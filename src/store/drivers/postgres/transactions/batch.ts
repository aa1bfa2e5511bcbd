import type { Account, ApiKey, Team } from '../../../account.ts';
import type { Asset } from '../../../asset.ts';
import { type BudgetScope, type BudgetWindow, emptyWindow, type Payer } from '../../../budgets.ts';
import { availableOf } from '../../../credits.ts';
import { notFound } from '../../../errors.ts';
import type { Funds } from '../../../funds.ts';
import { addCounts, dayOf, type LedgerEntry, NO_USAGE, type UsageCounts } from '../../../ledger.ts';
import type { KeyHolder } from '../../../store.ts';
import type { Task } from '../../../task.ts';
import type { PreparingConnection, Statement } from '../database/database.ts';
import { lockAccounts, readRows, type Wanted } from './reads.ts';
import {
  ACCOUNTS,
  type AccountRow,
  bytesOf,
  DELIVERIES,
  ESCROWS,
  FOLDS,
  KEYS,
  TASKS,
  TEAMS,
  WINDOWS,
} from './rows.ts';
import { insertAssets, insertEntries, upsertCharges, upsertUsage } from './sums.ts';
import { Additions, Records } from './table.ts';

/** Records that an operation reads or changes, by identifier. The accounts that they belong to are locked. */
export interface Needs {
  readonly accounts?: readonly string[];
  readonly keys?: readonly string[];
  readonly teams?: readonly string[];
  /** Teams whose keys are read. */
  readonly members?: readonly string[];
  /** With their keys. */
  readonly tasks?: readonly string[];
  readonly deliveries?: readonly string[];
  readonly escrows?: readonly string[];
  /** Nodes. */
  readonly folds?: readonly string[];
  readonly idempotency?: readonly { readonly accountId: string; readonly key: string }[];
}

type Entry = Pick<LedgerEntry, 'type' | 'amount'> &
  Partial<Pick<LedgerEntry, 'keyId' | 'taskId' | 'model' | 'note'>>;

/** The rows of one transaction, on which operations run one after the other. */
export class Batch {
  readonly accounts = new Records(ACCOUNTS);
  readonly keys = new Records(KEYS);
  readonly teams = new Records(TEAMS);
  readonly windows = new Records(WINDOWS);
  readonly tasks = new Records(TASKS);
  readonly deliveries = new Records(DELIVERIES);
  readonly escrows = new Records(ESCROWS);
  readonly folds = new Records(FOLDS);
  readonly entries = new Additions<Omit<LedgerEntry, 'id'>>();
  readonly charges = new Additions<Omit<LedgerEntry, 'id'>>();
  readonly usage = new Additions<Parameters<typeof upsertUsage>[0][number]>();
  readonly assets = new Additions<Asset>();
  /** Tasks that have ended: their inputs can be deleted. */
  readonly endedTasks = new Additions<string>();
  /** Changes that nodes must see in what they keep in memory. */
  readonly revisions = new Additions<string>();

  get #parts() {
    const { accounts, keys, teams, windows, tasks, deliveries, escrows, folds } = this;
    return [accounts, keys, teams, windows, tasks, deliveries, escrows, folds] as const;
  }

  get #additions() {
    const { entries, charges, usage, assets, endedTasks, revisions } = this;
    return [entries, charges, usage, assets, endedTasks, revisions] as const;
  }

  /** Runs one operation: all of its changes count, or none where it throws. */
  run<Result>(operation: (batch: Batch) => Result): Result {
    const parts = [...this.#parts, ...this.#additions];
    try {
      const result = operation(this);
      for (const part of parts) part.keep();
      return result;
    } catch (error) {
      for (const part of parts) part.drop();
      throw error;
    }
  }

  /** Locks the accounts in the order of their identifiers, and reads what the operations need. */
  async load(connection: PreparingConnection, needs: readonly Needs[]): Promise<void> {
    const all = (name: Exclude<keyof Needs, 'idempotency'>) => [
      ...new Set(needs.flatMap((need) => need[name] ?? [])),
    ];
    const wanted: Wanted = {
      accounts: all('accounts'),
      keys: all('keys'),
      teams: all('teams'),
      members: all('members'),
      tasks: all('tasks'),
      deliveries: all('deliveries'),
      escrows: all('escrows'),
      folds: all('folds'),
      idempotency: needs.flatMap((need) => need.idempotency ?? []),
    };
    const lock = lockAccounts(wanted);
    const read = readRows(wanted);
    // Sent at once: the second statement sees what was committed before the locks.
    const [locked, rows] = await Promise.all([
      lock ? connection.prepared(lock.text, lock.values!) : [],
      read ? connection.prepared<{ kind: string; row: object }>(read.text, read.values!) : [],
    ]);
    for (const row of locked) this.accounts.load(row);
    for (const { kind, row } of rows) {
      this.#parts.find(({ table }) => table.name === kind)!.load(row as never);
    }
  }

  /** The statements that write all changes. They can run as one: none reads what another writes. */
  statements(): Statement[] {
    const statements = this.#parts.flatMap((records) => records.statements());
    if (this.entries.all.length > 0) statements.push(insertEntries(this.entries.all));
    if (this.charges.all.length > 0) statements.push(upsertCharges(this.charges.all));
    if (this.usage.all.length > 0) statements.push(upsertUsage(this.usage.all));
    if (this.assets.all.length > 0) statements.push(insertAssets(this.assets.all));
    if (this.endedTasks.all.length > 0) {
      const text = `UPDATE $schema.assets SET input = 'spent' WHERE task_id = ANY($1::text[]) AND input = 'needed'`;
      statements.push({ text, values: [this.endedTasks.all] });
    }
    if (this.revisions.all.length > 0) {
      statements.push({ text: 'UPDATE $schema.revision SET number = number + 1' });
    }
    return statements;
  }

  /** @throws Failure 404 `account_not_found` */
  account(id: string): AccountRow {
    const row = this.accounts.get(id);
    if (!row) throw notFound('account', id);
    return row;
  }

  /** @throws Failure 404 if the account does not exist, or has no such key */
  holder({ accountId, keyId }: Payer): KeyHolder {
    const { account } = this.account(accountId);
    const key = this.keys.get(keyId);
    if (key?.accountId !== accountId) throw notFound('key', keyId);
    return { account, key };
  }

  teamOf({ teamId }: ApiKey): Team | undefined {
    return teamId === undefined ? undefined : this.teams.get(teamId);
  }

  /** A key holder with the team and the windows of a charge. */
  funds(holder: KeyHolder, scope: BudgetScope | undefined): Funds {
    if (!scope) return holder;
    const { teamId, windows } = scope;
    return {
      ...holder,
      team: teamId === null ? undefined : this.teams.get(teamId),
      windows: windows.map((id) => this.windows.get(id) ?? emptyWindow(id, holder.account.id)),
    };
  }

  putAccount(
    account: Account,
    change: Partial<Omit<AccountRow, 'account' | 'id'>> = {},
  ): AccountRow {
    const row = { ...this.account(account.id), ...change, account };
    this.accounts.put(row);
    return row;
  }

  /** Sets the funds after a reservation or a charge. @param held change of what nodes hold of the account */
  putFunds({ account, key, team, windows = [] }: Funds, held = 0): void {
    this.putAccount(account, { held: this.account(account.id).held + held });
    this.keys.put(key);
    if (team) this.teams.put(team);
    for (const window of windows) this.#putWindow(window);
  }

  /** Sets a window. A new one replaces those of its holder and period that ended before the one before it. */
  #putWindow(window: BudgetWindow): void {
    const isNew = this.windows.get(window.id) === undefined;
    this.windows.put(window);
    if (!isNew) return;
    const earlier = [...this.windows.values()]
      .filter(({ holderId, period, from }) => {
        return holderId === window.holderId && period === window.period && from < window.from;
      })
      .sort((one, other) => (one.from < other.from ? -1 : 1));
    for (const { id, reserved } of earlier.slice(0, -1)) {
      if (reserved === 0) this.windows.remove(id);
    }
  }

  /** Adds a ledger entry. `account` is the account after the entry. */
  entry(account: Account, entry: Entry, at: number): void {
    if (entry.amount > 0) this.entries.push(this.#entry(account, entry, at));
  }

  /** Adds to the day's charge for text requests of a key to a model. */
  dailyCharge(
    { account, key }: KeyHolder,
    charge: { readonly model: string; readonly paid: number; readonly amount: number },
    at: number,
  ): void {
    const { model, paid: requests, amount } = charge;
    const entry = { type: 'charge', amount, keyId: key.id, model, ...{ requests } } as const;
    this.charges.push(this.#entry(account, entry, at));
  }

  #entry(account: Account, entry: Entry, at: number): Omit<LedgerEntry, 'id'> {
    return {
      accountId: account.id,
      keyId: null,
      taskId: null,
      model: null,
      requests: null,
      note: null,
      at,
      available: availableOf(account) + this.account(account.id).held,
      ...entry,
    };
  }

  /** Adds to the usage of a key by a model on a day. */
  addUsage(
    { accountId, keyId, scope }: Payer & { readonly scope?: BudgetScope | undefined },
    used: {
      readonly model: string;
      readonly counts: Partial<UsageCounts>;
      readonly spent: number;
      readonly at: number;
    },
  ): void {
    const { model, counts, spent, at } = used;
    const row = { accountId, keyId, teamId: scope?.teamId ?? null, day: dayOf(at), model, spent };
    this.usage.push({ ...row, ...addCounts(NO_USAGE, counts) });
  }

  /** Sets a task in a next state, with the counts of its account. */
  putTask(task: Task, before: Task | undefined): void {
    const row = this.account(task.accountId);
    const tasks = { ...row.tasks };
    let { requestBytes, endedBytes } = row;
    if (before) {
      tasks[before.status] -= 1;
      requestBytes -= bytesOf(before);
    }
    tasks[task.status] += 1;
    if (task.status === 'pending' || task.status === 'processing') requestBytes += bytesOf(task);
    else endedBytes += bytesOf(task);
    this.putAccount(row.account, { tasks, requestBytes, endedBytes });
    this.tasks.put(task);
  }
}
