import { Failure } from '../../failure.ts';
import { printable } from '../../operations/filename.ts';
import { readFlags } from '../flags.ts';
import { jsonText } from '../json.ts';
import { Table } from '../table.ts';
import { print } from '../terminal.ts';
import { tasksFlags } from './client-flags.ts';
import { inSession } from './session.ts';
import { objectAt, readTask } from './task-record.ts';

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
    const document = objectAt(await client.json(`/v1/tasks${query === '' ? '' : `?${query}`}`));
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
    const table = new Table();
    await table.add(['ID', 'TYPE', 'STATE', 'MODEL'].map((text) => ({ text })));
    for (const { id, type, status, model } of (data as unknown[]).map(readTask)) {
      const cells = [id, type || '-', status, model || '-'];
      await table.add(cells.map((cell) => ({ text: printable(cell) })));
    }
    await table.flush();
    return 0;
  });
}
