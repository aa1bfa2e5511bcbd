import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isSafePath, parseManifest } from '../../src/backup/manifest.ts';
import { openOrigin } from '../../src/backup/restore.ts';
import { temporaryFolder } from '../oriel.ts';

interface Entry {
  readonly name: string;
  readonly type?: string;
  /** What the header says; the content has 4 bytes. */
  readonly size?: number;
}

/** A tar, written apart from the code under test. */
function tarOf(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ name, type = '0', size = 4 }) => {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write(size.toString(8).padStart(11, '0'), 124);
    header.write(' '.repeat(8), 148);
    header.write(type, 156);
    header.write('ustar\x0000', 257);
    const sum = header.reduce((all, byte) => all + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const content = Buffer.alloc(512);
    content.write('text');
    return [header, content];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

it.each<[string, readonly Entry[], RegExp]>([
  ['a path out of the folder', [{ name: 'a/../../etc/passwd' }], /path within the backup/],
  ['a path from the root', [{ name: '/etc/passwd' }], /path within the backup/],
  ['a file outside of the backup', [{ name: 'passwd' }], /path within the backup/],
  ['a symbolic link', [{ name: 'a/link', type: '2' }], /files alone.*type "2"/],
  ['a hard link', [{ name: 'a/link', type: '1' }], /files alone.*type "1"/],
  ['a device', [{ name: 'a/disk', type: '4' }], /files alone.*type "4"/],
  ['an entry larger than the archive', [{ name: 'a/b', size: 8 ** 10 }], /larger than the rest/],
  ['a path twice', [{ name: 'a/b' }, { name: 'a/b' }], /there twice/],
  ['no manifest', [{ name: 'a/b' }], /manifest.json: expected JSON/],
])('refuses an archive with %s', async (_, entries, message) => {
  const file = join(temporaryFolder(), 'a.tar');
  writeFileSync(file, tarOf(entries));
  await expect(openOrigin(file)).rejects.toThrow(message);
});

it.each([
  ['text', 'not a tar at all', /cut off/],
  ['an archive that was cut off', tarOf([{ name: 'a/b' }]).subarray(0, 1024), /cut off/],
])('refuses %s', async (_, content, message) => {
  const file = join(temporaryFolder(), 'a.tar');
  writeFileSync(file, content);
  await expect(openOrigin(file)).rejects.toThrow(message);
});

const file = { path: 'store/store.json', bytes: 1, sha256: 'a'.repeat(64) };
const manifest = {
  ...{ format: 'oriel-backup', version: 1, name: 'oriel-20270131T120000.000Z' },
  ...{ createdAt: '', program: '1.0.0', store: { driver: 'lowdb', id: 'a' }, files: [file] },
};

it.each<[string, object, RegExp]>([
  ['a path out of the folder', { files: [{ ...file, path: '../x' }] }, /files\.0\.path/],
  ['a path twice', { files: [file, file] }, /there twice/],
  ['a negative size', { files: [{ ...file, bytes: -1 }] }, /files\.0\.bytes/],
  ['a later version', { version: 2 }, /has version 2, and this program reads 1/],
  ['a foreign name', { name: 'oriel-..' }, /name: expected/],
])('refuses a manifest with %s', (_, change, message) => {
  expect(parseManifest(JSON.stringify(manifest), 'm')).toEqual(manifest);
  expect(() => parseManifest(JSON.stringify({ ...manifest, ...change }), 'm')).toThrow(message);
});

it.each([
  ...['', '/', '/a', 'a/', 'a//b', '.', '..', './a', 'a/..', 'a/../b', 'a\\b', 'a\0b', 'a\n'],
  'a'.repeat(101),
])('takes %j for no path', (path) => {
  expect(isSafePath(path)).toBe(false);
});
