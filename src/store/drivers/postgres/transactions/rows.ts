import type { Account, ApiKey, Team } from '../../../account.ts';
import type { BudgetScope, BudgetWindow } from '../../../budgets.ts';
import { attemptCount, type Delivery } from '../../../delivery.ts';
import { approximateSize, isTerminal, type Task, type TaskState } from '../../../task.ts';
import type { Row } from '../database/database.ts';
import { decodeText, encodeText } from '../database/text.ts';
import { fieldsOf, tableOf } from './table.ts';

/** An account with the sums over its tasks and files. Amounts are micro-credits, sizes are bytes. */
export interface AccountRow {
  readonly id: string;
  readonly account: Account;
  /** Part of its reserved credits that nodes hold for text requests. */
  readonly held: number;
  readonly tasks: Readonly<Record<TaskState, number>>;
  /** Requests of open tasks. */
  readonly requestBytes: number;
  /** Records of ended tasks. */
  readonly endedBytes: number;
  /** Uploads and inputs. */
  readonly storedBytes: number;
  /** Results. */
  readonly resultBytes: number;
}

/** The sums of an account without tasks and files. */
export const NEW_ACCOUNT: Omit<AccountRow, 'id' | 'account'> = {
  tasks: { pending: 0, processing: 0, completed: 0, failed: 0, expired: 0 },
  ...{ held: 0, requestBytes: 0, endedBytes: 0, storedBytes: 0, resultBytes: 0 },
};

/** Credits that a node has drawn for one payer. */
export interface EscrowRow {
  /** Composed of the node and the payer. */
  readonly id: string;
  readonly node: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly scope?: BudgetScope | undefined;
  readonly amount: number;
  readonly idle: number;
}

export interface FoldRow {
  /** Identifier of the node. */
  readonly id: string;
  readonly number: number;
}

const record = (value: object) => JSON.stringify(value);

export const ACCOUNTS = tableOf<AccountRow>({
  name: 'accounts',
  key: 'id',
  columns: {
    id: ['text', ({ id }) => id],
    name: ['text', ({ account }) => encodeText(account.name)],
    granted: ['bigint', ({ account }) => account.granted],
    reserved: ['bigint', ({ account }) => account.reserved],
    spent: ['bigint', ({ account }) => account.spent],
    held: ['bigint', ({ held }) => held],
    pending: ['bigint', ({ tasks }) => tasks.pending],
    processing: ['bigint', ({ tasks }) => tasks.processing],
    completed: ['bigint', ({ tasks }) => tasks.completed],
    failed: ['bigint', ({ tasks }) => tasks.failed],
    expired: ['bigint', ({ tasks }) => tasks.expired],
    request_bytes: ['bigint', ({ requestBytes }) => requestBytes],
    ended_bytes: ['bigint', ({ endedBytes }) => endedBytes],
    stored_bytes: ['bigint', ({ storedBytes }) => storedBytes],
    result_bytes: ['bigint', ({ resultBytes }) => resultBytes],
    created_at: ['bigint', ({ account }) => account.createdAt],
    record: [
      'json',
      ({ account: { granted: _, reserved: __, spent: ___, ...rest } }) => record(rest),
    ],
  },
  read: (row: Row) => {
    const columns = row as Record<string, number> & { id: string; record: Account };
    const { id, granted, reserved, spent, held, pending, processing, completed } = columns;
    const { failed, expired } = columns;
    return {
      id,
      account: { ...columns.record, granted, reserved, spent } as Account,
      held: held!,
      tasks: { pending, processing, completed, failed, expired } as AccountRow['tasks'],
      requestBytes: columns.request_bytes!,
      endedBytes: columns.ended_bytes!,
      storedBytes: columns.stored_bytes!,
      resultBytes: columns.result_bytes!,
    };
  },
});

function withSpending<Holder>(row: Row): Holder {
  const { reserved, spent, record } = row;
  return { ...(record as object), reserved, spent } as Holder;
}

export const KEYS = tableOf<ApiKey>({
  name: 'keys',
  key: 'id',
  columns: {
    id: ['text', ({ id }) => id],
    account_id: ['text', ({ accountId }) => accountId],
    hash: ['text', ({ hash }) => encodeText(hash)],
    hint: ['text', ({ hint }) => encodeText(hint)],
    team_id: ['text', ({ teamId }) => teamId ?? null],
    revoked_at: ['bigint', ({ revokedAt }) => revokedAt],
    created_at: ['bigint', ({ createdAt }) => createdAt],
    reserved: ['bigint', ({ reserved }) => reserved],
    spent: ['bigint', ({ spent }) => spent],
    record: ['json', ({ reserved: _, spent: __, ...rest }) => record(rest)],
  },
  read: withSpending<ApiKey>,
});

export const TEAMS = tableOf<Team>({
  name: 'teams',
  key: 'id',
  columns: {
    id: ['text', ({ id }) => id],
    account_id: ['text', ({ accountId }) => accountId],
    name: ['text', ({ name }) => encodeText(name)],
    removed_at: ['bigint', ({ removedAt }) => removedAt],
    reserved: ['bigint', ({ reserved }) => reserved],
    spent: ['bigint', ({ spent }) => spent],
    record: ['json', ({ reserved: _, spent: __, ...rest }) => record(rest)],
  },
  read: withSpending<Team>,
});

export const WINDOWS = tableOf<BudgetWindow>({
  name: 'windows',
  key: 'id',
  ...fieldsOf<BudgetWindow>({
    id: ['text', 'id'],
    account_id: ['text', 'accountId'],
    holder_id: ['text', 'holderId'],
    period: ['text', 'period'],
    from_date: ['text', 'from'],
    reserved: ['bigint', 'reserved'],
    spent: ['bigint', 'spent'],
  }),
});

/** Bytes of a task that count towards a limit of its account. */
export function bytesOf(task: Task): number {
  return approximateSize(isTerminal(task.status) ? task : task.request);
}

export const TASKS = tableOf<Task>({
  name: 'tasks',
  key: 'id',
  columns: {
    id: ['text', ({ id }) => id],
    account_id: ['text', ({ accountId }) => accountId],
    key_id: ['text', ({ keyId }) => keyId],
    team_id: ['text', ({ scope }) => scope?.teamId ?? null],
    type: ['text', ({ type }) => type],
    model: ['text', ({ model }) => encodeText(model)],
    status: ['text', ({ status }) => status],
    attempts: ['bigint', ({ attempts }) => attempts],
    reserved: ['bigint', ({ reserved }) => reserved],
    charged: ['bigint', ({ charged }) => charged],
    created_at: ['bigint', ({ createdAt }) => createdAt],
    updated_at: ['bigint', ({ updatedAt }) => updatedAt],
    deadline: ['bigint', ({ deadline }) => deadline],
    node: ['text', ({ node }) => node ?? null],
    idempotency_key: [
      'text',
      ({ idempotency }) => (idempotency ? encodeText(idempotency.key) : null),
    ],
    bytes: ['bigint', bytesOf],
    // Of an earlier state with the same request the column is kept.
    request: [
      'json',
      ({ request }, before) => (before?.request === request ? null : jsonOf(request)),
    ],
    record: ['json', taskRecord],
  },
  fixed: [
    ...['account_id', 'key_id', 'team_id', 'type', 'model', 'created_at', 'deadline'],
    'idempotency_key',
  ],
  keep: ['request'],
  read: readTask,
});

/** Fields of a task that are null where its record has none. */
const NULLS = { result: null, error: null, callbackUrl: null, progress: null };

/** The fields that have no column of their own. */
function taskRecord(task: Task): string {
  const { id, accountId, keyId, type, model, status, request, reserved, charged, ...others } = task;
  const { attempts, node, createdAt, updatedAt, deadline, idempotency, ...rest } = others;
  const set: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(rest)) if (value !== null) set[name] = value;
  if (idempotency) set.fingerprint = idempotency.fingerprint;
  return record(set);
}

function readTask(row: Row): Task {
  const { id, account_id, key_id, type, model, status, attempts, reserved, charged, node } = row;
  const { created_at, updated_at, deadline, idempotency_key, request } = row;
  const { fingerprint, ...rest } = row.record as { readonly fingerprint?: string };
  const key = idempotency_key === null ? null : decodeText(idempotency_key as string);
  return {
    ...{ id, accountId: account_id, keyId: key_id, type, model: decodeText(model as string) },
    ...{ status, request, ...NULLS, reserved, charged, attempts },
    ...(node !== null && { node }),
    ...{ createdAt: created_at, updatedAt: updated_at, deadline },
    idempotency: key === null ? null : { key, fingerprint },
    ...rest,
  } as Task;
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value ?? null);
}

/** A delivery with the node that attempts it now. */
export interface DeliveryRow {
  readonly id: string;
  readonly delivery: Delivery;
  readonly node: string | null;
}

export const DELIVERIES = tableOf<DeliveryRow>({
  name: 'deliveries',
  key: 'id',
  columns: {
    id: ['text', ({ id }) => id],
    account_id: ['text', ({ delivery }) => delivery.accountId],
    task_id: ['text', ({ delivery }) => delivery.taskId],
    status: ['text', ({ delivery }) => delivery.status],
    next_at: ['bigint', ({ delivery }) => delivery.nextAt],
    // An attempt ends the claim of the delivery.
    node: ['text', () => null],
    attempt_count: ['bigint', ({ delivery }) => attemptCount(delivery)],
    tried_at: ['bigint', ({ delivery }) => delivery.attempts.at(-1)?.at ?? delivery.createdAt],
    record: ['json', ({ delivery }) => record(delivery)],
  },
  read: ({ id, record, node }) => ({ id, delivery: record, node }) as DeliveryRow,
});

export const ESCROWS = tableOf<EscrowRow>({
  name: 'escrows',
  key: 'id',
  ...fieldsOf<EscrowRow>({
    id: ['text', 'id'],
    node: ['text', 'node'],
    account_id: ['text', 'accountId'],
    key_id: ['text', 'keyId'],
    scope: ['json', 'scope', 'optional'],
    amount: ['bigint', 'amount'],
    idle: ['bigint', 'idle'],
  }),
});

export const FOLDS = tableOf<FoldRow>({
  name: 'folds',
  key: 'node',
  columns: {
    node: ['text', ({ id }) => id],
    number: ['bigint', ({ number }) => number],
    at: ['bigint', () => Date.now()],
  },
  read: ({ node, number }) => ({ id: node, number }) as FoldRow,
});
