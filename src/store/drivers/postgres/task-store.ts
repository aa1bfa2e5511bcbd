import { Failure } from '../../../failure.ts';
import type { Asset, NewAsset } from '../../asset.ts';
import type {
  ClaimedDeliveries,
  Delivery,
  DeliveryAttempt,
  DeliveryOutcome,
  DeliveryQuery,
} from '../../delivery.ts';
import {
  type ClaimQuery,
  type Completion,
  EXPIRED,
  isTerminal,
  type NewTask,
  type Task,
  type TaskClaim,
  type TaskError,
} from '../../task.ts';
import { claimDeliveries, orphanedTasks, overdueTasks, pendingTasks } from './claims.ts';
import { recordAttempt } from './operations/deliveries.ts';
import {
  addUpload,
  claimOrphans,
  claimTasks,
  createTask,
  endTask,
  expireTasks,
  requeueTask,
  requeueUnknown,
  saveProgress,
} from './operations/tasks.ts';
import { StorePart } from './store-part.ts';
import type { Operation } from './transactions/transactions.ts';

/** Attempts to claim tasks of which other calls take some: each finds those that are left. */
const CLAIM_ROUNDS = 100;

/** The methods that change tasks, uploads and deliveries. */
export class TaskStore extends StorePart {
  /** Deliveries that this node has claimed. */
  readonly #deliveries = new Set<string>();
  /** Resolve when the last calls of `claimDeliveries` and of `claimPending` have ended. */
  #claimingDeliveries: Promise<unknown> = Promise.resolve();
  #claimingTasks: Promise<unknown> = Promise.resolve();
  /** Tasks whose claims by this node may have been committed although the call was rejected. */
  readonly #unknownClaims = new Set<string>();

  async createTask(task: NewTask): Promise<{ readonly task: Task; readonly created: boolean }> {
    const operation = createTask(task, { scopes: this.parts.scopes, at: this.now });
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

  async claimTask(taskId: string): Promise<Task | undefined> {
    const [task] = await this.#claim([taskId], (at) =>
      claimTasks([taskId], this.parts.lease.id, at),
    );
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
    for (let round = 0; round < CLAIM_ROUNDS && this.parts.lease.isValid; round += 1) {
      if (claimed.length >= query.limit) break;
      const limit = query.limit - claimed.length;
      const ids = await pendingTasks(this.parts.database, { ...query, limit }, this.now);
      if (ids.length === 0) break;
      claimed.push(...(await this.#claim(ids, (at) => claimTasks(ids, this.parts.lease.id, at))));
    }
    return claimed;
  }

  async claimOrphans(query: ClaimQuery): Promise<readonly Task[]> {
    const orphans = await orphanedTasks(this.parts.database, query);
    if (orphans.length === 0) return [];
    const ids = orphans.map(({ id }) => id);
    const dead = new Set(orphans.map(({ node }) => node ?? undefined));
    return this.#claim(ids, (at) => claimOrphans(ids, dead, { node: this.parts.lease.id, at }));
  }

  async #claim(
    ids: readonly string[],
    operationAt: (at: number) => Operation<readonly Task[]>,
  ): Promise<readonly Task[]> {
    // Claims of a lease that has ended would be orphans, which another node takes over.
    if (!this.parts.lease.isValid) return [];
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
      await this.run(endTask({ claim, node: this.parts.lease.id, at: this.now }, ending)),
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
    return this.#changed(
      await this.run(requeueTask({ claim, node: this.parts.lease.id, at: this.now })),
    );
  }

  saveProgress(claim: TaskClaim, progress: unknown): Promise<Task> {
    return this.run(saveProgress({ claim, node: this.parts.lease.id, at: this.now }, progress));
  }

  /** Sends the new state of a task to the other nodes. */
  #changed(task: Task): Task {
    const { id, accountId, status } = task;
    if (isTerminal(status)) this.parts.escrows.changed(accountId);
    this.parts.events.send({ kind: 'task', id, accountId, status });
    return task;
  }

  addUpload(accountId: string, asset: NewAsset, quota: number): Promise<Asset> {
    return this.run(addUpload(accountId, asset, { quota, at: this.now }));
  }

  claimDeliveries(query: DeliveryQuery): Promise<ClaimedDeliveries> {
    // One after the other: a call must know what the one before it has claimed.
    const claiming = this.#claimingDeliveries.then(() =>
      claimDeliveries(this.parts.database, query, {
        node: this.parts.lease.id,
        claimed: this.#deliveries,
        now: this.now,
      }),
    );
    this.#claimingDeliveries = claiming.catch(() => {});
    return claiming;
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

  /** Claims of this node have ended. */
  forgetClaims(): void {
    this.#deliveries.clear();
  }

  /** Gives back tasks of which the claim was not acknowledged. */
  async requeueUnknown(): Promise<void> {
    const unknown = [...this.#unknownClaims];
    if (unknown.length === 0) return;
    await this.run(requeueUnknown(unknown, this.parts.lease.id, this.now));
    for (const id of unknown) this.#unknownClaims.delete(id);
  }
}
