import { jsonText } from '../json.ts';
import { print } from '../terminal.ts';
import type { Results } from './results.ts';
import type { Session } from './session.ts';
import type { Submission, TaskRecord } from './task-record.ts';
import { WaitLine } from './wait-line.ts';
import { waitForTask } from './waiting.ts';

/** How what is under way is told. */
export interface Telling {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly out?: string | undefined;
}

/**
 * Waits for a task that was submitted, and saves what it gave.
 *
 * @returns the exit code
 * @throws Failure, which tells how to go on where that makes sense
 */
export async function finishTask(
  session: Session,
  { id, path }: Pick<Submission, 'id' | 'path'>,
  results: Results,
  telling: Telling,
): Promise<number> {
  session.pickUp = pickUp(id, { out: telling.out ?? '.' });
  const task = await watch(session, path, results, telling);
  return settle(session, task, results, telling);
}

/** Waits for the end of a task, with a line that says so. */
export async function watch(
  session: Session,
  path: string,
  results: Results | null,
  { quiet }: Telling,
): Promise<TaskRecord> {
  const line = new WaitLine(!quiet);
  line.show('pending');
  try {
    results?.prepare();
    return await waitForTask(session, path, line);
  } finally {
    line.stop();
  }
}

/** Saves what a task that has ended gave. */
export async function settle(
  session: Session,
  task: TaskRecord,
  results: Results,
  { json }: Telling,
): Promise<number> {
  if (task.error) {
    session.pickUp = null;
    if (json) await print(`${jsonText({ ...task.document, saved: [] })}\n`);
    throw task.error;
  }
  const saved = await results.save(task.outputs);
  session.pickUp = null;
  if (json) await print(`${jsonText({ ...task.document, saved })}\n`);
  return 0;
}

/** How to go on where this command ends. */
export function pickUp(id: string, { out }: Pick<Telling, 'out'>): string {
  const place = out === undefined ? '' : ` --out ${shellWord(out)}`;
  return `\`oriel task ${shellWord(id)} --wait${place}\` picks it up again`;
}

function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
