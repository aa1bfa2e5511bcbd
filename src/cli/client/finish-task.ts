import { jsonText } from '../terminal/json.ts';
import { print } from '../terminal/terminal.ts';
import { waitForTask } from './poll-task.ts';
import type { Results } from './results.ts';
import type { Session } from './session.ts';
import { Spinner } from '../terminal/spinner.ts';
import type { Submission, TaskRecord } from './task-record.ts';

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
