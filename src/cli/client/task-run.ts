import { Failure } from '../../failure.ts';
import { safeBaseName } from '../../operations/batch/filename.ts';
import { objectOf, objectsOf } from '../../schema/untrusted.ts';
import { type CommandInput, readFlags, usageFailure } from '../command/command.ts';
import { type Columns, printRows, printTable } from '../terminal/table.ts';
import { printJson } from '../terminal/terminal.ts';
import { taskFlags, taskResultFlags, tasksFlags } from './client-flags.ts';
import { Results } from './results.ts';
import { inSession, type Session } from './session.ts';
import {
  hasEnded,
  readTask,
  resumeHint,
  saveResults,
  type TaskRecord,
  taskPath,
  waitForTask,
} from './task.ts';

/** Prints a task; waits for its end and saves its results if the flags say so. */
export async function runTask({ positionals, flags }: CommandInput): Promise<number> {
  const id = String(positionals[0]);
  const { wait, callbacks } = readFlags(taskFlags, flags);
  const options = readFlags(taskResultFlags, flags);
  if (callbacks && (wait || options.out !== undefined)) {
    throw usageFailure(`--callbacks and ${wait ? '--wait' : '--out'} cannot be combined`);
  }
  return inSession(flags, async (session) => {
    const { client } = session;
    const path = taskPath(id);
    if (callbacks) return showCallbacks(session, `${path}/callbacks`, options.json);
    const results =
      options.out === undefined ? null : new Results(client, options, safeBaseName(id), 1);
    if (wait) session.resumeHint = resumeHint(id, options.out);
    const task = wait
      ? await waitForTask(session, path, results, options)
      : readTask(await client.json(path));
    if (results !== null) {
      if (hasEnded(task.status)) return saveResults(session, task, results, options);
      throw new Failure(
        'invalid_request',
        `the task is ${task.status} and has no result yet; --wait waits for it`,
      );
    }
    session.resumeHint = null;
    if (options.json) await printJson(task.document);
    else await showTask(task);
    return wait && task.error ? 1 : 0;
  });
}

async function showTask({ id, status, type, model, outputs, error }: TaskRecord): Promise<void> {
  await printRows([
    ['task', id],
    ['state', status],
    ['type', type || '-'],
    ['model', model || '-'],
    ...outputs.map((output) => ['result', 'url' in output ? output.url : 'in the answer itself']),
    ...(error ? [['error', `${error.type}: ${error.message}`]] : []),
  ]);
}

async function showCallbacks({ client }: Session, path: string, json: boolean): Promise<number> {
  const document = objectOf(await client.json(path));
  const rows = objectsOf(document['data']).map(({ id, status, attempts, url }) => {
    const tries = objectsOf(attempts);
    const last = tries.at(-1);
    const outcome = last?.['status'] ?? last?.['error'];
    return [id, status, tries.length, outcome, url].map((cell) => String(cell ?? '-'));
  });
  if (json) await printJson(document);
  else await printRows([['ID', 'STATE', 'TRIES', 'LAST', 'URL'], ...rows]);
  return 0;
}

/** Lists the tasks of the key's account, newest first. */
export async function runTasks({ flags }: CommandInput): Promise<number> {
  const { json, ...filters } = readFlags(tasksFlags, flags);
  const given = Object.entries(filters).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(
    Object.fromEntries(given.map(([name, value]) => [name, `${value}`])),
  );
  return inSession(flags, async ({ client }) => {
    const path = `/v1/tasks${query.size > 0 ? `?${query}` : ''}`;
    const { document, data } = await client.list(path, 'tasks');
    if (json) await printJson(document);
    else await printTable(COLUMNS, data.map(readTask));
    return 0;
  });
}

const COLUMNS: Columns<TaskRecord> = {
  // Whole, since `oriel task` asks for it.
  ID: [({ id }) => id],
  TYPE: [({ type }) => type || '-', { dropOrder: 0 }],
  STATE: [({ status }) => status],
  MODEL: [({ model }) => model || '-', { minWidth: 8, dropOrder: 1 }],
};
