import type { FileHandle } from 'node:fs/promises';
import { rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codedFailure } from '../failure.ts';
import { lockDescriptor } from '../libc.ts';
import { diskFiles, syncFolder } from '../store/files.ts';
import { invalidBackup, isSafePath, writing } from './manifest.ts';
import { copyChunks, type Target } from './target.ts';

/** Entries of a tar (POSIX ustar) begin at multiples of this many bytes. */
const BLOCK = 512;

/** Largest size that twelve octal digits state; a larger one is written in base 256. */
const MAX_OCTAL = 8 ** 11 - 1;

/** Fields of a header, by offset and length. */
const FIELDS = {
  name: [0, 100],
  mode: [100, 8],
  size: [124, 12],
  modified: [136, 12],
  checksum: [148, 8],
  magic: [257, 8],
  prefix: [345, 155],
} as const;
const TYPE = 156;

/** Entries of an archive that is read: a backup has one for each file. */
const MAX_ENTRIES = 20_000_000;

function headerOf(prefix: string, path: string, bytes: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const put = (field: keyof typeof FIELDS, text: string) => header.write(text, FIELDS[field][0]);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  put('name', path);
  put('mode', octal(0o600, 7));
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  if (bytes <= MAX_OCTAL) put('size', octal(bytes, 11));
  else {
    header[FIELDS.size[0]] = 0x80;
    header.writeBigUInt64BE(BigInt(bytes), FIELDS.size[0] + 4);
  }
  put('modified', octal(Math.floor(Date.now() / 1000), 11));
  put('checksum', ' '.repeat(8));
  header.write('0', TYPE);
  put('magic', 'ustar\x0000');
  put('prefix', prefix);
  put('checksum', `${octal(sumOf(header), 6)}\0 `);
  return header;
}

/** Sum of the bytes of a header, of which those of the sum itself count as spaces. */
function sumOf(header: Buffer): number {
  const [start, length] = FIELDS.checksum;
  return header.reduce(
    (sum, byte, at) => sum + (at >= start && at < start + length ? 0x20 : byte),
    0,
  );
}

const padding = (bytes: number) => (BLOCK - (bytes % BLOCK)) % BLOCK;

/**
 * Opens one file for a backup, which replaces a file of this name once it is whole.
 *
 * @throws Failure `store_locked` while another backup writes it
 */
export async function openTar(file: string, name: string): Promise<Target> {
  const partial = join(dirname(file), `.${basename(file)}.partial`);
  const handle = await writing(partial, () => diskFiles.open(partial, 'a+', 0o600));
  if (lockDescriptor(handle.fd) === 'taken') {
    await handle.close();
    throw codedFailure('store_locked', `${file}: another backup is being written there`);
  }
  await handle.truncate(0);
  return {
    ...{ place: file, former: null },
    reuse: async () => null,
    copy: ({ path, bytes, chunks }) =>
      writing(file, async () => {
        await handle.writeFile(headerOf(name, path, bytes));
        const written = await copyChunks(path, chunks(), (chunk) => handle.writeFile(chunk));
        await handle.writeFile(Buffer.alloc(padding(bytes)));
        return written;
      }),
    finish: () =>
      writing(file, async () => {
        await handle.writeFile(Buffer.alloc(2 * BLOCK));
        await handle.sync();
        await rename(partial, file);
        await syncFolder(diskFiles, dirname(file));
      }),
    abort: () => unlink(partial),
    prune: async () => [],
    close: () => handle.close(),
  };
}

interface TarEntry {
  readonly offset: number;
  readonly bytes: number;
}

/**
 * Finds the files of an archive, by their paths without the name of the backup.
 *
 * @throws Failure `backup_invalid` for a path with `..` or from the root, a link, and an archive that was cut off
 */
export async function readTar(file: string, handle: FileHandle): Promise<Map<string, TarEntry>> {
  const { size } = await stat(file);
  const entries = new Map<string, TarEntry>();
  const header = Buffer.alloc(BLOCK);
  const refuse = (offset: number, message: string) =>
    invalidBackup(`${file}, byte ${offset}: ${message}`);
  for (let offset = 0; ; ) {
    const { bytesRead } = await handle.read(header, 0, BLOCK, offset);
    if (bytesRead < BLOCK) throw refuse(offset, 'the archive was cut off here');
    if (header.every((byte) => byte === 0)) return entries;
    if (Number.parseInt(textIn(header, 'checksum'), 8) !== sumOf(header)) {
      throw refuse(offset, 'this is not the header of an entry');
    }
    const names = [textIn(header, 'prefix'), textIn(header, 'name')].filter((part) => part !== '');
    const path = names.join('/');
    const quoted = JSON.stringify(path.slice(0, 200));
    const type = String.fromCharCode(header[TYPE]!);
    if (type !== '0' && type !== '\0') {
      throw refuse(
        offset,
        `expected files alone, received an entry of type ${JSON.stringify(type)}: ${quoted}`,
      );
    }
    const [, inside = ''] = /^[^/]+\/(.+)$/.exec(path) ?? [];
    if (!names.every(isSafePath) || !isSafePath(inside)) {
      throw refuse(offset, `expected a path within the backup, received ${quoted}`);
    }
    const bytes = sizeIn(header);
    const start = offset + BLOCK;
    if (!(bytes >= 0 && start + bytes <= size)) {
      throw refuse(offset, `${quoted} is larger than the rest of the archive`);
    }
    if (entries.has(inside)) throw refuse(offset, `${quoted} is there twice`);
    if (entries.size >= MAX_ENTRIES) throw refuse(offset, `more than ${MAX_ENTRIES} entries`);
    entries.set(inside, { offset: start, bytes });
    offset = start + bytes + padding(bytes);
  }
}

function textIn(header: Buffer, field: keyof typeof FIELDS): string {
  const [start, length] = FIELDS[field];
  const [text = ''] = header.toString('utf8', start, start + length).split('\0');
  return text;
}

function sizeIn(header: Buffer): number {
  const [start] = FIELDS.size;
  if (header[start] === 0x80) return Number(header.readBigUInt64BE(start + 4));
  return Number.parseInt(textIn(header, 'size'), 8);
}
