import { type Asset, checkStorageQuota, type NewAsset } from '../asset.ts';
import type { BudgetScope, BudgetScopes } from '../budgets.ts';
import { charge, checkAmount, release, reserve, spend, spendable } from '../funds.ts';
import { newId } from '../identifier.ts';
import type { LedgerEntry, WorkCharges } from '../ledger.ts';
import type { KeyHolder, Store } from '../store.ts';
import {
  type Completion,
  checkClaim,
  checkOpenRequests,
  checkOpenTasks,
  claimedTask,
  EXPIRED,
  type NewTask,
  sameRequest,
  type Task,
  type TaskClaim,
  type TaskError,
  transition,
  withProgress,
} from '../task.ts';
import type { Operation, UnitOfWork } from './unit-of-work.ts';

/** Creates a pending task, or returns the one with the same idempotency key. */
export function createTask(
  task: NewTask,
  { scopes, at }: { readonly scopes: BudgetScopes; readonly at: number },
): Operation<Awaited<ReturnType<Store['createTask']>>> {
  const { accountId, keyId, idempotency, assets, reservation } = task;
  const id = newId('task');
  return {
    needs: {
      accounts: [accountId],
      keys: [keyId],
      idempotency: idempotency ? [{ accountId, key: idempotency.key }] : [],
    },
    apply(unit) {
      const same = idempotency && unit.findTaskByIdempotencyKey(accountId, idempotency.key);
      if (same) return { task: sameRequest(same, idempotency), created: false };
      const holder = unit.holder(task);
      const { openTasks, requestBytes, storedBytes } = unit.useOf(accountId);
      checkOpenTasks(openTasks, task.maxOpenTasks);
      checkOpenRequests(requestBytes, task.request);
      const bytes = assets.reduce((sum, asset) => sum + asset.bytes, 0);
      checkStorageQuota(storedBytes, bytes, task.storageQuota);
      const { teamId } = holder.key;
      const team = teamId === undefined ? undefined : unit.find('team', teamId);
      const scope = scopes.of(holder.key, team, at);
      const funds = reserve(unit.funds(holder, scope), reservation, unit.held, at);
      const created = pendingTask(task, scope, id, at);
      if (reservation > 0) unit.putFunds(funds);
      unit.put('task', created);
      for (const asset of assets) {
        unit.addAsset({
          ...recorded(asset),
          accountId,
          taskId: id,
          createdAt: at,
          input: 'needed',
        });
      }
      taskEntry(unit, funds, { type: 'reserve', amount: reservation, task: created, at });
      return { task: created, created: true };
    },
  };
}

function pendingTask(task: NewTask, scope: BudgetScope | undefined, id: string, at: number): Task {
  return {
    id,
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
    ...(scope && { scope }),
    attempts: 0,
    createdAt: at,
    updatedAt: at,
    deadline: task.deadline,
    callbackUrl: task.callbackUrl,
    progress: null,
    idempotency: task.idempotency,
    ...(task.traceparent !== undefined && { traceparent: task.traceparent }),
    ...(task.tags && { tags: task.tags }),
  };
}

/** The fields of a new asset alone: callers pass objects that have more. */
function recorded({ id, mediaType, bytes, sha256 }: NewAsset): NewAsset {
  return { id, mediaType, bytes, sha256 };
}

function taskEntry(
  unit: UnitOfWork,
  { account }: KeyHolder,
  entry: Pick<LedgerEntry, 'type' | 'amount' | 'at'> & { readonly task: Task },
): void {
  const { type, amount, at, task } = entry;
  unit.entry(account, { type, amount, keyId: task.keyId, taskId: task.id, model: task.model }, at);
}

interface Claimant {
  /** Identifier of the node that makes the change. */
  readonly node: string;
  readonly at: number;
}

/** Claims the tasks that are free still. */
export function claimTasks(
  ids: readonly string[],
  isFree: (task: Task) => boolean,
  { node, at }: Claimant,
): Operation<readonly Task[]> {
  return {
    needs: { tasks: ids },
    apply: (unit) =>
      ids.flatMap((id) => {
        const task = unit.find('task', id);
        if (!task || !isFree(task)) return [];
        const claimed = claimedTask(task, node, at);
        unit.put('task', claimed);
        return [claimed];
      }),
  };
}

/** Expires tasks after their deadlines that no living node works on. */
export function expireTasks(
  ids: readonly string[],
  isFree: (task: Task) => boolean,
  at: number,
): Operation<readonly Task[]> {
  const deliveries = ids.map(() => newId('msg'));
  return {
    needs: { tasks: ids },
    apply: (unit) =>
      ids.flatMap((id, index) => {
        const task = unit.find('task', id);
        if (!task || task.deadline > at || !isFree(task)) return [];
        return [end(unit, task, EXPIRY, { at, delivery: deliveries[index]! })];
      }),
  };
}

/** End of a task: its last state, its charge, and its results. */
interface TaskEnd extends Partial<Pick<Completion, 'result' | 'counts' | 'assets'>> {
  readonly status: 'completed' | 'failed' | 'expired';
  readonly error?: TaskError;
  readonly charge: number;
}

const EXPIRY: TaskEnd = { status: 'expired', error: EXPIRED, charge: 0 };

function end(
  unit: UnitOfWork,
  task: Task,
  ending: TaskEnd,
  { at, delivery }: { readonly at: number; readonly delivery: string },
): Task {
  const { id: taskId, accountId } = task;
  const charged = Math.min(ending.charge, task.reserved);
  const rest = task.reserved - charged;
  const ended = transition(task, ending.status, at, {
    result: ending.result ?? null,
    error: ending.error ?? null,
    reserved: 0,
    charged,
  });
  const paid = charge(unit.funds(unit.holder(task), task.scope), charged);
  const released = release(paid, rest);
  if (task.reserved > 0) unit.putFunds(released);
  unit.put('task', ended);
  unit.spendInputs(taskId);
  for (const asset of ending.assets ?? []) {
    unit.addAsset({ ...recorded(asset), accountId, taskId, createdAt: at });
  }
  const { callbackUrl: url, updatedAt: createdAt } = ended;
  if (url !== null) {
    // Its first attempt is due at once.
    const due = { status: 'pending', attempts: [], nextAt: at } as const;
    unit.put('delivery', { id: delivery, accountId, taskId, url, ...due, createdAt });
  }
  taskEntry(unit, paid, { type: 'charge', amount: charged, task, at });
  taskEntry(unit, released, { type: 'release', amount: rest, task, at });
  const errors = ending.status === 'completed' ? 0 : 1;
  const counts = { requests: 1, errors, ...ending.counts };
  unit.addUsage(task, { model: task.model, counts, charge: charged, tags: task.tags }, at);
  return ended;
}

interface Driver {
  /** The node and the time of a change. */
  readonly claimant: () => Claimant;
  /** Runs a change of a task. @param assets files that it adds */
  readonly run: (operation: Operation<Task>, assets: readonly NewAsset[]) => Promise<Task>;
  /** Called with tasks in a new state. */
  readonly changed: (task: Task) => Task;
}

/** The methods that change a claimed task. */
export function claimedTaskMethods({ claimant, run, changed }: Driver) {
  const change = (
    claim: TaskClaim,
    next: (task: Task, unit: UnitOfWork, at: number) => Task,
    assets: readonly NewAsset[] = [],
  ) => {
    const { node, at } = claimant();
    const operation: Operation<Task> = {
      needs: { tasks: [claim.id] },
      apply(unit) {
        const task = unit.get('task', claim.id);
        checkClaim(task, claim, node);
        return next(task, unit, at);
      },
    };
    return run(operation, assets);
  };
  const endClaimed = async (claim: TaskClaim, ending: TaskEnd) => {
    checkAmount(ending.charge, 'charge');
    const delivery = newId('msg');
    const next = (task: Task, unit: UnitOfWork, at: number) =>
      end(unit, task, ending, { at, delivery });
    return changed(await change(claim, next, ending.assets));
  };
  const put =
    (next: (task: Task, at: number) => Task) => (task: Task, unit: UnitOfWork, at: number) => {
      const after = next(task, at);
      unit.put('task', after);
      return after;
    };
  return {
    completeTask: (claim, completion) => endClaimed(claim, { status: 'completed', ...completion }),
    failTask: (claim, error, charged = 0) =>
      endClaimed(claim, { status: 'failed', error, charge: charged }),
    expireTask: (claim) => endClaimed(claim, EXPIRY),
    async requeueTask(claim) {
      return changed(
        await change(
          claim,
          put((task, at) => transition(task, 'pending', at)),
        ),
      );
    },
    async saveProgress(claim, progress) {
      return change(
        claim,
        put((task, at) => withProgress(task, progress, at)),
      );
    },
  } satisfies Partial<Store>;
}

interface ChargeOptions {
  readonly at: number;
  readonly scopes: BudgetScopes;
}

interface UploadOptions extends ChargeOptions {
  readonly quota: number;
  readonly charged: WorkCharges | undefined;
}

/** Records an upload. @throws Failure insufficient_quota, code `storage_full` */
export function addUpload(
  accountId: string,
  upload: NewAsset,
  { quota, at, scopes, charged }: UploadOptions,
): Operation<Asset> {
  const asset = { ...recorded(upload), accountId, taskId: null, createdAt: at };
  return {
    needs: { accounts: [accountId], ...(charged && { keys: [charged.keyId] }) },
    apply(unit) {
      checkStorageQuota(unit.useOf(accountId).storedBytes, asset.bytes, quota);
      unit.addAsset(asset);
      if (charged) chargeWork(accountId, charged, { at, scopes }).apply(unit);
      return asset;
    },
  };
}

/** Charges usage whose reservations have ended, at most what can be spent. */
export function chargeWork(
  accountId: string,
  { keyId, usage }: WorkCharges,
  { at, scopes }: ChargeOptions,
): Operation<void> {
  const payer = { accountId, keyId };
  return {
    needs: { accounts: [accountId], keys: [keyId] },
    apply(unit) {
      const holder = unit.holder(payer);
      const { teamId } = holder.key;
      const scope = scopes.of(
        holder.key,
        teamId === undefined ? undefined : unit.find('team', teamId),
        at,
      );
      let funds = unit.funds(holder, scope);
      for (const metered of usage) {
        const amount = Math.min(metered.charge, spendable(funds, unit.held));
        funds = spend(funds, amount);
        const { model, counts } = metered;
        const sum = { model, requests: counts.requests ?? 1, amount };
        if (amount > 0) unit.dailyCharge(funds, sum, at);
        unit.addUsage({ ...payer, scope }, { ...metered, charge: amount }, at);
      }
      if (funds.account.spent > holder.account.spent) unit.putFunds(funds);
    },
  };
}
