import type { ErrorCode } from '../error-codes.ts';
import { codedFailure, type FailureType } from '../failure.ts';
import type { Asset, NewAsset } from './asset.ts';
import type { BudgetScope } from './budgets.ts';
import { conflict } from './errors.ts';
import type { UsageCounts } from './ledger.ts';

export const TASK_TYPES = ['image', 'video', 'audio'] as const;
export type TaskType = (typeof TASK_TYPES)[number];

export const TASK_STATES = ['pending', 'processing', 'completed', 'failed', 'expired'] as const;
export type TaskState = (typeof TASK_STATES)[number];

/** Error of a task that did not complete. */
export interface TaskError {
  readonly type: FailureType;
  readonly message: string;
  readonly code: string | null;
  /** Path of the field of the request that is at fault; missing where there is none. */
  readonly param?: string;
}

/** Error of a task that expired. */
export const EXPIRED: TaskError = {
  type: 'timeout',
  message: 'the task did not end before its deadline',
  code: 'task_expired' satisfies ErrorCode,
};

/** One piece of durable media work. Times are milliseconds since the epoch, amounts are micro-credits. */
export interface Task {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly type: TaskType;
  readonly model: string;
  readonly status: TaskState;
  /** Validated request, JSON. Of a task that did not complete at most 16 kB are kept. */
  readonly request: unknown;
  /** The result that clients get, as JSON; null unless completed. */
  readonly result: unknown;
  /** Error; null unless failed or expired. */
  readonly error: TaskError | null;
  /** Micro-credits that are reserved now; 0 after the end. */
  readonly reserved: number;
  /** Micro-credits that were charged; 0 before the end. */
  readonly charged: number;
  /** Team and windows in which the reservation counts; absent where the key has neither. */
  readonly scope?: BudgetScope;
  /** Number of claims: how many times a node took the task to process it. */
  readonly attempts: number;
  /** Node that processes the task; absent unless processing, and in old records. */
  readonly node?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Time at which processing started first; absent before that, and in old records. */
  readonly startedAt?: number;
  /** Time at which the task expires if it has not ended. */
  readonly deadline: number;
  /** URL that the client wants a callback at; null for none. */
  readonly callbackUrl: string | null;
  /**
   * State that processing needs to continue after a crash, such as the job at a provider. Null before any
   * is saved and after the end. JSON.
   */
  readonly progress: unknown;
  /** The client's Idempotency-Key, with a fingerprint of the request body. */
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
  /** The client's span (W3C Trace Context); absent without one, and where no traces are sent. */
  readonly traceparent?: string;
  /** Tags of the request, as one text; absent without any. */
  readonly tags?: string;
}

/** A claim of a task by a node, or a pending task. `attempts` is the fence of its changes. */
export type TaskClaim = Pick<Task, 'id' | 'attempts'>;

/** Allowed transitions of the state; a terminal state never changes. */
const TRANSITIONS: Readonly<Record<TaskState, readonly TaskState[]>> = {
  pending: ['processing', 'failed', 'expired'],
  // Back to pending when the node that has the task gives it back.
  processing: ['completed', 'failed', 'expired', 'pending'],
  completed: [],
  failed: [],
  expired: [],
};

export function isTerminal(state: TaskState): boolean {
  return TRANSITIONS[state].length === 0;
}

/** Seconds in `Retry-After` for an account with too many open tasks. */
const RETRY_AFTER = 5;

/** @throws Failure rate_limit, code `too_many_tasks`, if the account has `max` open tasks */
export function checkOpenTasks(open: number, max: number): void {
  if (open < max) return;
  throw codedFailure('too_many_tasks', `the account has ${open} tasks that have not ended`, {
    retryAfter: RETRY_AFTER,
  });
}

/** Maximum bytes in memory of the requests of one account's open tasks. */
const MAX_OPEN_REQUEST_BYTES = 64 * 2 ** 20;

/**
 * @param taken bytes of the requests of the account's open tasks
 * @throws Failure rate_limit, code `too_many_tasks`, if the sum with this request is above the maximum
 */
export function checkOpenRequests(taken: number, request: unknown): void {
  if (taken + approximateSize(request) <= MAX_OPEN_REQUEST_BYTES) return;
  const message = `the requests of the tasks that have not ended take ${taken} of ${MAX_OPEN_REQUEST_BYTES} bytes`;
  throw codedFailure('too_many_tasks', message, { retryAfter: RETRY_AFTER });
}

/** Approximate size of a JSON value in memory, in bytes. */
export function approximateSize(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let size = 16;
  for (const [name, member] of Object.entries(value)) size += name.length + approximateSize(member);
  return size;
}

/** Maximum characters of a text, and elements of a list, in the stored request of a failed task. */
const [MAX_TEXT, MAX_LIST] = [256, 16];
/** Requests up to this size are kept whole; a truncated one may have four times as many bytes. */
const MAX_WHOLE_BYTES = 4096;

/** Truncates the request of a task that did not complete: it cost nothing, so it must not take much space. */
function truncateRequest(request: unknown): unknown {
  if (approximateSize(request) <= MAX_WHOLE_BYTES) return request;
  const cut = shorten(request);
  return approximateSize(cut) <= 4 * MAX_WHOLE_BYTES ? cut : null;
}

function shorten(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value;
  }
  if (Array.isArray(value)) return value.slice(0, MAX_LIST).map(shorten);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).slice(0, MAX_LIST);
  return Object.fromEntries(members.map(([name, member]) => [name, shorten(member)]));
}

/** Fields that a transition may change beside the state. */
type TaskChange = Partial<Pick<Task, 'result' | 'error' | 'reserved' | 'charged'>>;

/**
 * A task in its next state.
 *
 * @throws Failure invalid_request, 409 `task_state`, if the transition is not allowed
 */
export function transition(task: Task, to: TaskState, now: number, change: TaskChange = {}): Task {
  if (!TRANSITIONS[task.status].includes(to)) {
    throw conflict(`${task.id} is ${task.status} and cannot become ${to}`, 'task_state');
  }
  const progress = isTerminal(to) ? null : task.progress;
  const request =
    to === 'failed' || to === 'expired' ? truncateRequest(task.request) : task.request;
  const { node: _, ...rest } = task;
  return { ...rest, ...change, request, progress, status: to, updatedAt: later(task, now) };
}

/** A task that a node begins to process: a pending one, or one whose node is no longer alive. */
export function claimedTask(task: Task, node: string, now: number): Task {
  const { attempts, startedAt = now } = task;
  const claim = { node, attempts: attempts + 1, startedAt };
  if (task.status === 'pending') return { ...transition(task, 'processing', now), ...claim };
  return { ...task, ...claim, updatedAt: later(task, now) };
}

/**
 * Checks the fence of a change. An ended task is left to the check of its transition.
 *
 * @param node identifier of the node that makes the change
 * @throws Failure invalid_request, 409 `claim_lost`, if the claim is not the task's last one
 */
export function checkClaim(task: Task, { attempts }: TaskClaim, node: string): void {
  const { id, status } = task;
  if (isTerminal(status)) return;
  if (task.attempts === attempts && (status !== 'processing' || task.node === node)) return;
  const message = `${id} is ${status} after ${task.attempts} claims: claim ${attempts} of this node is lost`;
  throw conflict(message, 'claim_lost');
}

/**
 * A task with new progress.
 *
 * @throws Failure invalid_request, 409 `task_state`, unless the task is processing
 */
export function withProgress(task: Task, progress: unknown, now: number): Task {
  if (task.status !== 'processing') {
    throw conflict(
      `${task.id} is ${task.status}: progress is saved while a task is processing`,
      'task_state',
    );
  }
  return { ...task, progress: progress ?? null, updatedAt: later(task, now) };
}

/** The time of an update. It never goes back, also if the clock does. */
function later({ updatedAt }: Task, now: number): number {
  return Math.max(updatedAt, now);
}

/** @throws Failure 409 `idempotency_conflict` if the key was used with another request */
export function sameRequest(task: Task, { fingerprint }: NonNullable<Task['idempotency']>): Task {
  if (task.idempotency!.fingerprint === fingerprint) return task;
  const message = 'this idempotency key came with another request before';
  throw conflict(message, 'idempotency_conflict');
}

export interface NewTask
  extends Pick<
    Task,
    | 'accountId'
    | 'keyId'
    | 'type'
    | 'model'
    | 'request'
    | 'deadline'
    | 'callbackUrl'
    | 'idempotency'
    | 'traceparent'
    | 'tags'
  > {
  /** Micro-credits to reserve until the task ends. */
  readonly reservation: number;
  /** Maximum number of open tasks of the account, with this one. */
  readonly maxOpenTasks: number;
  /** Inputs of the task, which are on disk already. */
  readonly assets: readonly NewAsset[];
  /** Maximum bytes of the account's uploads and of inputs of its open tasks. */
  readonly storageQuota: number;
}

/** Result of a completed task and its charge. The rest of the reservation is released. */
export interface Completion {
  readonly result: unknown;
  readonly charge: number;
  readonly counts: Partial<UsageCounts>;
  /** Result files, which are on disk already. */
  readonly assets: readonly NewAsset[];
}

export interface TaskQuery {
  readonly accountId?: string;
  readonly status?: TaskState;
  readonly type?: TaskType;
}

/** Number and size of an account's ended tasks. */
export interface TaskTotals {
  readonly tasks: number;
  /** Bytes of the records and of the result files. */
  readonly bytes: number;
}

/** Records that were deleted. */
export interface DeletedRecords {
  readonly tasks: readonly Task[];
  /** Deleted assets, whose files can be removed. */
  readonly assets: readonly Asset[];
}

/** Maximum tasks that one transaction deletes, and bytes of their records. */
export const MAX_DELETED_TASKS = 1000;
export const MAX_DELETED_BYTES = 16 * 2 ** 20;

/** Which pending tasks a node has free slots for. */
export interface ClaimQuery {
  readonly limit: number;
  /** Models whose tasks stay where they are. */
  readonly exceptModels?: readonly string[];
}
