import { Failure } from '../../../failure.ts';
import type { Asset, NewAsset } from '../../asset.ts';
import { BudgetScopes } from '../../budgets.ts';
import type { Delivery, DeliveryAttempt, DeliveryOutcome } from '../../delivery.ts';
import { notFound } from '../../errors.ts';
import { checkAmount } from '../../funds.ts';
import type { StoreHealth } from '../../health.ts';
import type {
  ClaimedDeliveries,
  ClaimQuery,
  Completion,
  DeletedRecords,
  DeliveryQuery,
  MeteredUsage,
  NewTask,
  NodeRecord,
  Page,
  Payer,
  Reservation,
  Store,
  TaskQuery,
  TaskTotals,
} from '../../store.ts';
import type { PublishedEvent, StoreEvent } from '../../store-event.ts';
import { EXPIRED, isTerminal, type Task, type TaskClaim, type TaskError } from '../../task.ts';
import { AccountStore } from './account-store.ts';
import {
  claimDeliveries,
  orphanedEscrows,
  orphanedTasks,
  overdueTasks,
  pendingTasks,
} from './claims.ts';
import { closed } from './database/database.ts';
import type { ScopedPayer } from './escrow/bank.ts';
import type { DriverEvent } from './events.ts';
import type { NodeLease } from './nodes.ts';
import { recordAttempt } from './operations/deliveries.ts';
import { returnEscrows } from './operations/escrows.ts';
import { deleteInputs, deleteTasks, deleteUploads, trimTasks } from './operations/retention.ts';
import {
  addUpload,
  claimOrphans,
  claimTasks,
  createTask,
  endTask,
  expireTasks,
  requeueTask,
  requeueUnknown,
  sameRequest,
  saveProgress,
} from './operations/tasks.ts';
import { SharedObjects } from './shared-objects.ts';
import type { Operation } from './transactions/transactions.ts';
import { PostgresTransfer } from './transfer.ts';

/** Attempts to claim tasks of which other calls take some: each finds those that are left. */
const CLAIM_ROUNDS = 100;

/** Store of several nodes over one PostgreSQL database. README.md explains its parts. */
export class PostgresStore extends AccountStore implements Store {
  readonly isShared = true;
  readonly transfer = new PostgresTransfer(this.parts.database, () => this.parts.escrows.flush());
  readonly #objects = new SharedObjects({ ...this.parts, reads: this.parts.reader.reads });
  readonly #scopes = new BudgetScopes();
  readonly #listeners = new Set<(event: StoreEvent) => void>();
  /** Deliveries that this node has claimed. */
  readonly #deliveries = new Set<string>();
  /** Resolve when the last calls of `claimDeliveries` and of `claimPending` have ended. */
  #claimingDeliveries: Promise<unknown> = Promise.resolve();
  #claimingTasks: Promise<unknown> = Promise.resolve();
  /** Tasks whose claims by this node may have been committed although the call was rejected. */
  readonly #unknownClaims = new Set<string>();

  get nodes(): NodeLease {
    return this.parts.lease;
  }

  async createTask(task: NewTask): Promise<{ readonly task: Task; readonly created: boolean }> {
    const operation = createTask(task, { scopes: this.#scopes, at: this.now });
    try {
      return await this.run(operation);
    } catch (error) {
      if (!(error instanceof Failure) || error.type !== 'insufficient_quota') throw error;
      if (error.code === 'storage_full') throw error;
      // Nodes may hold credits in advance that no request uses.
      await this.parts.escrows.returnFree(task.accountId);
      await this.parts.bank.recall(task.accountId);
      return this.run(operation);
    }
  }

  async findTaskByIdempotencyKey(
    accountId: string,
    idempotency: NonNullable<Task['idempotency']>,
  ): Promise<Task | undefined> {
    const task = await this.parts.reader.findTaskByIdempotencyKey(accountId, idempotency.key);
    return task && sameRequest(task, idempotency);
  }

  async claimTask(taskId: string): Promise<Task | undefined> {
    const [task] = await this.#claim([taskId], (at) => claimTasks([taskId], this.nodes.id, at));
    return task;
  }

  /** One call at a time: two at once would read the same oldest tasks. */
  claimPending(query: ClaimQuery): Promise<readonly Task[]> {
    const claiming = this.#claimingTasks.then(() => this.#claimPending(query));
    this.#claimingTasks = claiming.catch(() => {});
    return claiming;
  }

  async #claimPending(query: ClaimQuery): Promise<readonly Task[]> {
    const claimed: Task[] = [];
    for (let round = 0; round < CLAIM_ROUNDS && this.nodes.isValid; round += 1) {
      if (claimed.length >= query.limit) break;
      const limit = query.limit - claimed.length;
      const ids = await pendingTasks(this.parts.database, { ...query, limit }, this.now);
      if (ids.length === 0) break;
      claimed.push(...(await this.#claim(ids, (at) => claimTasks(ids, this.nodes.id, at))));
    }
    return claimed;
  }

  async claimOrphans(query: ClaimQuery): Promise<readonly Task[]> {
    const orphans = await orphanedTasks(this.parts.database, query);
    if (orphans.length === 0) return [];
    const ids = orphans.map(({ id }) => id);
    const dead = new Set(orphans.map(({ node }) => node ?? undefined));
    return this.#claim(ids, (at) => claimOrphans(ids, dead, { node: this.nodes.id, at }));
  }

  async #claim(
    ids: readonly string[],
    operationAt: (at: number) => Operation<readonly Task[]>,
  ): Promise<readonly Task[]> {
    // Claims of a lease that has ended would be orphans, which another node takes over.
    if (!this.nodes.isValid) return [];
    try {
      const claimed = await this.run(operationAt(this.now));
      for (const task of claimed) this.#changed(task);
      return claimed;
    } catch (error) {
      for (const id of ids) this.#unknownClaims.add(id);
      throw error;
    }
  }

  completeTask(claim: TaskClaim, completion: Completion): Promise<Task> {
    return this.#end(claim, { status: 'completed', ...completion });
  }

  failTask(claim: TaskClaim, error: TaskError, charge = 0): Promise<Task> {
    return this.#end(claim, { status: 'failed', error, charge });
  }

  expireTask(claim: TaskClaim): Promise<Task> {
    return this.#end(claim, { status: 'expired', error: EXPIRED, charge: 0 });
  }

  async #end(claim: TaskClaim, ending: Parameters<typeof endTask>[1]): Promise<Task> {
    return this.#changed(
      await this.run(endTask({ claim, node: this.nodes.id, at: this.now }, ending)),
    );
  }

  async expireOverdue(limit: number): Promise<readonly Task[]> {
    const now = this.now;
    const overdue = await overdueTasks(this.parts.database, limit, now);
    if (overdue.length === 0) return [];
    const dead = new Set(overdue.map(({ node }) => node ?? undefined));
    const ids = overdue.map(({ id }) => id);
    const expired = await this.run(expireTasks(ids, dead, { error: EXPIRED, at: now }));
    for (const task of expired) this.#changed(task);
    return expired;
  }

  async requeueTask(claim: TaskClaim): Promise<Task> {
    return this.#changed(await this.run(requeueTask({ claim, node: this.nodes.id, at: this.now })));
  }

  saveProgress(claim: TaskClaim, progress: unknown): Promise<Task> {
    return this.run(saveProgress({ claim, node: this.nodes.id, at: this.now }, progress));
  }

  /** Sends the new state of a task to the other nodes. */
  #changed(task: Task): Task {
    const { id, accountId, status } = task;
    if (isTerminal(status)) this.parts.escrows.changed(accountId);
    this.parts.events.send({ kind: 'task', id, accountId, status });
    return task;
  }

  async findTask(accountId: string, taskId: string): Promise<Task | undefined> {
    return this.parts.reader.findTask(accountId, taskId);
  }

  async listTasks(query: TaskQuery, page: Page<string>): Promise<readonly Task[]> {
    return this.parts.reader.listTasks(query, page);
  }

  deleteTasks(endedBefore: number): Promise<DeletedRecords> {
    return deleteTasks(this.parts.database, endedBefore);
  }

  trimTasks(accountId: string, limits: TaskTotals): Promise<DeletedRecords> {
    return trimTasks(this.parts.database, accountId, limits);
  }

  deleteInputs(): Promise<readonly Asset[]> {
    return deleteInputs(this.parts.database);
  }

  addUpload(accountId: string, asset: NewAsset, quota: number): Promise<Asset> {
    return this.run(addUpload(accountId, asset, { quota, at: this.now }));
  }

  findAsset(assetId: string): Promise<Asset | undefined> {
    return this.parts.reader.findAsset(assetId);
  }

  deleteUploads(madeBefore: number): Promise<readonly Asset[]> {
    return deleteUploads(this.parts.database, madeBefore);
  }

  claimDeliveries(query: DeliveryQuery): Promise<ClaimedDeliveries> {
    // One after the other: a call must know what the one before it has claimed.
    const claiming = this.#claimingDeliveries.then(() =>
      claimDeliveries(this.parts.database, query, {
        node: this.nodes.id,
        claimed: this.#deliveries,
        now: this.now,
      }),
    );
    this.#claimingDeliveries = claiming.catch(() => {});
    return claiming;
  }

  async listDeliveries(
    accountId: string,
    taskId: string,
  ): Promise<readonly Delivery[] | undefined> {
    return this.parts.reader.listDeliveries(accountId, taskId);
  }

  async recordAttempt(
    known: Delivery,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<Delivery> {
    const { lease } = this.parts;
    const mayRecord = (node: string) => node === lease.id || !lease.isAlive(node);
    const delivery = await this.run(recordAttempt({ known, attempt, outcome }, mayRecord));
    this.#deliveries.delete(known.id);
    return delivery;
  }

  async reserve(accountId: string, keyId: string, amount: number): Promise<Reservation> {
    checkAmount(amount, 'reservation');
    return this.parts.escrows.reserve(await this.#payer({ accountId, keyId }), amount);
  }

  async settle(source: Reservation | Payer, metered: MeteredUsage): Promise<number> {
    checkAmount(metered.charge, 'charge');
    if (this.closing) throw closed();
    const payer = 'id' in source ? source : await this.#payer(source);
    return this.parts.escrows.settle(payer, metered);
  }

  async release(reservation: Reservation): Promise<void> {
    this.parts.escrows.release(reservation);
  }

  addProviderObjects(accountId: string, ids: readonly string[]): void {
    this.#objects.addProviderObjects(accountId, ids);
  }

  findProviderObjects(accountId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#objects.findProviderObjects(accountId, ids);
  }

  /** Account and key with the team and the windows in which credits that are reserved now count. */
  async #payer({ accountId, keyId }: Payer): Promise<ScopedPayer> {
    const hash = this.hashes.get(keyId) ?? (await this.parts.reader.hashOf(keyId));
    const found = hash === undefined ? undefined : await this.parts.keys.find(hash);
    if (found?.key.accountId !== accountId) {
      const account = await this.parts.reader.findAccount(accountId);
      throw account?.id === accountId ? notFound('key', keyId) : notFound('account', accountId);
    }
    this.hashes.set(keyId, hash!);
    const scope = this.#scopes.of(found.key, found.team, this.now);
    return { accountId, keyId, scope };
  }

  health(): StoreHealth {
    const { transactions, escrows, database, lease } = this.parts;
    const failure = transactions.failure ?? lease.failure;
    const fault = failure && `PostgreSQL: ${failure.message}`;
    return {
      fault,
      textFault: lease.isEscrowValid ? null : fault,
      pendingCharges: escrows.pendingCharges,
      database: {
        busyConnections: database.busy,
        waitingCalls: database.waiting,
        idleEscrow: escrows.idle,
      },
    };
  }

  listNodes(): Promise<readonly NodeRecord[]> {
    return this.parts.lease.list();
  }

  watch(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  publish(event: PublishedEvent): void {
    this.parts.events.send(event);
  }

  withLock<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    return this.parts.database.withLock(name, work);
  }

  /** Handles an event of another node. */
  receive(event: DriverEvent): void {
    const { keys, escrows, bank, lease, events, onFault } = this.parts;
    switch (event.kind) {
      case 'keys':
        keys.forget(event.accounts);
        for (const accountId of event.accounts) {
          escrows.changed(accountId);
          escrows.returnFree(accountId).catch(onFault);
        }
        return;
      case 'task':
        if (isTerminal(event.status)) escrows.changed(event.accountId);
        this.#emit(event);
        return;
      case 'recall': {
        const { accountId } = event;
        escrows
          .returnFree(accountId)
          .then(() => events.send({ kind: 'recalled', accountId, node: lease.escrowId }))
          .catch(onFault);
        return;
      }
      case 'recalled':
        bank.recalled(event.accountId, event.node);
        return;
      default:
        this.#emit(event);
    }
  }

  #emit(event: StoreEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** The lease of this node's claims has ended. */
  leaseLost(): void {
    this.#deliveries.clear();
    this.#emit({ kind: 'lease_lost' });
  }

  /** The lease of this node's escrows has ended. */
  escrowLost(): void {
    const { escrows, log, lease } = this.parts;
    escrows.lost(lease.escrowId);
    log.restart(lease.escrowId);
  }

  /** Deletes what is old, releases what dead nodes hold, and gives back tasks of which the claim was not acknowledged. */
  async tidy(): Promise<void> {
    // An empty transaction: without requests no other shows that the database can be written again.
    if (this.parts.transactions.failure) await this.run({ needs: {}, apply: () => {} });
    await this.#objects.tidy();
    for (;;) {
      const orphans = await orphanedEscrows(this.parts.database);
      if (orphans.length === 0) break;
      const dead = new Set(orphans.map(({ node }) => node));
      await this.run(
        returnEscrows(
          orphans.map(({ id }) => id),
          (node) => dead.has(node),
        ),
      );
    }
    const unknown = [...this.#unknownClaims];
    if (unknown.length === 0) return;
    await this.run(requeueUnknown(unknown, this.nodes.id, this.now));
    for (const id of unknown) this.#unknownClaims.delete(id);
  }

  close(): Promise<void> {
    this.closing ??= this.#close();
    return this.closing;
  }

  async #close(): Promise<void> {
    const { database, transactions, escrows, log, keys, events, lease } = this.parts;
    keys.close();
    await this.#objects.close();
    await escrows.close();
    log.close(escrows.pendingCharges === 0);
    await transactions.close();
    await events.close();
    await lease.close();
    await database.close();
    await this.parts.release();
  }
}
