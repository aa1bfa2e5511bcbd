import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import { Spinner } from '../terminal/spinner.ts';
import { jsonText, print } from '../terminal/terminal.ts';
import type { Document } from './daemon-client.ts';
import type { Results } from './results.ts';
import type { Session } from './session.ts';
import { hasEnded, readTask, type Submission, type TaskRecord } from './task-record.ts';

export interface ResultOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly out?: string | undefined;
}

/**
 * Waits for a submitted task and saves its results.
 *
 * @returns the exit code
 * @throws Failure
 */
export async function finishTask(
  session: Session,
  { id, path }: Pick<Submission, 'id' | 'path'>,
  results: Results,
  resultOptions: ResultOptions,
): Promise<number> {
  session.resumeHint = resumeHint(id, { out: resultOptions.out ?? '.' });
  const task = await waitWithSpinner(session, path, results, resultOptions);
  return saveResults(session, task, results, resultOptions);
}

/** Waits for the end of a task and shows a spinner. */
export async function waitWithSpinner(
  session: Session,
  path: string,
  results: Results | null,
  { quiet }: ResultOptions,
): Promise<TaskRecord> {
  const spinner = new Spinner(!quiet);
  spinner.show('pending');
  try {
    results?.prepare();
    return await waitForTask(session, path, spinner);
  } finally {
    spinner.stop();
  }
}

/** Saves the results of a task that has ended. */
export async function saveResults(
  session: Session,
  task: TaskRecord,
  results: Results,
  { json }: ResultOptions,
): Promise<number> {
  if (task.error) {
    session.resumeHint = null;
    if (json) await print(`${jsonText({ ...task.document, saved: [] })}\n`);
    throw task.error;
  }
  const saved = await results.save(task.outputs);
  session.resumeHint = null;
  if (json) await print(`${jsonText({ ...task.document, saved })}\n`);
  return 0;
}

/** Advice for a command that ends before its task. */
export function resumeHint(id: string, { out }: Pick<ResultOptions, 'out'>): string {
  const place = out === undefined ? '' : ` --out ${shellWord(out)}`;
  return `\`oriel task ${shellWord(id)} --wait${place}\` picks it up again`;
}

function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Milliseconds between two requests: the first, the maximum, and the factor of growth. */
const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 2000;
const DELAY_FACTOR = 1.5;

/** Milliseconds that a daemon may be unreachable: its tasks survive a restart. */
const UNREACHABLE_TIMEOUT_MS = 60_000;

/**
 * Requests a task repeatedly until it has ended.
 *
 * @param path path of the task's record
 * @throws Failure where the daemon stays unreachable, or has no such task
 */
async function waitForTask(
  { client, signal }: Session,
  path: string,
  spinner: Spinner,
): Promise<TaskRecord> {
  let delay = FIRST_DELAY_MS;
  let lastResponse = performance.now();
  for (;;) {
    const answer = await client.poll(path).catch((error: unknown) => {
      if (signal.aborted || !isTemporary(error)) throw error;
      if (performance.now() - lastResponse > UNREACHABLE_TIMEOUT_MS) throw error;
      return error;
    });
    if (!(answer instanceof Failure)) {
      lastResponse = performance.now();
      const task = readTask(answer.document);
      if (hasEnded(task.status)) return task;
      spinner.show([task.model, task.status].filter(Boolean).join(' '));
    } else {
      spinner.show('the daemon is unreachable');
    }
    await sleep(delayAfter(answer, delay), undefined, { signal });
    delay = Math.min(MAX_DELAY_MS, delay * DELAY_FACTOR);
  }
}

/** Whether a later request may succeed. */
function isTemporary(error: unknown): error is Failure {
  if (!(error instanceof Failure)) return false;
  const { type, code, status } = error;
  return code === 'unreachable' || type === 'network_error' || status === 429 || status >= 500;
}

function delayAfter({ retryAfter }: Document | Failure, delay: number): number {
  return Math.min(UNREACHABLE_TIMEOUT_MS, Math.max(delay, (retryAfter ?? 0) * 1000));
}
