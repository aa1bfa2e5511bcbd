import { Failure, type FailureType } from '../failure.ts';
import { conflict } from './errors.ts';

export const TASK_TYPES = ['image', 'video', 'audio'] as const;
export type TaskType = (typeof TASK_TYPES)[number];

export const TASK_STATES = ['pending', 'processing', 'completed', 'failed', 'expired'] as const;
export type TaskState = (typeof TASK_STATES)[number];

/** What ended a task that did not complete. */
export interface TaskError {
  readonly type: FailureType;
  readonly message: string;
  readonly code: string | null;
}

/** One piece of durable media work. Times are milliseconds since 1970, sums are micro-credits. */
export interface Task {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly type: TaskType;
  readonly model: string;
  readonly status: TaskState;
  /** What is to be done, as the submission validated it; of a task that did not complete, at most 16 kB of it. JSON. */
  readonly request: unknown;
  /** The `result` of interface part 2.4; null unless completed. JSON. */
  readonly result: unknown;
  /** Null unless failed or expired. */
  readonly error: TaskError | null;
  /** What is held for it now; 0 in a terminal state. */
  readonly reserved: number;
  /** What it has cost; 0 before a terminal state. */
  readonly charged: number;
  /** How often it was taken up, the first time included. */
  readonly attempts: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When it expires if it has not ended. */
  readonly deadline: number;
  /** Where the client wants to be told of its end; null for nowhere. */
  readonly callbackUrl: string | null;
  /**
   * What whoever processes it must know to go on after a crash: a job that a provider has been given,
   * say. Null before anything is noted, and in a terminal state. JSON.
   */
  readonly progress: unknown;
  /** The client's Idempotency-Key with a fingerprint of the body that came with it. */
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
}

/** The states that a task may go to from each; a terminal state never changes (interface part 3). */
const NEXT: Readonly<Record<TaskState, readonly TaskState[]>> = {
  pending: ['processing', 'failed', 'expired'],
  // Back to pending only by recovery, after whoever processed it has died.
  processing: ['completed', 'failed', 'expired', 'pending'],
  completed: [],
  failed: [],
  expired: [],
};

function canTransition(from: TaskState, to: TaskState): boolean {
  return NEXT[from].includes(to);
}

export function isTerminal(state: TaskState): boolean {
  return NEXT[state].length === 0;
}

/** Seconds after which an account with too many open tasks may ask again. */
const RETRY_AFTER = 5;

/** @throws Failure rate_limit, code `too_many_tasks`, where the account has `most` open tasks already */
export function checkOpenTasks(open: number, most: number): void {
  if (open < most) return;
  throw new Failure('rate_limit', `the account has ${open} tasks that have not ended`, {
    code: 'too_many_tasks',
    retryAfter: RETRY_AFTER,
  });
}

/** Bytes that the requests of the open tasks of one account may take in memory. */
const MOST_OPEN_BYTES = 64 * 2 ** 20;

/**
 * @param taken bytes of the requests of the account's open tasks
 * @throws Failure rate_limit, code `too_many_tasks`, where another is too much
 */
export function checkOpenRequests(taken: number, request: unknown): void {
  if (taken + approximateSize(request) <= MOST_OPEN_BYTES) return;
  const message = `the requests of the tasks that have not ended take ${taken} of ${MOST_OPEN_BYTES} bytes`;
  throw new Failure('rate_limit', message, { code: 'too_many_tasks', retryAfter: RETRY_AFTER });
}

/** About how many bytes a JSON value takes in memory. */
export function approximateSize(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let weight = 16;
  for (const [name, member] of Object.entries(value))
    weight += name.length + approximateSize(member);
  return weight;
}

/** What is kept of the request of a task that failed: characters of a text, and elements of a list. */
const [KEPT_TEXT, KEPT_LIST] = [256, 16];
/** Bytes of a request that is kept whole, and of one that is cut. */
const MOST_KEPT = 4096;

/** The request of a task that did not complete: failing costs nothing, so that it must not take much room. */
function truncateRequest(request: unknown): unknown {
  if (approximateSize(request) <= MOST_KEPT) return request;
  const cut = shorten(request);
  return approximateSize(cut) <= 4 * MOST_KEPT ? cut : null;
}

function shorten(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length > KEPT_TEXT ? `${value.slice(0, KEPT_TEXT)}…` : value;
  }
  if (Array.isArray(value)) return value.slice(0, KEPT_LIST).map(shorten);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).slice(0, KEPT_LIST);
  return Object.fromEntries(members.map(([name, member]) => [name, shorten(member)]));
}

/** What a transition may change beside the state. */
type TaskChange = Partial<Pick<Task, 'result' | 'error' | 'reserved' | 'charged' | 'attempts'>>;

/**
 * A task in its next state.
 *
 * @throws Failure invalid_request, 409 `task_state`, where it may not go there from where it is
 */
export function transition(task: Task, to: TaskState, now: number, change: TaskChange = {}): Task {
  if (!canTransition(task.status, to)) {
    throw conflict(`${task.id} is ${task.status} and cannot become ${to}`, 'task_state');
  }
  const progress = isTerminal(to) ? null : task.progress;
  const request =
    to === 'failed' || to === 'expired' ? truncateRequest(task.request) : task.request;
  return { ...task, ...change, request, progress, status: to, updatedAt: later(task, now) };
}

/**
 * A task with what whoever processes it must not lose.
 *
 * @throws Failure invalid_request, 409 `task_state`, where nobody processes it
 */
export function withProgress(task: Task, progress: unknown, now: number): Task {
  if (task.status !== 'processing') {
    throw conflict(`${task.id} is ${task.status}: there is nothing to note`, 'task_state');
  }
  return { ...task, progress: progress ?? null, updatedAt: later(task, now) };
}

/** A clock may be set back; what was written down is not undone by that. */
function later({ updatedAt }: Task, now: number): number {
  return Math.max(updatedAt, now);
}
