import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BLOBS } from '../../exchanges/cassettes/folder.ts';
import { encodeExchange } from '../../exchanges/exchange-file.ts';
import { Failure } from '../../failure.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { counted, print, printJson } from '../terminal/terminal.ts';
import { pruneFlags } from './cassette-flags.ts';
import { readAll } from './list-run.ts';

/**
 * Removes cassettes that no run used, and blobs of no cassette.
 *
 * @throws Failure where a file is no cassette: its blobs are not known
 */
export async function runPrune({ positionals: [dir], flags }: CommandInput): Promise<number> {
  const { used, dryRun, json } = readFlags(pruneFlags, flags);
  const folder = String(dir);
  const { cassettes, faults } = readAll(folder);
  if (faults.length > 0) throw cannotPrune(faults.join('; '));
  const names = used === undefined ? null : new Set(readNames(used));
  const kept = cassettes.filter(({ file }) => names === null || names.has(file));
  if (names !== null && names.size > 0 && cassettes.length > 0 && kept.length === 0) {
    throw cannotPrune(`${used}: names no cassette of ${folder}`);
  }
  const keptFiles = new Set(kept.map(({ file }) => file));
  const blobs = new Set(kept.flatMap(({ exchange }) => [...encodeExchange(exchange).blobs.keys()]));
  const folderOfBlobs = join(folder, BLOBS);
  const removed = [
    ...cassettes.map(({ file }) => file).filter((file) => !keptFiles.has(file)),
    ...(existsSync(folderOfBlobs) ? readdirSync(folderOfBlobs) : [])
      .filter((name) => !blobs.has(name))
      .map((name) => `${BLOBS}/${name}`),
  ];
  if (!dryRun) for (const file of removed) rmSync(join(folder, file), { force: true });
  if (json) await printJson({ removed, kept: kept.length });
  else {
    for (const file of removed) await print(`${file}\n`);
    const verb = dryRun ? 'would be removed' : 'removed';
    await print(`${counted(removed.length, 'file')} ${verb}, ${kept.length} kept\n`);
  }
  return 0;
}

function readNames(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch (cause) {
    throw cannotPrune(`${file}: cannot be read: ${(cause as Error).message}`);
  }
}

function cannotPrune(reason: string): Failure {
  const code = 'cassette_folder';
  return new Failure('invalid_request', `nothing was removed: ${reason}`, { code });
}
