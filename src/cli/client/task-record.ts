import { FAILURE_TYPES, Failure } from '../../failure.ts';
import { objectOf, textOf } from '../../schema/untrusted.ts';
import { isTerminal, TASK_STATES } from '../../store/task.ts';

type Json = Readonly<Record<string, unknown>>;

/** One result: its URL, or its bytes. */
export type Output = { readonly url: string } | { readonly base64: string };

/** The properties of a task record that the commands use. */
export interface TaskRecord {
  readonly id: string;
  /** A state of `TASK_STATES`, or one that a newer daemon has added. */
  readonly status: string;
  /** Empty where the record has none. */
  readonly model: string;
  readonly type: string;
  readonly outputs: readonly Output[];
  /** Null where the task has not failed. */
  readonly error: Failure | null;
  /** The whole record. */
  readonly document: Json;
}

/** @throws Failure where the value is no task record */
export function readTask(value: unknown): TaskRecord {
  const document = objectOf(value);
  const { task_id, status, model, type, result, error } = document;
  if (typeof task_id !== 'string' || typeof status !== 'string') {
    throw new Failure('service_error', 'expected a task in the response of the daemon');
  }
  return {
    id: task_id,
    status,
    model: textOf(model),
    type: textOf(type),
    outputs: outputsOf(objectOf(result)),
    error: status === 'failed' || status === 'expired' ? failureOf(status, error) : null,
    document,
  };
}

/** The response to the creation of a task. */
export interface Submission {
  readonly id: string;
  /** A path of the daemon. */
  readonly path: string;
  readonly document: Json;
}

/** The task that a response names; null if the response is the result itself. */
export function readSubmission(value: unknown): Submission | null {
  const document = objectOf(value);
  const { task_id, poll_url } = document;
  if (typeof task_id !== 'string') return null;
  const path = textOf(poll_url);
  return { id: task_id, path: path.startsWith('/v1/') ? path : taskPath(task_id), document };
}

export function taskPath(id: string): string {
  return `/v1/tasks/${encodeURIComponent(id)}`;
}

export function hasEnded(status: string): boolean {
  const state = TASK_STATES.find((known) => known === status);
  return state !== undefined && isTerminal(state);
}

/** The outputs of an image response, or of the `result` of a task record. */
export function outputsOf(result: Json): Output[] {
  const { data, urls, video_url, audio_url } = result;
  if (Array.isArray(data)) {
    return (data as unknown[]).flatMap((one): Output[] => {
      const { url, b64_json } = objectOf(one);
      if (typeof url === 'string') return [{ url }];
      return typeof b64_json === 'string' ? [{ base64: b64_json }] : [];
    });
  }
  const all = [video_url, audio_url, ...(Array.isArray(urls) ? (urls as unknown[]) : [])];
  const distinct = new Set(all.filter((url): url is string => typeof url === 'string'));
  return Array.from(distinct, (url) => ({ url }));
}

function failureOf(status: string, error: unknown): Failure {
  const { type, message } = objectOf(error);
  const known = FAILURE_TYPES.find((one) => one === type) ?? 'unknown';
  const why = textOf(message) || 'without a reason';
  return new Failure(known, `the task ${status === 'expired' ? 'expired' : 'failed'}: ${why}`);
}
