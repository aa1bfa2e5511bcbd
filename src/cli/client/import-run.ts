import { randomUUID } from 'node:crypto';
import { chmod, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import '../../text/built-in-dialects.ts';
import type { ImportedModel, ImportPlan } from '../../config/import/import-models.ts';
import { MAX_MAP_LENGTH } from '../../config/import/price-map.ts';
import { invalidConfig } from '../../config/yaml/invalid.ts';
import { Failure } from '../../failure.ts';
import { printable, printableJson } from '../../operations/batch/filename.ts';
import { diskFiles, writeSynced } from '../../store/files.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { type Columns, nameCell, printTable } from '../terminal/table.ts';
import { print, printStderr, readStandardInput } from '../terminal/terminal.ts';
import { importFlags } from './client-flags.ts';

/** @throws Failure where the file cannot be read, or is longer than any price map */
async function readMap(path: string): Promise<string> {
  try {
    if (path !== '-') {
      const { size } = await stat(path);
      if (size <= MAX_MAP_LENGTH) return await readFile(path, 'utf8');
    } else {
      const bytes = await readStandardInput(MAX_MAP_LENGTH);
      if (bytes.length <= MAX_MAP_LENGTH) return bytes.toString('utf8');
    }
  } catch (error) {
    throw new Failure('invalid_request', `${path} cannot be read: ${(error as Error).message}`);
  }
  throw new Failure('invalid_request', `${path}: larger than ${MAX_MAP_LENGTH / 1e6} MB`);
}

/** Replaces a file by a valid one, whole or not at all. @param check throws where it is not valid */
async function replaceFile(
  file: string,
  source: string,
  check: (path: string) => void,
): Promise<void> {
  // A link stays a link.
  const path = await realpath(file);
  const temporary = `${path}.${randomUUID()}.new`;
  try {
    const { mode } = await stat(path);
    await writeSynced(diskFiles, temporary, source);
    try {
      check(temporary);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const message = `${error.message.replaceAll(temporary, file)}\n${file} was not changed`;
      throw invalidConfig(message, error);
    }
    await chmod(temporary, mode & 0o7777);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    if (error instanceof Failure) throw error;
    throw new Failure('service_error', `${file} cannot be written: ${(error as Error).message}`);
  }
}

/** A model, or an entry that becomes none. */
interface Listed {
  readonly id: string;
  readonly action: string;
  readonly type: string;
  readonly price: ImportedModel['settings']['price'];
  readonly remarks: readonly string[];
}

const COLUMNS: Columns<Listed> = {
  MODEL: [({ id }) => id, { minWidth: 20 }],
  CHANGE: [({ action }) => action],
  TYPE: [({ type }) => type, { dropOrder: 4 }],
  INPUT: [priceIn('input'), { dropOrder: 6 }],
  CACHED: [priceIn('cachedInput'), { dropOrder: 3 }],
  WRITE: [priceIn('cacheWrite'), { dropOrder: 2 }],
  'WRITE 1H': [priceIn('cacheWrite1h'), { dropOrder: 1 }],
  OUTPUT: [priceIn('output'), { dropOrder: 5 }],
  OTHER: [otherPrices, { minWidth: 10, dropOrder: 0 }],
  // Notes go on below their row.
  NOTES: [({ remarks }) => ({ ...nameCell(printable(remarks.join('; ') || '-')), wraps: true })],
};
const OWN_COLUMN: readonly string[] = [
  'input',
  'cachedInput',
  'cacheWrite',
  'cacheWrite1h',
  'output',
];

function priceIn(name: string) {
  return ({ price }: Listed) => String(price[name] ?? '-');
}

function otherPrices({ price }: Listed): string {
  const others = Object.entries(price).filter(([name]) => !OWN_COLUMN.includes(name));
  return others.map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(', ') || '-';
}

/** @param withSkipped whether entries that become no models are listed */
function listedOf({ models, skipped }: ImportPlan, withSkipped: boolean): Listed[] {
  const imported = models.map(({ id, action, settings, changes, notes }) => {
    const { type, price } = settings;
    return { id, action, type, price, remarks: [...changes, ...notes] };
  });
  if (!withSkipped) return imported;
  const none = { action: 'skip', type: '-', price: {} };
  return [
    ...imported,
    ...skipped.map(({ name, reason }) => ({ ...none, id: name, remarks: [reason] })),
  ];
}

/** How many entries were skipped for each reason. */
function skippedReasons({ skipped }: ImportPlan): string {
  const counts = new Map<string, number>();
  for (const { reason } of skipped) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, count]) => `${count} with ${reason}`).join(', ');
}

/** Imports models of a price map into the configuration. */
export async function runImport({ positionals, flags }: CommandInput): Promise<number> {
  const path = String(positionals[0]);
  const { config, dryRun, json, ...options } = readFlags(importFlags, flags);
  const [{ checkFile, readForEdit }, { planImport }, { readPriceMap }] = await Promise.all([
    import('../../config/loading/load.ts'),
    import('../../config/import/import-models.ts'),
    import('../../config/import/price-map.ts'),
  ]);
  const { file, source } = readForEdit({ file: config, env: process.env, cwd: process.cwd() });
  const plan = planImport(source, file, readPriceMap(await readMap(path), path), options);
  const changed = plan.models.filter(({ action }) => action === 'add' || action === 'update');
  if (changed.length > 0 && !dryRun) {
    await replaceFile(file, plan.source, (written) => checkFile(written, process.env));
  }
  if (json) {
    const { provider, models, skipped } = plan;
    const document = { file, written: changed.length > 0 && !dryRun, provider, models, skipped };
    await print(`${printableJson(JSON.stringify(document, null, 2))}\n`);
    return 0;
  }
  await printTable(COLUMNS, listedOf(plan, dryRun));
  if (plan.skipped.length > 0) printStderr(`oriel: skipped ${skippedReasons(plan)}`);
  const count = (action: string) => plan.models.filter((one) => one.action === action).length;
  const verb = dryRun ? 'would be' : 'were';
  printStderr(
    `oriel: ${count('add')} models ${verb} added and ${count('update')} updated in ${file}`,
  );
  return 0;
}
