import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { toCredits } from '../../store/credits.ts';
import { checkDataFolder } from '../../store/data-folder.ts';
import { openStore } from '../../store/drivers/open.ts';
import { checkIntegrity, type IntegrityReport } from '../../store/integrity.ts';
import type { Store } from '../../store/store.ts';
import { usageFailure } from '../command/command.ts';
import { readFlags } from '../command/flags.ts';
import { jsonText, print, printStderr } from '../terminal/terminal.ts';
import { storeCopyFlags } from './daemon-flags.ts';

/**
 * Copies a store at rest into an empty one, and compares the sums of both with their records.
 *
 * @returns the exit code: 1 where a sum does not agree
 * @throws Failure `store_locked` where a daemon uses one of the stores, `store_not_empty`
 */
export async function runStoreCopy(flags: Readonly<Record<string, unknown>>): Promise<number> {
  const { from, to, json } = readFlags(storeCopyFlags, flags);
  const source = await openAtRest(from, false);
  try {
    const target = await openAtRest(to, true);
    try {
      const before = await checkIntegrity(source.transfer.read());
      await target.transfer.write(source.transfer.read());
      const after = await checkIntegrity(target.transfer.read());
      const faults = [...before.faults, ...after.faults, ...differences(before, after)];
      const { granted, reserved, spent, ...counts } = after;
      const credits = {
        granted: toCredits(granted),
        reserved: toCredits(reserved),
        spent: toCredits(spent),
      };
      const report = { ...counts, ...credits, faults };
      if (json) await print(`${jsonText(report)}\n`);
      else if (faults.length === 0) await print(`${summaryOf(report)}\n`);
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
  throw new Failure('service_error', `daemons use the store: ${names}; end them first`, {
    code: 'store_locked',
  });
}

function differences(before: IntegrityReport, after: IntegrityReport): string[] {
  const names = ['accounts', 'keys', 'tasks', 'ledgerEntries', 'granted', 'reserved', 'spent'];
  return (names as readonly (keyof IntegrityReport)[])
    .filter((name) => before[name] !== after[name])
    .map((name) => `${name}: ${after[name]} in the copy, ${before[name]} before`);
}

function summaryOf(report: {
  readonly accounts: number;
  readonly keys: number;
  readonly tasks: number;
  readonly granted: number;
  readonly spent: number;
}): string {
  const { accounts, keys, tasks, granted, spent } = report;
  return `copied ${accounts} accounts, ${keys} keys and ${tasks} tasks; ${granted} credits granted, ${spent} spent; every sum agrees`;
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
