import { useEffect, useRef } from 'preact/hooks';
import type { ListedTask } from '../../http/routes/tasks/tasks.ts';
import { eventsOf } from './events.ts';
import { SERVER, send } from './request.ts';

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
export function isOwnFile(url: string): boolean {
  return localUrlOf(url).startsWith(SERVER.href);
}

/** Addresses of the files that a task made, for this page. */
export function filesOf(task: Task): readonly string[] {
  return urlsOf(task).map(localUrlOf);
}

/** Milliseconds before the stream is opened again, which double. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Milliseconds in which the first event comes; a proxy may hold the stream back. */
const FIRST_EVENT_MS = 10_000;

interface TaskListeners {
  readonly onTask: (task: Task) => void;
  readonly onGap: () => void;
}

/**
 * Calls a function with each task of the account that changes. While no stream of events can be opened, the
 * view polls instead, at intervals that double.
 *
 * @param onTask the task as it is now
 * @param onGap changes may have been missed: load what is shown again
 */
export function useTaskEvents(onTask: (task: Task) => void, onGap: () => void): void {
  const listeners = useRef<TaskListeners>({ onTask, onGap });
  listeners.current = { onTask, onGap };
  useEffect(() => {
    const controller = new AbortController();
    void follow(controller.signal, () => listeners.current);
    return () => controller.abort();
  }, []);
}

async function follow(signal: AbortSignal, listeners: () => TaskListeners): Promise<void> {
  let delay = RETRY_MS;
  for (let attempts = 0; !signal.aborted; attempts += 1) {
    let isOpen = false;
    const opened = () => {
      isOpen = true;
      delay = RETRY_MS;
      if (attempts > 0) listeners().onGap();
    };
    await readStream(signal, opened, (task) => listeners().onTask(task));
    if (!isOpen && !signal.aborted) listeners().onGap();
    await pause(delay, signal);
    delay = Math.min(MAX_RETRY_MS, delay * 2);
  }
}

/** Reads one stream of events to its end. @param opened called at its first event */
async function readStream(
  signal: AbortSignal,
  opened: () => void,
  onTask: TaskListeners['onTask'],
): Promise<void> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  signal.addEventListener('abort', abort);
  const timer = setTimeout(abort, FIRST_EVENT_MS);
  try {
    const response = await send('v1/tasks/events', { signal: controller.signal });
    for await (const { event, data } of eventsOf(response)) {
      if (event === 'open') {
        clearTimeout(timer);
        opened();
      } else if (event === 'task') onTask(JSON.parse(data) as Task);
    }
  } catch {
    // The server restarts, or the session has ended: then the page for signing in replaces the view.
  }
  clearTimeout(timer);
  signal.removeEventListener('abort', abort);
}
