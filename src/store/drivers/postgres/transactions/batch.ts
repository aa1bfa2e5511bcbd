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
  type RecordKind,
  type RecordsByKind,
  UnitOfWork,
  type UsageAddition,
} from '../../../operations/unit-of-work.ts';
import type { TagSets } from '../../../tags.ts';
import type { Task } from '../../../task.ts';
import type { PreparingConnection, Statement } from '../database/database.ts';
import { lockAccounts, type RowNeeds, readRows, wantedBy } from './reads.ts';
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

const SPEND_INPUTS = `UPDATE $schema.assets SET input = 'spent' WHERE task_id = ANY($1::text[]) AND input = 'needed'`;
const REVISE = 'UPDATE $schema.revision SET number = number + 1';
const SETS_OF_DAY =
  'SELECT DISTINCT tags FROM $schema.tagged_usage WHERE account_id = $1 AND day = $2';

/** An operation on rows: those of every driver, and those on escrows and deliveries. */
export interface RowOperation<Result> {
  readonly needs: RowNeeds;
  readonly apply: (batch: Batch) => Result;
  /** Writes other rows in the same transaction. @throws Failure which rejects the operation */
  readonly write?: (connection: PreparingConnection) => Promise<void>;
}

/** The rows of one transaction, on which operations run one after the other. */
export class Batch extends UnitOfWork {
  readonly held = () => 0;
  readonly accounts: Records<AccountRow>;
  readonly keys = new Records(KEYS);
  readonly teams = new Records(TEAMS);
  readonly windows = new Records(WINDOWS);
  readonly tasks = new Records(TASKS);
  readonly deliveries = new Records(DELIVERIES);
  readonly escrows = new Records(ESCROWS);
  readonly folds = new Records(FOLDS);
  readonly entries = new Additions<NewEntry>((rows) => [insertEntries(rows)]);
  readonly charges = new Additions<NewEntry>((rows) => [upsertCharges(rows)]);
  readonly usage = new Additions<UsageSum>(upsertUsage);
  readonly assets = new Additions<Asset>((rows) => [insertAssets(rows)]);
  /** Tasks that have ended: their inputs can be deleted. */
  readonly endedTasks = new Additions<string>((ids) => [{ text: SPEND_INPUTS, values: [ids] }]);
  /** Changes that nodes must see in what they keep in memory. */
  readonly revisions = new Additions<string>(() => [{ text: REVISE }]);

  /** @param accounts those of a former batch, whose statements were executed */
  constructor(accounts = new Records(ACCOUNTS)) {
    super();
    this.accounts = accounts;
  }

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
    const wanted = wantedBy(needs);
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
    return [...this.#parts, ...this.#additions].flatMap((part) => part.statements());
  }

  find<Kind extends RecordKind>(kind: Kind, id: string): RecordsByKind[Kind] | undefined;
  find(kind: RecordKind, id: string): RecordsByKind[RecordKind] | undefined {
    if (kind === 'account') return this.accounts.get(id)?.account;
    if (kind === 'delivery') return this.deliveries.get(id)?.delivery;
    return this[`${kind}s`].get(id);
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

  put<Kind extends RecordKind>(kind: Kind, record: RecordsByKind[Kind]): void {
    const { id } = record;
    if (kind === 'account') {
      const row = this.accounts.get(id) ?? NEW_ACCOUNT;
      this.accounts.put({ ...row, id, account: record as Account });
    } else if (kind === 'delivery') {
      this.deliveries.put({ id, delivery: record as Delivery, node: null });
    } else if (kind === 'task') this.#putTask(record as Task);
    else this[`${kind as 'key' | 'team' | 'window'}s`].put(record as never);
  }

  #change(id: string, change: Partial<Omit<AccountRow, 'account' | 'id'>>): void {
    this.accounts.put({ ...this.#row(id), ...change });
  }

  /** @param held change of what nodes hold of the account */
  override putFunds(funds: Funds, held = 0): void {
    super.putFunds(funds);
    const { id } = funds.account;
    if (held !== 0) this.#change(id, { held: this.#row(id).held + held });
  }

  protected removeWindow(id: string): void {
    this.windows.remove(id);
  }

  /** Sets a task in a next state, with the counts of its account. */
  #putTask(task: Task): void {
    const before = this.tasks.get(task.id);
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
