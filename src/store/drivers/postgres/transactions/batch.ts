import type { Account, ApiKey, Team } from '../../../account.ts';
import { type Asset, countsAsStored } from '../../../asset.ts';
import type { BudgetWindow } from '../../../budgets.ts';
import type { Delivery } from '../../../delivery.ts';
import { notFound } from '../../../errors.ts';
import type { Funds } from '../../../funds.ts';
import { addCounts, NO_USAGE } from '../../../ledger.ts';
import {
  type AccountUse,
  type NewEntry,
  UnitOfWork,
  type UsageAddition,
} from '../../../operations/unit-of-work.ts';
import type { TagSets } from '../../../tags.ts';
import type { Task } from '../../../task.ts';
import type { PreparingConnection, Statement } from '../database/database.ts';
import { encodeText } from '../database/text.ts';
import { lockAccounts, type RowNeeds, readRows, type Wanted } from './reads.ts';
import {
  ACCOUNTS,
  type AccountRow,
  bytesOf,
  DELIVERIES,
  ESCROWS,
  FOLDS,
  KEYS,
  NEW_ACCOUNT,
  TASKS,
  TEAMS,
  WINDOWS,
} from './rows.ts';
import { insertAssets, insertEntries, type UsageSum, upsertCharges, upsertUsage } from './sums.ts';
import { Additions, Records } from './table.ts';

const SETS_OF_DAY =
  'SELECT DISTINCT tags FROM $schema.tagged_usage WHERE account_id = $1 AND day = $2';

/** An operation on rows: those of every driver, and those on escrows and deliveries. */
export interface RowOperation<Result> {
  readonly needs: RowNeeds;
  readonly apply: (batch: Batch) => Result;
}

/** The rows of one transaction, on which operations run one after the other. */
export class Batch extends UnitOfWork {
  readonly held = () => 0;
  readonly accounts = new Records(ACCOUNTS);
  readonly keys = new Records(KEYS);
  readonly teams = new Records(TEAMS);
  readonly windows = new Records(WINDOWS);
  readonly tasks = new Records(TASKS);
  readonly deliveries = new Records(DELIVERIES);
  readonly escrows = new Records(ESCROWS);
  readonly folds = new Records(FOLDS);
  readonly entries = new Additions<NewEntry>();
  readonly charges = new Additions<NewEntry>();
  readonly usage = new Additions<UsageSum>();
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
  async load(connection: PreparingConnection, needs: readonly RowNeeds[]): Promise<void> {
    const all = (name: Exclude<keyof RowNeeds, 'idempotency'>) => [
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
      idempotency: needs.flatMap(({ idempotency = [] }) =>
        idempotency.map(({ accountId, key }) => ({ accountId, key: encodeText(key) })),
      ),
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

  /**
   * Replaces tags beyond the day's limit. Reads what other nodes have added where tags are new to this one: the
   * accounts are locked.
   */
  async limitTags(connection: PreparingConnection, sets: TagSets): Promise<void> {
    const loaded = new Set<string>();
    for (const [index, use] of this.usage.all.entries()) {
      const { accountId, day, tags } = use;
      if (tags === '') continue;
      if (!sets.isKnown(accountId, day, tags) && !loaded.has(`${accountId} ${day}`)) {
        const rows = await connection.prepared<{ tags: string }>(SETS_OF_DAY, [accountId, day]);
        sets.load(
          accountId,
          day,
          rows.map((row) => row.tags),
        );
        loaded.add(`${accountId} ${day}`);
      }
      this.usage.replace(index, { ...use, tags: sets.admit(accountId, day, tags) });
    }
  }

  /** The statements that write all changes. They can run as one: none reads what another writes. */
  statements(): Statement[] {
    const statements = this.#parts.flatMap((records) => records.statements());
    if (this.entries.all.length > 0) statements.push(insertEntries(this.entries.all));
    if (this.charges.all.length > 0) statements.push(upsertCharges(this.charges.all));
    if (this.usage.all.length > 0) statements.push(...upsertUsage(this.usage.all));
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

  findAccount(id: string): Account | undefined {
    return this.accounts.get(id)?.account;
  }

  findKey(id: string): ApiKey | undefined {
    return this.keys.get(id);
  }

  findTeam(id: string): Team | undefined {
    return this.teams.get(id);
  }

  findTask(id: string): Task | undefined {
    return this.tasks.get(id);
  }

  findTaskByIdempotencyKey(accountId: string, key: string): Task | undefined {
    return this.tasks
      .values()
      .find((task) => task.accountId === accountId && task.idempotency?.key === key);
  }

  keysOfTeam({ id }: Team): readonly ApiKey[] {
    return this.keys.values().filter(({ teamId }) => teamId === id);
  }

  useOf(accountId: string): AccountUse {
    const { tasks, requestBytes, storedBytes } = this.#row(accountId);
    return { openTasks: tasks.pending + tasks.processing, requestBytes, storedBytes };
  }

  protected findWindow(id: string): BudgetWindow | undefined {
    return this.windows.get(id);
  }

  protected windowsLike(window: BudgetWindow): readonly BudgetWindow[] {
    return this.windows
      .values()
      .filter(({ holderId, period }) => holderId === window.holderId && period === window.period);
  }

  /** @throws Failure 404 `account_not_found` */
  #row(id: string): AccountRow {
    const row = this.accounts.get(id);
    if (!row) throw notFound('account', id);
    return row;
  }

  putAccount(account: Account): void {
    const { id } = account;
    this.accounts.put({ ...(this.accounts.get(id) ?? NEW_ACCOUNT), id, account });
  }

  #change(id: string, change: Partial<Omit<AccountRow, 'account' | 'id'>>): void {
    this.accounts.put({ ...this.#row(id), ...change });
  }

  putKey(key: ApiKey): void {
    this.keys.put(key);
  }

  putTeam(team: Team): void {
    this.teams.put(team);
  }

  /** @param held change of what nodes hold of the account */
  override putFunds(funds: Funds, held = 0): void {
    super.putFunds(funds);
    const { id } = funds.account;
    if (held !== 0) this.#change(id, { held: this.#row(id).held + held });
  }

  protected putWindow(window: BudgetWindow): void {
    this.windows.put(window);
  }

  protected removeWindow(id: string): void {
    this.windows.remove(id);
  }

  /** Sets a task in a next state, with the counts of its account. */
  putTask(task: Task, before: Task | undefined): void {
    const row = this.#row(task.accountId);
    const tasks = { ...row.tasks };
    let { requestBytes, endedBytes } = row;
    if (before) {
      tasks[before.status] -= 1;
      requestBytes -= bytesOf(before);
    }
    tasks[task.status] += 1;
    if (task.status === 'pending' || task.status === 'processing') requestBytes += bytesOf(task);
    else endedBytes += bytesOf(task);
    this.#change(task.accountId, { tasks, requestBytes, endedBytes });
    this.tasks.put(task);
  }

  putDelivery(delivery: Delivery): void {
    this.deliveries.put({ id: delivery.id, delivery, node: null });
  }

  /** Adds an asset, with its bytes to the sums of its account. */
  addAsset(asset: Asset): void {
    const sum = countsAsStored(asset) ? 'storedBytes' : 'resultBytes';
    this.#change(asset.accountId, { [sum]: this.#row(asset.accountId)[sum] + asset.bytes });
    this.assets.push(asset);
  }

  spendInputs(taskId: string): void {
    this.endedTasks.push(taskId);
  }

  revise(id: string): void {
    this.revisions.push(id);
  }

  protected addEntry(entry: NewEntry): void {
    this.entries.push(entry);
  }

  protected addDailyCharge(entry: NewEntry): void {
    this.charges.push(entry);
  }

  /** Credits that nodes hold for text requests count as available. */
  protected override availableTo(account: Account): number {
    return super.availableTo(account) + (this.accounts.get(account.id)?.held ?? 0);
  }

  protected addUsageRow({ counts, ...use }: UsageAddition): void {
    this.usage.push({ ...use, ...addCounts(NO_USAGE, counts) });
  }
}
