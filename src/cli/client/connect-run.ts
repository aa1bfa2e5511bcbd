import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Client, type Connection, filled, readClients } from '../../clients/clients.ts';
import { Failure } from '../../failure.ts';
import { unknownName } from '../../schema/faults.ts';
import { type CommandInput, readFlags, usageFailure } from '../command/command.ts';
import { type Columns, printTable } from '../terminal/table.ts';
import { print, printJson, printStderr } from '../terminal/terminal.ts';
import { textModels } from './catalog.ts';
import { connectFlags } from './client-flags.ts';
import type { DaemonClient } from './daemon-client.ts';
import { inSession } from './session.ts';

/** Stand for a key and a model that are not known. */
const UNKNOWN = { key: 'YOUR_KEY', model: 'YOUR_MODEL' };

/** Control characters, and what changes directions or lines: no name of a model has them. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

/** Prints the configuration of a client, or the list of clients. */
export async function runConnect({ positionals: [given], flags }: CommandInput): Promise<number> {
  const { model, json } = readFlags(connectFlags, flags);
  if (model !== undefined && UNPRINTABLE.test(model)) {
    throw usageFailure('--model: expected a name on one line, received control characters');
  }
  const file = createRequire(import.meta.url).resolve('#clients/README.md');
  const clients = readClients(readFileSync(file, 'utf8'));
  if (given === undefined) return listClients(clients, json);
  const name = String(given);
  const client = clients.find(({ id }) => id === name.toLowerCase());
  if (client === undefined) {
    const ids = clients.map(({ id }) => id);
    throw usageFailure(`client ${JSON.stringify(name)}: ${unknownName(name, ids)}`);
  }
  return inSession(flags, async ({ client: daemon }) => {
    const connection = {
      url: daemon.url,
      key: daemon.key ?? UNKNOWN.key,
      model: model ?? (await firstModel(daemon)),
    };
    await printClient(client, connection, json);
    return 0;
  });
}

const COLUMNS: Columns<Client> = {
  CLIENT: [({ id }) => id],
  NAME: [({ name }) => name],
  KIND: [({ kind }) => kind],
  FORMAT: [({ format }) => format],
  TESTED: [({ version }) => version ?? '-'],
};

async function listClients(clients: readonly Client[], json: boolean): Promise<number> {
  if (json) await printJson({ clients: clients.map(({ blocks, notes, ...facts }) => facts) });
  else await printTable(COLUMNS, clients);
  return 0;
}

/** The first text model of the daemon. A daemon that cannot be asked is no reason to show nothing. */
async function firstModel(daemon: DaemonClient): Promise<string> {
  try {
    return (await textModels(daemon)).find((id) => !UNPRINTABLE.test(id)) ?? UNKNOWN.model;
  } catch (error) {
    const isRefused = error instanceof Failure && error.type === 'auth_error';
    if (!(error instanceof Failure) || (isRefused && daemon.key !== undefined)) throw error;
    printStderr(`oriel: replace ${UNKNOWN.model}, or name one with --model: ${error.message}`);
    return UNKNOWN.model;
  }
}

async function printClient(client: Client, connection: Connection, json: boolean): Promise<void> {
  const { blocks, notes, ...facts } = client;
  const own = blocks.map((block) => filled(block, connection));
  if (json) {
    await printJson({ ...facts, ...connection, blocks: own, notes });
    return;
  }
  const parts = own.map(({ path, text }) => `${path ?? 'In a terminal'}:\n\n${text}`);
  await print(`${parts.join('\n')}\n${notes.map((note) => `- ${note}\n`).join('')}`);
}
