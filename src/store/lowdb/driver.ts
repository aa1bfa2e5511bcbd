import { randomBytes } from 'node:crypto';
import { Failure } from '../../failure.ts';
import type { Account, ApiKey, Plan } from '../account.ts';
import type { Asset } from '../asset.ts';
import type { Delivery } from '../delivery.ts';
import {
  charge,
  checkAmount,
  checkFunds,
  grant,
  type Held,
  release,
  reserve,
  spendable,
} from '../funds.ts';
import { newId } from '../identifier.ts';
import { carry } from '../ledger.ts';
import { conflict, missing } from '../refusal.ts';
import type {
  Completion,
  Hold,
  KeyHolder,
  Metered,
  NewAccount,
  NewKey,
  NewTask,
  Store,
} from '../store.ts';
import { advance, type Task, type TaskError, type TaskState } from '../task.ts';
import type { Commits } from './commits.ts';
import { Reader } from './reader.ts';
import { holderIn, keyOfSum, type State } from './state.ts';
import { Transaction } from './transaction.ts';

/** How many deletions go into one transaction. */
const DELETIONS = 10_000;

/** What ends a task: its last state, and what of its reservation is spent. */
interface Ending {
  readonly status: TaskState;
  readonly result?: unknown;
  readonly error?: TaskError;
  readonly charge: number;
  readonly counts: Completion['counts'];
}

/**
 * The verbs that write, over records in memory. Each finds what it needs, applies the rules beside the contracts,
 * and commits; from the first to the last it does so without giving way to another.
 */
export class Driver extends Reader implements Store {
  readonly #now: () => number;
  readonly #letGo: () => Promise<void>;
  #closing: Promise<void> | null = null;

  constructor(state: State, commits: Commits, now: () => number, letGo: () => Promise<void>) {
    super(state, commits);
    this.#now = now;
    this.#letGo = letGo;
  }

  async createAccount({ name, plan, credits }: NewAccount): Promise<Account> {
    // A name that is another's identifier would never be found.
    if (this.state.accountByName.get(name) ?? this.state.accountById.get(name)) {
      throw conflict(`there is an account ${JSON.stringify(name)} already`, 'account_exists');
    }
    const transaction = this.#begin();
    const created: Account = {
      id: newId('acct'),
      name,
      plan,
      granted: 0,
      reserved: 0,
      spent: 0,
      callbackSecret: `whsec_${randomBytes(32).toString('base64')}`,
      createdAt: this.#now(),
    };
    const account = grant(created, credits);
    transaction.changes.push(['accounts', this.state.accounts.newOrder(), account]);
    transaction.entry(account, { type: 'grant', amount: credits });
    await this.#commit(transaction);
    return account;
  }

  async grant(accountId: string, amount: number, note?: string): Promise<Account> {
    const account = grant(this.#account(accountId), amount);
    const transaction = this.#begin();
    transaction.account(account);
    transaction.entry(account, { type: 'grant', amount, note: note ?? null });
    await this.#commit(transaction);
    return this.holds.within(account);
  }

  async setPlan(accountId: string, plan: Plan): Promise<Account> {
    const account = { ...this.#account(accountId), plan };
    const transaction = this.#begin();
    transaction.account(account);
    await this.#commit(transaction);
    return this.holds.within(account);
  }

  async createKey(key: NewKey): Promise<ApiKey> {
    this.#account(key.accountId);
    if (this.state.keyByHash.get(key.hash)) throw conflict('this key exists', 'key_exists');
    if (key.budget !== null) checkAmount(key.budget, 'budget');
    const transaction = this.#begin();
    const created: ApiKey = {
      id: newId('key'),
      accountId: key.accountId,
      name: key.name,
      hash: key.hash,
      hint: key.hint,
      createdAt: this.#now(),
      expiresAt: key.expiresAt,
      revokedAt: null,
      models: key.models && [...key.models],
      rpm: key.rpm,
      budget: key.budget,
      reserved: 0,
      spent: 0,
    };
    transaction.changes.push(['keys', this.state.keys.newOrder(), created]);
    await this.#commit(transaction);
    return created;
  }

  async revokeKey(keyId: string): Promise<ApiKey> {
    const order = this.state.keyById.order(keyId);
    if (order === undefined) throw missing('key', keyId);
    const key = this.state.keys.rows.get(order)!;
    if (key.revokedAt !== null) {
      await this.commits.settled('keys', order);
      return this.holds.within(key);
    }
    const revoked = { ...key, revokedAt: this.#now() };
    const transaction = this.#begin();
    transaction.changes.push(['keys', order, revoked]);
    await this.#commit(transaction);
    return this.holds.within(revoked);
  }

  async createTask(task: NewTask): Promise<{ readonly task: Task; readonly created: boolean }> {
    const before = this.#holder(task);
    const { idempotency } = task;
    const order =
      idempotency && this.state.taskByIdempotency.order(keyOfSum(task.accountId, idempotency.key));
    if (idempotency && order) {
      const same = this.state.tasks.rows.get(order)!;
      if (same.idempotency!.fingerprint !== idempotency.fingerprint) {
        const message = 'this idempotency key came with another request before';
        throw conflict(message, 'idempotency_conflict');
      }
      await this.commits.settled('tasks', order);
      return { task: same, created: false };
    }
    const holder = reserve(before, task.reservation, this.#held(before));
    const now = this.#now();
    const created: Task = {
      id: newId('task'),
      accountId: task.accountId,
      keyId: task.keyId,
      type: task.type,
      model: task.model,
      status: 'pending',
      request: task.request,
      result: null,
      error: null,
      reserved: task.reservation,
      charged: 0,
      attempts: 0,
      createdAt: now,
      updatedAt: now,
      deadline: task.deadline,
      callbackUrl: task.callbackUrl,
      progress: null,
      idempotency,
    };
    const transaction = this.#begin();
    transaction.changes.push(['tasks', this.state.tasks.newOrder(), created]);
    transaction.holder(holder);
    transaction.taskEntry(holder, 'reserve', task.reservation, created);
    await this.#commit(transaction);
    return { task: created, created: true };
  }

  async claimTask(taskId: string): Promise<Task | undefined> {
    const task = this.state.taskById.get(taskId);
    if (task?.status !== 'pending') return undefined;
    return this.#advance(task, 'processing', { attempts: task.attempts + 1 });
  }

  async completeTask(taskId: string, completion: Completion): Promise<Task> {
    return this.#end(taskId, { status: 'completed', ...completion });
  }

  async failTask(taskId: string, error: TaskError, charge = 0): Promise<Task> {
    return this.#end(taskId, { status: 'failed', error, charge, counts: {} });
  }

  async expireTask(taskId: string): Promise<Task> {
    const message = 'the task did not end before its deadline';
    const error: TaskError = { type: 'timeout', message, code: 'task_expired' };
    return this.#end(taskId, { status: 'expired', error, charge: 0, counts: {} });
  }

  async reopenTask(taskId: string): Promise<Task> {
    return this.#advance(this.#task(taskId), 'pending', {});
  }

  noteTask(): Promise<Task> {
    throw new Error('to be written');
  }

  addUpload(): Promise<Asset> {
    throw new Error('to be written');
  }

  findAsset(): Promise<Asset | undefined> {
    throw new Error('to be written');
  }

  async deleteUploads(): Promise<readonly Asset[]> {
    return [];
  }

  async openDeliveries(): Promise<readonly Delivery[]> {
    return [];
  }

  async listDeliveries(): Promise<readonly Delivery[] | undefined> {
    return [];
  }

  recordAttempt(): Promise<Delivery> {
    throw new Error('to be written');
  }

  async deleteTasks(
    endedBefore: number,
  ): Promise<{ readonly tasks: readonly Task[]; readonly assets: readonly Asset[] }> {
    const deleted: Task[] = [];
    for (;;) {
      const transaction = this.#begin();
      for (const state of ['completed', 'failed', 'expired']) {
        for (const [order, task] of this.state.tasksInState.oldest(state)) {
          if (transaction.changes.length === DELETIONS) break;
          if (task.updatedAt >= endedBefore) continue;
          transaction.changes.push(['tasks', order, null]);
          deleted.push(task);
        }
      }
      if (transaction.changes.length === 0) return { tasks: deleted, assets: [] };
      await this.#commit(transaction);
    }
  }

  async hold(accountId: string, keyId: string, amount: number): Promise<Hold> {
    const holder = found(this.bare, { accountId, keyId });
    checkFunds(holder, amount, this.#held(holder));
    return this.holds.begin(accountId, keyId, amount);
  }

  async settle(
    source: Hold | Pick<Hold, 'accountId' | 'keyId'>,
    metered: Metered,
  ): Promise<number> {
    checkAmount(metered.charge, 'charge');
    const holder = found(this.bare, source);
    if ('id' in source && !this.holds.end(source.id)) return 0;
    this.#checkOpen();
    this.commits.check();
    const amount = Math.min(metered.charge, spendable(holder, this.#held(holder)));
    this.charges.add(source, metered, amount, this.#now());
    return amount;
  }

  async release(hold: Hold): Promise<void> {
    this.holds.end(hold.id);
  }

  async foldLedger(before: number): Promise<void> {
    for (const { id } of [...this.state.accounts.rows.values()]) {
      const entries = [...this.state.ledgerOfAccount.oldest(id)];
      const folded = carry(
        entries.map(([, entry]) => entry),
        before,
      );
      if (!folded) continue;
      const transaction = this.#begin();
      for (const [order] of entries.slice(0, folded.count - 1)) {
        transaction.changes.push(['ledger', order, null]);
      }
      transaction.changes.push(['ledger', folded.carried.id, folded.carried]);
      await this.#commit(transaction);
    }
  }

  close(): Promise<void> {
    this.charges.fold();
    this.#closing ??= this.#letGo();
    return this.#closing;
  }

  async #advance(
    task: Task,
    to: TaskState,
    change: Partial<Pick<Task, 'attempts'>>,
  ): Promise<Task> {
    const next = advance(task, to, this.#now(), change);
    const transaction = this.#begin();
    transaction.task(next);
    await this.#commit(transaction);
    return next;
  }

  async #end(taskId: string, ending: Ending): Promise<Task> {
    checkAmount(ending.charge, 'charge');
    const task = this.#task(taskId);
    const charged = Math.min(ending.charge, task.reserved);
    const ended = advance(task, ending.status, this.#now(), {
      result: ending.result ?? null,
      error: ending.error ?? null,
      reserved: 0,
      charged,
    });
    const paid = charge(this.#holder(task), charged);
    const holder = release(paid, task.reserved - charged);
    const transaction = this.#begin();
    transaction.task(ended);
    if (task.reserved > 0) transaction.holder(holder);
    transaction.taskEntry(paid, 'charge', charged, task);
    transaction.taskEntry(holder, 'release', task.reserved - charged, task);
    if (ending.status === 'completed' || charged > 0) {
      transaction.usage(task.accountId, task.model, ending.counts, charged);
    }
    await this.#commit(transaction);
    return ended;
  }

  #begin(): Transaction {
    return new Transaction(this.state, this.#now());
  }

  #commit({ changes }: Transaction): Promise<void> {
    this.#checkOpen();
    return this.commits.commit(changes);
  }

  #checkOpen(): void {
    if (!this.#closing) return;
    throw new Failure('service_error', 'the store is closed', {
      status: 503,
      code: 'store_unavailable',
    });
  }

  #account(id: string): Account {
    const account = this.state.accountById.get(id);
    if (!account) throw missing('account', id);
    return account;
  }

  #holder(task: Pick<Task, 'accountId' | 'keyId'>): KeyHolder {
    return found(this.state, task);
  }

  #held({ account, key }: KeyHolder): Held {
    return this.holds.of(account.id, key.id);
  }

  #task(id: string): Task {
    const task = this.state.taskById.get(id);
    if (!task) throw missing('task', id);
    return task;
  }
}

/** @throws Failure 404 where there is no such account, or no such key of its own */
function found(state: State, payer: Pick<Hold, 'accountId' | 'keyId'>): KeyHolder {
  const holder = holderIn(state, payer);
  if (holder) return holder;
  if (!state.accountById.get(payer.accountId)) throw missing('account', payer.accountId);
  throw missing('key', payer.keyId);
}
