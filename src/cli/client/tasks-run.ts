import { Failure } from '../../failure.ts';
import { printable } from '../../operations/batch/filename.ts';
import { objectOf } from '../../schema/untrusted.ts';
import { readFlags } from '../command/flags.ts';
import { nameCell, printTable, type TitledColumn } from '../terminal/table.ts';
import { jsonText, print } from '../terminal/terminal.ts';
import { tasksFlags } from './client-flags.ts';
import { inSession } from './session.ts';
import { readTask } from './task-record.ts';

/**
 * Lists the tasks of the key's account, newest first.
 *
 * @param flags as commander parsed them
 * @returns the exit code
 * @throws Failure
 */
export async function runTasks(flags: Readonly<Record<string, unknown>>): Promise<number> {
  const { json, ...filters } = readFlags(tasksFlags, flags);
  const query = new URLSearchParams(
    Object.entries(filters)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)] as [string, string]),
  ).toString();
  return inSession(flags, async ({ client }) => {
    const document = objectOf(await client.json(`/v1/tasks${query === '' ? '' : `?${query}`}`));
    const { data } = document;
    if (!Array.isArray(data)) {
      throw new Failure(
        'service_error',
        `${client.url}/v1/tasks: expected a list of tasks in the response`,
      );
    }
    if (json) {
      await print(`${jsonText(document)}\n`);
      return 0;
    }
    const rows = (data as unknown[]).map(readTask).map(({ id, type, status, model }) => {
      const cells = [id, type || '-', status, model || '-'];
      return cells.map((cell) => nameCell(printable(cell)));
    });
    await printTable(COLUMNS, rows);
    return 0;
  });
}

const COLUMNS: readonly TitledColumn[] = [
  // Whole, since `oriel task` asks for it.
  { title: 'ID' },
  { title: 'TYPE', dropOrder: 0 },
  { title: 'STATE' },
  { title: 'MODEL', minWidth: 8, dropOrder: 1 },
];
