import { handsOver } from '../../store/nodes.ts';
import type { Store } from '../../store/store.ts';
import { isTerminal, type Task } from '../../store/task.ts';
import type { OpenTasks } from './open-tasks.ts';

/** Interval at which a task of another node is read, whose end an event may not report, in milliseconds. */
const POLL_INTERVAL_MS = 1000;

interface WaitOptions {
  readonly store: Store;
  /** The tasks that this node works on. */
  readonly open: OpenTasks;
  readonly clientSignal: AbortSignal;
}

/**
 * Waits until a task ends, the time is over, the client disconnects, or the daemon drains: where other nodes
 * take over, until the end of its grace. Resolves with the task as it then is.
 */
export async function waitForTask(
  task: Task,
  milliseconds: number,
  options: WaitOptions,
): Promise<Task> {
  const { store, open, clientSignal } = options;
  const end = performance.now() + milliseconds;
  const isOver = () =>
    performance.now() >= end ||
    clientSignal.aborted ||
    (handsOver(store) ? open.graceOver : open.draining).aborted;
  // What another node works on may have ended already.
  let waits = open.get(task.id) !== undefined;
  for (;;) {
    if (waits && !isOver()) await untilDone(task, end - performance.now(), options);
    const found = await store.findTask(task.accountId, task.id).catch((error: unknown) => {
      // The store may fail at present.
      if (isOver()) throw error;
      return task;
    });
    if (found === undefined || isTerminal(found.status) || isOver()) return found ?? task;
    waits = true;
  }
}

/** Waits until this node is done with a task or, where another one has it or may claim it, until it may have ended. */
async function untilDone(
  task: Task,
  milliseconds: number,
  { store, open, clientSignal }: WaitOptions,
): Promise<void> {
  const here = open.get(task.id);
  const isRemote = !here || (store.isShared && here.task.status === 'pending');
  const signals = [clientSignal, open.draining, open.graceOver];
  await new Promise<void>((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      for (const unsubscribe of subscriptions) unsubscribe();
      for (const signal of signals) signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(
      finish,
      isRemote ? Math.min(milliseconds, POLL_INTERVAL_MS) : milliseconds,
    );
    const subscriptions = here ? [here.onDone(finish)] : [];
    if (isRemote) {
      const unwatch = store.watch((event) => {
        if (event.kind === 'task' && event.id === task.id && isTerminal(event.status)) finish();
      });
      subscriptions.push(unwatch);
    }
    for (const signal of signals) signal.addEventListener('abort', finish);
  });
}
