import type { ListedTask } from '../../http/routes/tasks/tasks.ts';
import { useEvents } from './live.ts';
import { SERVER } from './request.ts';

export type Task = ListedTask;

export const TASK_STATES: readonly Task['status'][] = [
  'pending',
  'processing',
  'completed',
  'failed',
  'expired',
];

export const TASK_TYPES: readonly Task['type'][] = ['image', 'video', 'audio'];

export interface TaskList {
  readonly data: readonly Task[];
  readonly has_more: boolean;
}

export function hasEnded({ status }: Task): boolean {
  return status !== 'pending' && status !== 'processing';
}

/** Addresses of the files that a task made, as the server states them. */
export function urlsOf({ result }: Task): readonly string[] {
  if (result === null) return [];
  return 'data' in result ? result.data.flatMap(({ url }) => url ?? []) : result.urls;
}

/**
 * Address of a file for this page. The server states it by its public address, and a browser may know the
 * server by another, so that the policy of the page would forbid it.
 */
export function localUrlOf(url: string): string {
  const at = url.lastIndexOf('/assets/');
  return at === -1 ? url : new URL(url.slice(at + 1), SERVER).href;
}

/** Whether the page may load a file: others are at servers elsewhere. */
export const isOwnFile = (url: string): boolean => localUrlOf(url).startsWith(SERVER.href);

/** Addresses of the files that a task made, for this page. */
export const filesOf = (task: Task): readonly string[] => urlsOf(task).map(localUrlOf);

/**
 * Calls a function with each task of the account that changes.
 *
 * @param onTask the task as it is now
 * @param onGap changes may have been missed: load what is shown again
 */
export function useTaskEvents(onTask: (task: Task) => void, onGap: () => void): void {
  useEvents<Task>('v1/tasks/events', 'task', onTask, onGap);
}

/**
 * A task does not leave its end: an older answer may come later than an event. Events do not have the request.
 */
function newer(known: Task | undefined, task: Task): Task {
  return known && hasEnded(known) && !hasEnded(task)
    ? { ...task, ...known }
    : { ...known, ...task };
}

/** Lists of tasks, newest first. */
export const TASKS = {
  pageOf: ({ data, has_more: hasMore }: TaskList) => ({
    items: data,
    next: hasMore ? data.at(-1)?.task_id : null,
  }),
  idOf: ({ task_id: id }: Task) => id,
  merged: newer,
  events: ['v1/tasks/events', 'task'],
} as const;
