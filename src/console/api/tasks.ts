import { useEffect, useRef } from 'preact/hooks';
import { SERVER } from '../app/address.ts';
import { eventsOf } from './events.ts';
import { send } from './request.ts';

export const TASK_STATES = ['pending', 'processing', 'completed', 'failed', 'expired'] as const;

export const TASK_TYPES = ['image', 'video', 'audio'] as const;

/** A task as `v1/tasks/{task_id}` returns it. */
export interface Task {
  readonly task_id: string;
  readonly status: (typeof TASK_STATES)[number];
  readonly model: string;
  readonly type: (typeof TASK_TYPES)[number];
  readonly result: {
    readonly data?: readonly { readonly url?: string; readonly revised_prompt?: string }[];
    readonly urls?: readonly string[];
  } | null;
  readonly error: {
    readonly type: string;
    readonly message: string;
    readonly code: string | null;
  } | null;
}

export interface TaskList {
  readonly data: readonly Task[];
  readonly has_more: boolean;
}

export function hasEnded({ status }: Task): boolean {
  return status !== 'pending' && status !== 'processing';
}

/**
 * Addresses of the files that a task made. The server states them by its public address, and a browser
 * may know it by another, so that the policy of the page would forbid them.
 */
export function filesOf({ result }: Task): readonly string[] {
  const urls = result?.urls ?? result?.data?.flatMap(({ url }) => url ?? []) ?? [];
  return urls.map((url) => {
    const at = url.lastIndexOf('/assets/');
    return at === -1 ? url : new URL(url.slice(at + 1), SERVER).href;
  });
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

/**
 * Calls a function with each task of the account that changes.
 *
 * @param onTask the task as it is now
 * @param onGap changes may have been missed: load what is shown again
 */
export function useTaskEvents(onTask: (task: Task) => void, onGap: () => void): void {
  const listeners = useRef({ onTask, onGap });
  listeners.current = { onTask, onGap };
  useEffect(() => {
    const controller = new AbortController();
    void follow(controller.signal, () => listeners.current);
    return () => controller.abort();
  }, []);
}

async function follow(
  signal: AbortSignal,
  listeners: () => { onTask: (task: Task) => void; onGap: () => void },
): Promise<void> {
  let delay = RETRY_MS;
  for (let opened = 0; !signal.aborted; ) {
    try {
      const response = await send('v1/tasks/events', { signal });
      if (opened > 0) listeners().onGap();
      opened += 1;
      delay = RETRY_MS;
      for await (const { event, data } of eventsOf(response)) {
        if (event === 'task') listeners().onTask(JSON.parse(data) as Task);
      }
    } catch {
      // The server restarts, or the session has ended: then the page for signing in replaces the view.
    }
    await pause(delay, signal);
    delay = Math.min(MAX_RETRY_MS, delay * 2);
  }
}
