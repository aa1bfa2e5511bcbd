import type { AdminCommand } from '../administration/admin-command.ts';
import { loadStoreSettings } from '../config/load.ts';
import { Failure } from '../failure.ts';
import { printable } from '../operations/filename.ts';
import { fieldsOf, parseFields } from '../schema/fields.ts';
import { administrationFlags } from './administration-flags.ts';
import { flagOf, readFlags } from './flags.ts';
import { jsonText } from './json.ts';
import { administer } from './store-access.ts';
import { Table } from './table.ts';
import { print, say } from './terminal.ts';
import '../text/dialects/built-in.ts';

/**
 * Runs one command of administration and prints what came of it.
 *
 * @param placed what was given by place, by the names of the options
 * @param flags what commander parsed of the rest
 * @throws Failure, with `param` where the command line makes no sense
 */
export async function runAdministration(
  command: AdminCommand,
  placed: Readonly<Record<string, unknown>>,
  flags: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { json, config, data } = readFlags(administrationFlags, flags);
  const input = { ...typedOf(command, flags), ...placed };
  const label = (name: string) => (command.positionals.includes(name) ? `<${name}>` : flagOf(name));
  // Read here for the errors, which name flags; whoever has the store reads it again.
  const options = parseFields(command.options, input, label);
  const settings = () => loadStoreSettings({ file: config, env: process.env, cwd: process.cwd() });
  const dataDir = data ?? settings().dataDir;
  /** For warnings alone: a store that is named is worked on whatever the configuration says. */
  const models = () => {
    try {
      return settings().models;
    } catch {
      return null;
    }
  };
  const { result, warnings } = await administer(command, { input, options, dataDir, models }).catch(
    withoutParam,
  );
  for (const warning of warnings) say(`oriel: warning: ${warning}`);
  if (json) return print(`${jsonText(result)}\n`);
  await present(command, result);
}

function typedOf(
  command: AdminCommand,
  flags: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const own = fieldsOf(command.options).filter(({ name }) => flags[name] !== undefined);
  return Object.fromEntries(own.map(({ name }) => [name, flags[name]]));
}

/** What the store refuses is no fault of the command line, which names its faults by `param`. */
function withoutParam(error: unknown): never {
  if (!(error instanceof Failure)) throw error;
  const { type, message, code, status } = error;
  throw new Failure(type, message, { status, ...(code !== null && { code }), cause: error });
}

async function present(command: AdminCommand, result: object): Promise<void> {
  const { tables = [], value, messages = [] } = command.show(result);
  for (const [index, rows] of tables.entries()) {
    if (index > 0) await print('\n');
    const table = new Table();
    for (const row of rows) await table.add(row.map((cell) => ({ text: printable(cell) })));
    await table.flush();
  }
  if (value !== undefined) await print(`${value}\n`);
  for (const line of messages) say(line);
}
