import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import type { Document } from './daemon-client.ts';
import type { Session } from './session.ts';
import { hasEnded, readTask, type TaskRecord } from './task-record.ts';
import type { WaitLine } from './wait-line.ts';

/** Milliseconds between two looks: first, at most, and by how much they grow. */
const FIRST = 200;
const LONGEST = 2000;
const GROWTH = 1.5;

/** Milliseconds that a daemon may be away, while it is started anew, say: its tasks outlast that. */
const PATIENCE = 60_000;

/**
 * Looks at a task until it has ended.
 *
 * @param path where the daemon tells of it
 * @throws Failure where the daemon stays away, or does not know the task
 */
export async function waitForTask(
  { client, signal }: Session,
  path: string,
  line: WaitLine,
): Promise<TaskRecord> {
  let pause = FIRST;
  let heard = performance.now();
  for (;;) {
    const answer = await client.poll(path).catch((error: unknown) => {
      if (signal.aborted || !isPassing(error)) throw error;
      if (performance.now() - heard > PATIENCE) throw error;
      return error;
    });
    if (!(answer instanceof Failure)) {
      heard = performance.now();
      const task = readTask(answer.document);
      if (hasEnded(task.status)) return task;
      line.show([task.model, task.status].filter(Boolean).join(' '));
    } else {
      line.show('the daemon is away');
    }
    await sleep(pauseAfter(answer, pause), undefined, { signal });
    pause = Math.min(LONGEST, pause * GROWTH);
  }
}

/** Whether the next look may find what this one did not. */
function isPassing(error: unknown): error is Failure {
  if (!(error instanceof Failure)) return false;
  const { type, code, status } = error;
  return code === 'unreachable' || type === 'network_error' || status === 429 || status >= 500;
}

function pauseAfter({ retryAfter }: Document | Failure, pause: number): number {
  return Math.min(PATIENCE, Math.max(pause, (retryAfter ?? 0) * 1000));
}
