import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { checkDataFolder } from '../../store/data-folder.ts';
import { openStore } from '../../store/drivers/open.ts';
import type { Store } from '../../store/store.ts';
import { usageFailure } from '../command/usage.ts';

/** Connections of a command, which reads on one and writes on another. */
const POOL_SIZE = 3;

/**
 * Opens the store of a data folder, or of a schema of PostgreSQL.
 *
 * @param place a folder, a URL as `postgres://host/database?schema=oriel`, or `env:NAME` of one
 * @param isNew whether a folder without a store gets one
 * @throws Failure `usage`, `no_store`, and those of `openStore`
 */
export async function openPlace(place: string, isNew: boolean): Promise<Store> {
  const given = place.startsWith('env:') ? fromEnvironment(place.slice('env:'.length)) : place;
  if (/^postgres(ql)?:/.test(given)) return openSchema(given, place);
  const directory = join(given, 'store');
  await checkDataFolder(given);
  if (!isNew && !statSync(directory, { throwIfNoEntry: false })) {
    throw new Failure('invalid_request', `${given}: there is no store of Oriel`, {
      code: 'no_store',
    });
  }
  return openStore({ directory });
}

function fromEnvironment(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw usageFailure(`the environment has no variable ${name}`);
}

/** @param place for the error: the URL may have a password */
async function openSchema(text: string, place: string): Promise<Store> {
  if (!URL.canParse(text)) {
    throw usageFailure(`${place.startsWith('env:') ? place : 'the URL'}: not a URL`);
  }
  const url = new URL(text);
  const schema = url.searchParams.get('schema') ?? 'oriel';
  url.searchParams.delete('schema');
  return openStore({
    // A command makes no charges, so that it needs no folder.
    directory: '',
    settings: { driver: 'postgres', url: url.href, poolSize: POOL_SIZE, schema },
    isCommand: true,
  });
}
