import { type Asset, checkStorageQuota, type NewAsset } from '../../../asset.ts';
import type { BudgetScopes } from '../../../budgets.ts';
import { notFound } from '../../../errors.ts';
import { charge, checkAmount, release, reserve } from '../../../funds.ts';
import { newId } from '../../../identifier.ts';
import { createdDelivery, createdTask } from '../../../new-records.ts';
import type { KeyHolder } from '../../../store.ts';
import {
  checkClaim,
  checkOpenRequests,
  checkOpenTasks,
  claimedTask,
  type NewTask,
  sameRequest,
  type Task,
  type TaskClaim,
  type TaskEnd,
  type TaskError,
  transition,
  withProgress,
} from '../../../task.ts';
import { encodeText } from '../database/text.ts';
import type { Batch } from '../transactions/batch.ts';
import type { Operation } from '../transactions/transactions.ts';

type Idempotency = NonNullable<Task['idempotency']>;

interface Creation {
  readonly scopes: BudgetScopes;
  readonly at: number;
}

/** Creates a pending task, or returns the one with the same idempotency key. */
export function createTask(
  task: NewTask,
  { scopes, at }: Creation,
): Operation<{ readonly task: Task; readonly created: boolean }> {
  const { accountId, keyId, idempotency, assets, reservation } = task;
  const id = newId('task');
  return {
    needs: {
      accounts: [accountId],
      keys: [keyId],
      idempotency: idempotency ? [{ accountId, key: encodeText(idempotency.key) }] : [],
    },
    apply(batch) {
      const same = idempotency && findSame(batch, accountId, idempotency);
      if (same) return { task: sameRequest(same, idempotency), created: false };
      const holder = batch.holder(task);
      const { tasks, requestBytes, storedBytes } = batch.account(accountId);
      checkOpenTasks(tasks.pending + tasks.processing, task.maxOpenTasks);
      checkOpenRequests(requestBytes, task.request);
      const bytes = assets.reduce((sum, asset) => sum + asset.bytes, 0);
      checkStorageQuota(storedBytes, bytes, task.storageQuota);
      const scope = scopes.of(holder.key, batch.teamOf(holder.key), at);
      const funds = reserve(batch.funds(holder, scope), reservation, undefined, at);
      const created = createdTask(task, scope, { id, at });
      if (reservation > 0) batch.putFunds(funds);
      batch.putTask(created, undefined);
      for (const asset of assets) addAsset(batch, newAsset(created, asset, at, 'needed'));
      taskEntry(batch, funds, { type: 'reserve', amount: reservation, task: created, at });
      return { task: created, created: true };
    },
  };
}

function findSame(batch: Batch, accountId: string, { key }: Idempotency): Task | undefined {
  for (const task of batch.tasks.values()) {
    if (task.accountId === accountId && task.idempotency?.key === key) return task;
  }
  return undefined;
}

function newAsset(
  task: Task,
  { id, mediaType, bytes, sha256 }: NewAsset,
  createdAt: number,
  input?: 'needed',
): Asset {
  const { accountId, id: taskId } = task;
  return { id, accountId, taskId, mediaType, bytes, sha256, createdAt, ...(input && { input }) };
}

/** Adds an asset, with its bytes to the sums of its account. */
function addAsset(batch: Batch, asset: Asset): void {
  const row = batch.account(asset.accountId);
  const isResult = asset.taskId !== null && asset.input === undefined;
  const sum = isResult ? 'resultBytes' : 'storedBytes';
  batch.putAccount(row.account, { [sum]: row[sum] + asset.bytes });
  batch.assets.push(asset);
}

function taskEntry(
  batch: Batch,
  { account }: KeyHolder,
  entry: {
    readonly type: 'reserve' | 'charge' | 'release';
    readonly amount: number;
    readonly task: Task;
    readonly at: number;
  },
): void {
  const { type, amount, at, task } = entry;
  batch.entry(account, { type, amount, keyId: task.keyId, taskId: task.id, model: task.model }, at);
}

/** pending → processing, unless another node was faster. */
export function claimTasks(
  ids: readonly string[],
  node: string,
  at: number,
): Operation<readonly Task[]> {
  return {
    needs: { tasks: ids },
    apply: (batch) => claimAll(batch, ids, { node, at }, ({ status }) => status === 'pending'),
  };
}

/** Takes over processing tasks of nodes whose leases have ended. */
export function claimOrphans(
  ids: readonly string[],
  dead: ReadonlySet<string | undefined>,
  { node, at }: { readonly node: string; readonly at: number },
): Operation<readonly Task[]> {
  return {
    needs: { tasks: ids },
    apply: (batch) =>
      claimAll(batch, ids, { node, at }, (task) => {
        return task.status === 'processing' && dead.has(task.node);
      }),
  };
}

function claimAll(
  batch: Batch,
  ids: readonly string[],
  { node, at }: { readonly node: string; readonly at: number },
  isFree: (task: Task) => boolean,
): Task[] {
  const claimed: Task[] = [];
  for (const id of ids) {
    const task = batch.tasks.get(id);
    if (!task || !isFree(task)) continue;
    const next = claimedTask(task, node, at);
    batch.putTask(next, task);
    claimed.push(next);
  }
  return claimed;
}

interface Change {
  readonly claim: TaskClaim;
  readonly node: string;
  readonly at: number;
}

/** @throws Failure 404 `task_not_found`; 409 `claim_lost` */
function claimedIn(batch: Batch, { claim, node }: Change): Task {
  const task = batch.tasks.get(claim.id);
  if (!task) throw notFound('task', claim.id);
  checkClaim(task, claim, node);
  return task;
}

function changeTask(change: Change, next: (task: Task) => Task): Operation<Task> {
  return {
    needs: { tasks: [change.claim.id] },
    apply(batch) {
      const task = claimedIn(batch, change);
      const changed = next(task);
      batch.putTask(changed, task);
      return changed;
    },
  };
}

export function requeueTask(change: Change): Operation<Task> {
  return changeTask(change, (task) => transition(task, 'pending', change.at));
}

export function saveProgress(change: Change, progress: unknown): Operation<Task> {
  return changeTask(change, (task) => withProgress(task, progress, change.at));
}

export function endTask(change: Change, ending: TaskEnd): Operation<Task> {
  const delivery = newId('msg');
  return {
    needs: { tasks: [change.claim.id] },
    apply(batch) {
      checkAmount(ending.charge, 'charge');
      return end(batch, claimedIn(batch, change), { ending, at: change.at, delivery });
    },
  };
}

/** Expires tasks after their deadlines that no living node works on. */
export function expireTasks(
  ids: readonly string[],
  dead: ReadonlySet<string | undefined>,
  { error, at }: { readonly error: TaskError; readonly at: number },
): Operation<readonly Task[]> {
  const deliveries = ids.map(() => newId('msg'));
  return {
    needs: { tasks: ids },
    apply: (batch) =>
      ids.flatMap((id, index) => {
        const task = batch.tasks.get(id);
        const isFree =
          task?.status === 'pending' || (task?.status === 'processing' && dead.has(task.node));
        if (!isFree || task.deadline > at) return [];
        const ending = { status: 'expired', error, charge: 0 } as const;
        return end(batch, task, { ending, at, delivery: deliveries[index]! });
      }),
  };
}

function end(
  batch: Batch,
  task: Task,
  { ending, at, delivery }: { ending: TaskEnd; at: number; delivery: string },
): Task {
  const charged = Math.min(ending.charge, task.reserved);
  const rest = task.reserved - charged;
  const ended = transition(task, ending.status, at, {
    result: ending.result ?? null,
    error: ending.error ?? null,
    reserved: 0,
    charged,
  });
  const paid = charge(batch.funds(batch.holder(task), task.scope), charged);
  const released = release(paid, rest);
  if (task.reserved > 0) batch.putFunds(released);
  batch.putTask(ended, task);
  batch.endedTasks.push(task.id);
  for (const asset of ending.assets ?? []) addAsset(batch, newAsset(task, asset, at));
  if (ended.callbackUrl !== null) {
    const created = createdDelivery(ended, ended.callbackUrl, { id: delivery, at });
    batch.deliveries.put({ id: created.id, delivery: created, node: null });
  }
  taskEntry(batch, paid, { type: 'charge', amount: charged, task, at });
  taskEntry(batch, released, { type: 'release', amount: rest, task, at });
  const isCompleted = ending.status === 'completed';
  const counts = { requests: 1, errors: isCompleted ? 0 : 1, ...ending.counts };
  batch.addUsage(task, { model: task.model, counts, spent: charged, at });
  return ended;
}

/** Records an upload. @throws Failure insufficient_quota, code `storage_full` */
export function addUpload(
  accountId: string,
  upload: NewAsset,
  { quota, at }: { readonly quota: number; readonly at: number },
): Operation<Asset> {
  const { id, mediaType, bytes, sha256 } = upload;
  const asset: Asset = { id, accountId, taskId: null, mediaType, bytes, sha256, createdAt: at };
  return {
    needs: { accounts: [accountId] },
    apply(batch) {
      checkStorageQuota(batch.account(accountId).storedBytes, bytes, quota);
      addAsset(batch, asset);
      return asset;
    },
  };
}

/** Gives back tasks that a node may have claimed without knowing it. */
export function requeueUnknown(ids: readonly string[], node: string, at: number): Operation<void> {
  return {
    needs: { tasks: ids },
    apply(batch) {
      for (const id of ids) {
        const task = batch.tasks.get(id);
        if (task?.status !== 'processing' || task.node !== node) continue;
        batch.putTask(transition(task, 'pending', at), task);
      }
    },
  };
}
