import { Failure } from '../../failure.ts';
import { printable, safeBaseName } from '../../operations/batch/filename.ts';
import { objectOf } from '../../schema/untrusted.ts';
import { usageFailure } from '../command/command.ts';
import { readFlags } from '../command/flags.ts';
import { Table } from '../terminal/table.ts';
import { jsonText, print } from '../terminal/terminal.ts';
import { taskFlags, taskResultFlags } from './client-flags.ts';
import { type ResultOptions, resumeHint, saveResults, waitWithSpinner } from './finish-task.ts';
import { Results } from './results.ts';
import { inSession, type Session } from './session.ts';
import { hasEnded, readTask, type TaskRecord, taskPath } from './task-record.ts';

/**
 * Prints a task; waits for its end and saves its results where the flags say so.
 *
 * @param flags as commander parsed them
 * @returns the exit code
 * @throws Failure
 */
export async function runTask(
  id: string,
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const { wait, callbacks } = readFlags(taskFlags, flags);
  const resultOptions = readFlags(taskResultFlags, flags);
  if (callbacks && (wait || resultOptions.out !== undefined)) {
    throw usageFailure(`--callbacks and ${wait ? '--wait' : '--out'} exclude each other`);
  }
  return inSession(flags, async (session) => {
    const path = taskPath(id);
    if (callbacks) return showCallbacks(session, `${path}/callbacks`, resultOptions);
    const results =
      resultOptions.out === undefined
        ? null
        : new Results(session.client, resultOptions, safeBaseName(id), 1);
    if (wait) session.resumeHint = resumeHint(id, resultOptions);
    const task = wait
      ? await waitWithSpinner(session, path, results, resultOptions)
      : readTask(await session.client.json(path));
    if (results !== null) {
      if (!hasEnded(task.status)) {
        throw new Failure(
          'invalid_request',
          `the task is ${task.status} and has no result yet; --wait waits for it`,
        );
      }
      return saveResults(session, task, results, resultOptions);
    }
    session.resumeHint = null;
    if (resultOptions.json) await print(`${jsonText(task.document)}\n`);
    else await showTask(task);
    return wait && task.error ? 1 : 0;
  });
}

async function showTask({ id, status, type, model, outputs, error }: TaskRecord): Promise<void> {
  await printTable([
    ['task', id],
    ['state', status],
    ['type', type || '-'],
    ['model', model || '-'],
    ...outputs.map((output) => ['result', 'url' in output ? output.url : 'in the answer itself']),
    ...(error ? [['error', `${error.type}: ${error.message}`]] : []),
  ]);
}

async function showCallbacks(
  { client }: Session,
  path: string,
  { json }: ResultOptions,
): Promise<number> {
  const document = await client.json(path);
  if (json) {
    await print(`${jsonText(objectOf(document))}\n`);
    return 0;
  }
  const { data } = objectOf(document);
  const deliveries = Array.isArray(data) ? (data as unknown[]).map(objectOf) : [];
  const rows = deliveries.map(({ id, status, attempts, url }) => {
    const tries = Array.isArray(attempts) ? (attempts as unknown[]).map(objectOf) : [];
    const last = tries.at(-1);
    return [id, status, tries.length, last?.['status'] ?? last?.['error'] ?? '-', url];
  });
  await printTable([['ID', 'STATE', 'TRIES', 'LAST', 'URL'], ...rows]);
  return 0;
}

async function printTable(rows: readonly (readonly unknown[])[]): Promise<void> {
  const table = new Table();
  for (const row of rows) {
    await table.add(row.map((cell) => ({ text: printable(String(cell ?? '-')) })));
  }
  await table.flush();
}
