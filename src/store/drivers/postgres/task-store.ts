import { Failure } from '../../../failure.ts';
import { oneByOne } from '../../../flow.ts';
import { type Delivery, deliveryLost, withAttempt } from '../../delivery.ts';
import { notFound } from '../../errors.ts';
import {
  addUpload,
  claimedTaskMethods,
  claimTasks,
  createTask,
  expireTasks,
} from '../../operations/tasks.ts';
import type { Operation } from '../../operations/unit-of-work.ts';
import type { Store } from '../../store.ts';
import { type ClaimQuery, isTerminal, type Task, transition } from '../../task.ts';
import { claimDeliveries, orphanedTasks, overdueTasks, pendingTasks } from './claims.ts';
import { beginCharge, type PostgresParts } from './parts.ts';
import type { RowOperation } from './transactions/batch.ts';

/** Attempts to claim tasks of which other calls take some: each finds those that are left. */
const CLAIM_ROUNDS = 100;

/** The methods that change tasks, uploads and deliveries, and what this node has claimed. */
export function taskStore(parts: PostgresParts) {
  const { database, transactions, escrows, bank, events, lease, now } = parts;
  /** Deliveries that this node has claimed. */
  const deliveries = new Set<string>();
  /** Tasks whose claims by this node may have been committed although the call was rejected. */
  const unknownClaims = new Set<string>();
  const inTurnForTasks = oneByOne();
  const inTurnForDeliveries = oneByOne();

  /** Sends the new state of a task to the other nodes. */
  function changed(task: Task): Task {
    const { id, accountId, status } = task;
    if (isTerminal(status)) escrows.changed(accountId);
    events.send({ kind: 'task', id, accountId, status });
    return task;
  }

  async function claim(
    ids: readonly string[],
    isFree: (task: Task) => boolean,
  ): Promise<readonly Task[]> {
    // Claims of a lease that has ended would be orphans, which another node takes over.
    if (!lease.isValid) return [];
    try {
      const operation = claimTasks(ids, isFree, { node: lease.id, at: now() });
      return (await transactions.run(operation)).map(changed);
    } catch (error) {
      for (const id of ids) unknownClaims.add(id);
      throw error;
    }
  }
  const isPending = ({ status }: Task) => status === 'pending';
  const isOrphanOf = (dead: ReadonlySet<string | undefined>) => (task: Task) =>
    task.status === 'processing' && dead.has(task.node);

  async function claimPending(query: ClaimQuery): Promise<readonly Task[]> {
    const claimed: Task[] = [];
    for (let round = 0; round < CLAIM_ROUNDS && lease.isValid; round += 1) {
      if (claimed.length >= query.limit) break;
      const limit = query.limit - claimed.length;
      const ids = await pendingTasks(database, { ...query, limit }, now());
      if (ids.length === 0) break;
      claimed.push(...(await claim(ids, isPending)));
    }
    return claimed;
  }

  const methods = {
    ...claimedTaskMethods({
      claimant: () => ({ node: lease.id, at: now() }),
      run: (operation) => transactions.run(operation),
      changed,
    }),
    async createTask(task) {
      const operation = createTask(task, { scopes: parts.scopes, at: now() });
      try {
        return await transactions.run(operation);
      } catch (error) {
        if (!(error instanceof Failure) || error.type !== 'insufficient_quota') throw error;
        if (error.code === 'storage_full') throw error;
        // Nodes may hold credits in advance that no request uses.
        await escrows.returnFree(task.accountId);
        await bank.recall(task.accountId);
        return transactions.run(operation);
      }
    },
    async claimTask(taskId) {
      return (await claim([taskId], isPending))[0];
    },
    /** One call at a time: two at once would read the same oldest tasks. */
    claimPending: (query) => inTurnForTasks(() => claimPending(query)),
    async claimOrphans(query) {
      const orphans = await orphanedTasks(database, query);
      if (orphans.length === 0) return [];
      const dead = new Set(orphans.map(({ node }) => node ?? undefined));
      const ids = orphans.map(({ id }) => id);
      return claim(ids, isOrphanOf(dead));
    },
    async expireOverdue(limit) {
      const at = now();
      const overdue = await overdueTasks(database, limit, at);
      if (overdue.length === 0) return [];
      const isOrphan = isOrphanOf(new Set(overdue.map(({ node }) => node ?? undefined)));
      const ids = overdue.map(({ id }) => id);
      const isFree = (task: Task) => isPending(task) || isOrphan(task);
      return (await transactions.run(expireTasks(ids, isFree, at))).map(changed);
    },
    async addUpload(accountId, asset, quota, charged) {
      if (charged) await beginCharge(parts, accountId, charged);
      const options = { quota, at: now(), scopes: parts.scopes, charged };
      return transactions.run(addUpload(accountId, asset, options));
    },
    /** One call at a time: each must know what the one before it has claimed. */
    claimDeliveries: (query) =>
      inTurnForDeliveries(() =>
        claimDeliveries(database, query, {
          ...{ node: lease.id, claimed: deliveries, now: now(), nodes: lease },
        }),
      ),
    async recordAttempt(known, attempt, outcome) {
      const mayRecord = (node: string) => node === lease.id || !lease.isAlive(node);
      const operation = recordAttempt([known, attempt, outcome], mayRecord);
      const delivery = await transactions.run(operation);
      deliveries.delete(known.id);
      return delivery;
    },
  } satisfies Partial<Store>;

  const claims = {
    /** Forgets the deliveries that this node had claimed: its lease has ended. */
    forget: () => deliveries.clear(),
    /** Gives back tasks of which the claim was not acknowledged. */
    async requeueUnknown() {
      const unknown = [...unknownClaims];
      if (unknown.length === 0) return;
      await transactions.run(requeueTasks(unknown, lease.id, now()));
      for (const id of unknown) unknownClaims.delete(id);
    },
  };
  return { methods, claims };
}

/** Gives back tasks that a node may have claimed without knowing it. */
function requeueTasks(ids: readonly string[], node: string, at: number): Operation<void> {
  return {
    needs: { tasks: ids },
    apply(unit) {
      for (const id of ids) {
        const task = unit.find('task', id);
        if (task?.status !== 'processing' || task.node !== node) continue;
        unit.put('task', transition(task, 'pending', at));
      }
    },
  };
}

/** @param mayRecord whether this node may record an attempt of a delivery that a node has claimed */
function recordAttempt(
  [known, attempt, outcome]: Parameters<Store['recordAttempt']>,
  mayRecord: (node: string) => boolean,
): RowOperation<Delivery> {
  return {
    needs: { deliveries: [known.id] },
    apply(batch) {
      const row = batch.deliveries.get(known.id);
      if (!row) throw notFound('delivery', known.id);
      const delivery = withAttempt(row.delivery, known, attempt, outcome);
      if (row.node !== null && !mayRecord(row.node)) throw deliveryLost(known);
      batch.put('delivery', delivery);
      return delivery;
    },
  };
}
