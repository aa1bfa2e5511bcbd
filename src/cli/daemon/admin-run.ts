import { devNull } from 'node:os';
import { resolve } from 'node:path';
import type { AdminCommand, AdminOutput } from '../../administration/admin-command.ts';
import type { CatalogContext } from '../../administration/catalog-context.ts';
import type { ConfigOptions } from '../../config/loading/config-file.ts';
import { loadConfig, loadStoreSettings } from '../../config/loading/load.ts';
import { Failure } from '../../failure.ts';
import { valueOr } from '../../flow.ts';
import { fieldsOf, parseFields } from '../../schema/fields.ts';
import { secretKeyFile } from '../../store/secret-key.ts';
import { type Flags, flagOf, readFlags, usageFailure } from '../command/command.ts';
import { printRows } from '../terminal/table.ts';
import { print, printJson, printStderr, readStandardInput } from '../terminal/terminal.ts';
import { adminFlags } from './daemon-flags.ts';
import { type AdminRequest, administer } from './store-access.ts';
import '../../text/built-in-dialects.ts';

/**
 * Runs an administration command and prints its result.
 *
 * @param positionals the positional arguments, by the names of the options
 * @returns the exit code
 * @throws Failure, with `param` for an error in the command line
 */
export async function runAdmin(
  command: AdminCommand,
  positionals: Flags,
  flags: Flags,
): Promise<number> {
  const { options, request, label } = await readAdminInput(command, positionals, flags);
  const { result, warnings, isNew } = await administer(command, request).catch((error: unknown) =>
    withoutParam(error, command, label),
  );
  for (const warning of warnings) printStderr(`oriel: warning: ${warning}`);
  const output = command.show(result, options);
  if (readFlags(adminFlags, flags).json) await printJson(result);
  else {
    await show(output);
    // The daemon may have another one, if it was started in another folder.
    if (isNew) printStderr(`made a new data folder: ${request.dataDir}`);
  }
  return output.exitCode ?? 0;
}

/** The options of a command, and what runs it. @throws Failure with `param` for an error in the command line */
export async function readAdminInput(command: AdminCommand, positionals: Flags, flags: Flags) {
  const { config, data } = readFlags(adminFlags, flags);
  const source = { file: config, env: process.env, cwd: process.cwd() };
  const own = fieldsOf(command.options).filter(({ name }) => flags[name] !== undefined);
  const given: Record<string, unknown> = {};
  for (const { name, secret } of own) {
    given[name] = secret ? await secretOf(flagOf(name), flags[name]) : flags[name];
  }
  const input = { ...given, ...positionals };
  const label = (name: string) =>
    command.positionals?.includes(name) ? `<${name}>` : flagOf(name);
  // Parsed here for errors that name flags; the daemon parses the input again.
  const options = parseFields(command.options, input, label);
  const settings = () => loadStoreSettings(source);
  // Undefined for an invalid configuration, which `--data` does not need.
  const known = data === undefined ? settings() : valueOr(settings, undefined);
  const dataDir = data ?? known!.dataDir;
  const request: AdminRequest = {
    ...{ input, options, dataDir },
    isOwnFolder: known !== undefined && resolve(dataDir) === known.dataDir,
    store: known?.store,
    // Used for warnings only: with `--data`, the configuration may be invalid.
    models: known?.models ?? null,
    catalog: catalogOf(known ?? loadStoreSettings({ ...source, file: devNull }), dataDir, source),
  };
  // `show` takes the type of the command's options, which the registry leaves out.
  return { options: options as never, request, label };
}

/** A secret as it is given, or from where it is: standard input for `-`, or `env:NAME`. */
async function secretOf(flag: string, given: unknown): Promise<unknown> {
  if (given === '-') {
    const [line = ''] = (await readStandardInput(MAX_SECRET)).toString('utf8').split('\n');
    return line.trim();
  }
  const [, variable] = /^env:(.*)$/.exec(String(given)) ?? [];
  if (variable === undefined) return given;
  const value = process.env[variable];
  if (value) return value.trim();
  throw usageFailure(`${flag}: the environment variable ${variable} is not set`);
}

/** Bytes of a secret on standard input. */
const MAX_SECRET = 65_536;

/** What a command for providers and models needs in a process without requests. */
function catalogOf(
  settings: ReturnType<typeof loadStoreSettings>,
  dataDir: string,
  source: ConfigOptions,
): CatalogContext {
  return {
    file: settings,
    network: settings.network,
    secretKeyFile: secretKeyFile(dataDir, settings.secretKeyFile),
    testProvider: async (test) => {
      const { testProvider } = await import('../../text/provider-test.ts');
      return testProvider(test);
    },
    testAlerts: async (name) => {
      const { testWebhooks } = await import('../../alerts/webhooks.ts');
      // Keys of providers may be unset.
      const { config } = loadConfig({ ...source, without: [['providers'], ['models']] });
      return testWebhooks(config, name);
    },
    changed: async () => {},
  };
}

/**
 * Removes `param`, by which main recognises errors in the command line: this one is the store's. Its message
 * names the flag.
 */
function withoutParam(
  error: unknown,
  { options }: AdminCommand,
  label: (name: string) => string,
): never {
  if (!(error instanceof Failure)) throw error;
  const { type, message, code, status, param } = error;
  const isOption = fieldsOf(options).some(({ name }) => name === param);
  const text =
    isOption && message.startsWith(`${param}: `)
      ? `${label(param!)}${message.slice(param!.length)}`
      : message;
  throw new Failure(type, text, { status, originalCode: code, cause: error });
}

async function show({ tables = [], value, messages = [] }: AdminOutput): Promise<void> {
  for (const [index, { rows, columns }] of tables.entries()) {
    if (index > 0) await print('\n');
    await printRows(rows, columns);
  }
  if (value !== undefined) await print(`${value}\n`);
  for (const line of messages) printStderr(line);
}
