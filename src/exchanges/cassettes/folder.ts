import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { lstat, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codedFailure, type Failure } from '../../failure.ts';
import { makeFolders } from '../../folders.ts';
import type { Exchange } from '../exchange.ts';
import { decodeExchange, type EncodedExchange } from '../exchange-file.ts';

/** Folder of binary answers, below that of the cassettes. */
export const BLOBS = 'blobs';

/** Names that Windows keeps for devices, and the folder of blobs. */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d|blobs)(?:\.|$)/i;

/** Characters of a folder's name. */
const MAX_NAME = 80;

/** Hexadecimal digits of a key in the name of its file. */
const KEY_DIGITS = 16;

/** A recorded exchange in a folder. */
export interface Cassette {
  /** Path below the folder: `gpt-4o/0123456789abcdef.2.json`. */
  readonly file: string;
  /** Place in the sequence of equal requests, from 1. */
  readonly number: number;
  readonly exchange: Exchange;
}

/** The path of a cassette below its folder. @param key of the canonical request */
export function cassetteFile(model: string, key: string, number: number): string {
  const sequence = number === 1 ? '' : `.${number}`;
  return `${folderOf(model)}/${key.slice(0, KEY_DIGITS)}${sequence}.json`;
}

/** A model's name as the name of a folder on any system. */
function folderOf(model: string): string {
  const safe = model
    .slice(0, MAX_NAME)
    .replace(/[^\w.-]/g, '_')
    .replace(/^\.|\.$/g, '_');
  return safe === '' || RESERVED.test(safe) ? `_${safe}` : safe;
}

/**
 * Reads all cassettes of a folder, in the order of their names.
 *
 * @param onFault called for each file that is not a cassette, with a message that names the file and line
 * @throws Failure if the folder cannot be read
 */
export function* readCassettes(
  folder: string,
  onFault: (message: string) => void,
): Generator<Cassette, void> {
  for (const file of cassetteFiles(folder)) {
    const number = Number(/\.(\d+)\.json$/.exec(file)?.[1] ?? 1);
    try {
      yield { file, number, exchange: readCassette(folder, file) };
    } catch (error) {
      onFault((error as Error).message);
    }
  }
}

/** @throws Failure that names file and line */
export function readCassette(folder: string, file: string): Exchange {
  const path = join(folder, file);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const message = `${path}: cannot be read: ${reasonOf(cause)}`;
    throw codedFailure('cassette_unreadable', message, { cause });
  }
  return decodeExchange(text, path, (name) => readFileSync(join(folder, BLOBS, name)));
}

/** @throws Failure where the folder cannot be read */
function cassetteFiles(folder: string): string[] {
  // Links are not followed: a folder of cassettes may come with somebody's pull request.
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory() && entry.name !== BLOBS && !entry.name.startsWith('.'))
    .flatMap(({ name }) =>
      entriesOf(join(folder, name))
        .filter((entry) => entry.isFile() && /^[^.].*\.json$/.test(entry.name))
        .map((entry) => `${name}/${entry.name}`),
    )
    .sort();
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (cause) {
    throw folderFailure(folder, 'read', cause);
  }
}

export function folderFailure(folder: string, verb: string, cause: unknown): Failure {
  const message = `${folder}: the folder of cassettes cannot be ${verb}: ${reasonOf(cause)}`;
  return codedFailure('cassette_folder', message, { cause });
}

/** `ENOSPC: no space left on device`, without the path. */
export function reasonOf(error: unknown): string {
  return (error as Error).message.replace(/, \w+ '.*$/s, '');
}

/** Creates a folder, and checks that files can be written. @throws Failure */
export async function prepareFolder(folder: string): Promise<void> {
  try {
    await makeFolders(folder);
    const probe = join(folder, temporaryName('probe'));
    await writeFile(probe, '', { flag: 'wx' });
    await rm(probe);
  } catch (error) {
    throw folderFailure(folder, 'written', error);
  }
}

/**
 * Writes a cassette atomically. The folder must exist: a removed one is not created again, since its other recordings are
 * gone.
 */
export async function writeCassette(
  folder: string,
  file: string,
  { text, blobs }: EncodedExchange,
): Promise<void> {
  if (blobs.size > 0) await makeOwnFolder(join(folder, BLOBS));
  for (const [name, bytes] of blobs) {
    const path = join(folder, BLOBS, name);
    const isThere = statSync(path, { throwIfNoEntry: false })?.size === bytes.length;
    if (!isThere) await writeWhole(path, bytes);
  }
  await makeOwnFolder(join(folder, dirname(file)));
  await writeWhole(join(folder, file), text);
}

/** Removes the cassettes of a sequence after its first. @param first file of the first */
export async function removeTail(folder: string, first: string): Promise<void> {
  const parent = join(folder, dirname(first));
  const stem = basename(first, '.json');
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    if (name.startsWith(`${stem}.`) && /^\.\d+\.json$/.test(name.slice(stem.length))) {
      await rm(join(parent, name));
    }
  }
}

/** Creates a folder. @throws if a link or a file has its name */
async function makeOwnFolder(path: string): Promise<void> {
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if ((await lstat(path)).isDirectory()) return;
  throw Object.assign(new Error(`ENOTDIR: ${path} is a link or a file`), { code: 'ENOTDIR' });
}

async function writeWhole(path: string, content: string | Buffer): Promise<void> {
  const temporary = join(dirname(path), temporaryName(basename(path)));
  try {
    await writeFile(temporary, content, { flag: 'wx' });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

/** A hidden name, so that readers skip files of killed processes. */
function temporaryName(name: string): string {
  return `.${name}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
}
