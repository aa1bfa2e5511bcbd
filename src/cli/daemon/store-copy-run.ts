import { statSync } from 'node:fs';
import { join } from 'node:path';
import { codedFailure } from '../../failure.ts';
import { inCredits } from '../../store/credits.ts';
import { checkDataFolder } from '../../store/data-folder.ts';
import { openStore } from '../../store/drivers/open.ts';
import { checkIntegrity, type IntegrityReport } from '../../store/integrity.ts';
import type { Store } from '../../store/store.ts';
import { type Flags, readFlags, usageFailure } from '../command/command.ts';
import { countedRecords, print, printJson, printStderr } from '../terminal/terminal.ts';
import { storeCopyFlags } from './daemon-flags.ts';
import { noStore } from './store-access.ts';

/**
 * Copies a store at rest into an empty one, and compares the sums of both with their records.
 *
 * @returns the exit code: 1 where a sum does not agree
 * @throws Failure `store_locked` where a daemon uses one of the stores, `store_not_empty`
 */
export async function runStoreCopy(flags: Flags): Promise<number> {
  const { from, to, json } = readFlags(storeCopyFlags, flags);
  const source = await openAtRest(from, false);
  try {
    const target = await openAtRest(to, true);
    try {
      const before = await checkIntegrity(source.transfer.read());
      await target.transfer.write(source.transfer.read());
      const after = await checkIntegrity(target.transfer.read());
      const faults = [...before.faults, ...after.faults, ...differences(before, after)];
      const credits = inCredits(after);
      const { granted, spent } = credits;
      if (json) await printJson({ ...after, ...credits, faults });
      else if (faults.length === 0) {
        const sums = `${granted} credits granted, ${spent} spent; every sum agrees`;
        await print(`copied ${countedRecords(after)}; ${sums}\n`);
      }
      for (const fault of faults) printStderr(`oriel: ${fault}`);
      return faults.length > 0 ? 1 : 0;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function openAtRest(place: string, isNew: boolean): Promise<Store> {
  const store = await openPlace(place, isNew);
  // Of a folder the lock excludes others.
  const nodes = store.isShared ? await store.listNodes() : [];
  const others = nodes.filter(({ aliveUntil }) => aliveUntil > store.now);
  if (others.length === 0) return store;
  await store.close();
  const names = others.map(({ name }) => name).join(', ');
  throw codedFailure('store_locked', `daemons use the store: ${names}; end them first`);
}

function differences(before: IntegrityReport, after: IntegrityReport): string[] {
  const names = ['accounts', 'keys', 'tasks', 'ledgerEntries', 'granted', 'reserved', 'spent'];
  return (names as readonly (keyof IntegrityReport)[])
    .filter((name) => before[name] !== after[name])
    .map((name) => `${name}: ${after[name]} in the copy, ${before[name]} before`);
}

/** Connections of a command, which reads on one and writes on another. */
const POOL_SIZE = 3;

/**
 * Opens the store of a data folder, or of a schema of PostgreSQL.
 *
 * @param place a folder, a URL as `postgres://host/database?schema=oriel`, or `env:NAME` of one
 * @param isNew whether a folder without a store gets one
 * @throws Failure `usage`, `no_store`, and those of `openStore`
 */
async function openPlace(place: string, isNew: boolean): Promise<Store> {
  const variable = /^env:(.*)/.exec(place)?.[1];
  const given = variable === undefined ? place : process.env[variable];
  if (!given) throw usageFailure(`the environment has no variable ${variable}`);
  if (/^postgres(ql)?:/.test(given)) return openSchema(given, place);
  const directory = join(given, 'store');
  await checkDataFolder(given);
  if (!isNew && !statSync(directory, { throwIfNoEntry: false })) {
    throw noStore(`${given}: there is no store of Oriel`);
  }
  return openStore({ directory });
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
