import { randomBytes } from 'node:crypto';
import type {
  Account,
  ApiKey,
  KeyChange,
  NewAccount,
  NewKey,
  NewTeam,
  Team,
  TeamChange,
} from './account.ts';
import type { BudgetScope } from './budgets.ts';
import type { Delivery } from './delivery.ts';
import { checkAmount, checkWindows, grant } from './funds.ts';
import type { NewTask, Task } from './task.ts';

/** Identifier of a new record, and its time in milliseconds since the epoch. */
interface Creation {
  readonly id: string;
  readonly at: number;
}

/** @throws Failure invalid_request for credits that an account cannot have */
export function createdAccount({ name, plan, credits }: NewAccount, { id, at }: Creation): Account {
  const account: Account = {
    id,
    name,
    plan,
    granted: 0,
    reserved: 0,
    spent: 0,
    callbackSecret: newCallbackSecret(),
    createdAt: at,
  };
  return grant(account, credits);
}

/** An account with a new secret for its callbacks. */
export function withNewSecret(account: Account, dropPrevious: boolean, at: number): Account {
  const replaced = { secret: account.callbackSecret, replacedAt: at };
  const previousSecret = dropPrevious ? null : replaced;
  return { ...account, callbackSecret: newCallbackSecret(), previousSecret };
}

function newCallbackSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

export function createdKey(key: NewKey, { id, at }: Creation): ApiKey {
  return {
    id,
    accountId: key.accountId,
    name: key.name,
    hash: key.hash,
    hint: key.hint,
    createdAt: at,
    expiresAt: key.expiresAt,
    revokedAt: null,
    models: key.models && [...key.models],
    ...(key.allow && { allow: [...key.allow] }),
    ...(key.images && { images: key.images }),
    rpm: key.rpm,
    budget: key.budget,
    ...(key.windows && { windows: key.windows }),
    ...(key.teamId !== undefined && { teamId: key.teamId }),
    reserved: 0,
    spent: 0,
  };
}

export function changedKey(key: ApiKey, change: KeyChange): ApiKey {
  const { allow = key.allow, windows = key.windows, teamId = key.teamId, ...others } = change;
  const { images = key.images, ...fields } = others;
  const { allow: _, windows: __, teamId: ___, images: ____, ...rest } = key;
  return {
    ...rest,
    ...fields,
    ...(allow && { allow: [...allow] }),
    ...(images && { images }),
    ...(windows && { windows }),
    ...(typeof teamId === 'string' && { teamId }),
  };
}

export function createdTeam(team: NewTeam, { id, at }: Creation): Team {
  const { accountId, name, budget, windows } = team;
  return {
    id,
    accountId,
    name,
    createdAt: at,
    removedAt: null,
    budget,
    ...(windows && { windows }),
    reserved: 0,
    spent: 0,
  };
}

export function changedTeam(team: Team, change: TeamChange): Team {
  const { windows = team.windows, ...fields } = change;
  const { windows: _, ...rest } = team;
  return { ...rest, ...fields, ...(windows && { windows }) };
}

/** @throws Failure for an amount or a time zone that cannot be */
export function checkBudgets({ budget, windows }: Pick<KeyChange, 'budget' | 'windows'>): void {
  if (typeof budget === 'number') checkAmount(budget, 'budget');
  if (windows) checkWindows(windows);
}

export function createdTask(
  task: NewTask,
  scope: BudgetScope | undefined,
  { id, at }: Creation,
): Task {
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
  };
}

/** The callback of a task that has ended. Its first attempt is due at once. */
export function createdDelivery(task: Task, url: string, { id, at }: Creation): Delivery {
  return {
    id,
    accountId: task.accountId,
    taskId: task.id,
    url,
    status: 'pending',
    attempts: [],
    nextAt: at,
    createdAt: task.updatedAt,
  };
}
