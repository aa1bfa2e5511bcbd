import { setTimeout as sleep } from 'node:timers/promises';
import type * as v from 'valibot';
import { FAILURE_TYPES, Failure } from '../../failure.ts';
import { listOf, objectOf, objectsOf, textOf, textsOf } from '../../schema/untrusted.ts';
import { isTerminal, TASK_STATES } from '../../store/task.ts';
import { Spinner } from '../terminal/progress.ts';
import { printJson, shellWord } from '../terminal/terminal.ts';
import type { resultFlags } from './client-flags.ts';
import type { Output, Results } from './results.ts';
import type { Session } from './session.ts';

export type ResultOptions = v.InferOutput<typeof resultFlags>;

/** The properties of a task record that the commands use. */
export type TaskRecord = ReturnType<typeof readTask>;

/** @throws Failure if the value is no task record */
export function readTask(value: unknown) {
  const document = objectOf(value);
  const { task_id: id, status, model, type, result, error } = document;
  if (typeof id !== 'string' || typeof status !== 'string') {
    throw new Failure('service_error', 'expected a task in the response of the daemon');
  }
  return {
    id,
    /** A state of `TASK_STATES`, or one that a newer daemon has added. */
    status,
    /** Empty if the record has none. */
    model: textOf(model),
    type: textOf(type),
    outputs: outputsOf(objectOf(result)),
    /** Null if the task has not failed. */
    error: status === 'failed' || status === 'expired' ? failureOf(status, error) : null,
    /** The whole record. */
    document,
  };
}

/** The task that a response to its creation names; null if the response is the result itself. */
export function readSubmission(value: unknown) {
  const document = objectOf(value);
  const { task_id: id, poll_url } = document;
  if (typeof id !== 'string') return null;
  const path = textOf(poll_url);
  return { id, path: path.startsWith('/v1/') ? path : taskPath(id), document };
}

export const taskPath = (id: string): string => `/v1/tasks/${encodeURIComponent(id)}`;

export function hasEnded(status: string): boolean {
  const state = TASK_STATES.find((known) => known === status);
  return state !== undefined && isTerminal(state);
}

/** The outputs of an image response, or of the `result` of a task record. */
export function outputsOf({ data, urls, video_url, audio_url }: TaskResult): Output[] {
  if (Array.isArray(data)) {
    return objectsOf(data).flatMap(({ url, b64_json }): Output[] => {
      if (typeof url === 'string') return [{ url }];
      return typeof b64_json === 'string' ? [{ base64: b64_json }] : [];
    });
  }
  const distinct = new Set(textsOf([video_url, audio_url, ...listOf(urls)]));
  return Array.from(distinct, (url) => ({ url }));
}

type TaskResult = Readonly<Record<string, unknown>>;

function failureOf(status: string, error: unknown): Failure {
  const { type, message } = objectOf(error);
  const known = FAILURE_TYPES.find((one) => one === type) ?? 'unknown';
  const why = textOf(message) || 'without a reason';
  return new Failure(known, `the task ${status}: ${why}`);
}

/**
 * Waits for a submitted task and saves its results.
 *
 * @returns the exit code
 */
export async function finishTask(
  session: Session,
  { id, path }: { readonly id: string; readonly path: string },
  results: Results,
  options: ResultOptions,
): Promise<number> {
  session.resumeHint = resumeHint(id, options.out ?? '.');
  const task = await waitForTask(session, path, results, options);
  return saveResults(session, task, results, options);
}

/** Saves the results of a task that has ended. @throws Failure of the task */
export async function saveResults(
  session: Session,
  { error, outputs, document }: TaskRecord,
  results: Results,
  { json }: ResultOptions,
): Promise<number> {
  if (error) session.resumeHint = null;
  const saved = error ? [] : await results.save(outputs);
  session.resumeHint = null;
  if (json) await printJson({ ...document, saved });
  if (error) throw error;
  return 0;
}

/** Advice for a command that ends before its task. @param out undefined if no results are stored */
export function resumeHint(id: string, out: string | undefined): string {
  const place = out === undefined ? '' : ` --out ${shellWord(out)}`;
  return `\`oriel task ${shellWord(id)} --wait${place}\` picks it up again`;
}

/** Milliseconds between two requests: the first, the maximum, and the factor of growth. */
const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 2000;
const DELAY_FACTOR = 1.5;

/** Milliseconds that a daemon may be unreachable: its tasks survive a restart. */
const UNREACHABLE_TIMEOUT_MS = 60_000;

/**
 * Requests a task repeatedly until it has ended, and shows a spinner.
 *
 * @param path path of the task's record
 * @throws Failure if the daemon stays unreachable, or has no such task
 */
export async function waitForTask(
  { client, signal }: Session,
  path: string,
  results: Results | null,
  { quiet }: ResultOptions,
): Promise<TaskRecord> {
  const spinner = new Spinner(!quiet);
  spinner.show('pending');
  try {
    results?.prepare();
    let delay = FIRST_DELAY_MS;
    let lastResponse = performance.now();
    for (;;) {
      const answer = await client.poll(path).catch((error: unknown) => {
        if (signal.aborted || !isTemporary(error)) throw error;
        if (performance.now() - lastResponse > UNREACHABLE_TIMEOUT_MS) throw error;
        return error;
      });
      if (answer instanceof Failure) {
        spinner.show('the daemon is unreachable');
      } else {
        lastResponse = performance.now();
        const task = readTask(answer.document);
        if (hasEnded(task.status)) return task;
        spinner.show([task.model, task.status].filter(Boolean).join(' '));
      }
      const wanted = Math.max(delay, (answer.retryAfter ?? 0) * 1000);
      await sleep(Math.min(UNREACHABLE_TIMEOUT_MS, wanted), undefined, { signal });
      delay = Math.min(MAX_DELAY_MS, delay * DELAY_FACTOR);
    }
  } finally {
    spinner.stop();
  }
}

/** Whether a later request may succeed. */
function isTemporary(error: unknown): error is Failure {
  if (!(error instanceof Failure)) return false;
  const { type, code, status } = error;
  return code === 'unreachable' || type === 'network_error' || status === 429 || status >= 500;
}
