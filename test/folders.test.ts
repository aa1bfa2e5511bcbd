import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolders } from '../src/folders.ts';
import { temporaryFolder } from './oriel.ts';

it('makeFolders creates missing folders and returns the topmost new one', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'a/b/c');
  expect(await makeFolders(path, 0o700)).toBe(join(folder, 'a'));
  expect(statSync(path).mode & 0o777).toBe(0o700);
  expect(await makeFolders(path)).toBeUndefined();
  expect(await makeFolders(`${path}/../d/`)).toBe(`${path}/../d/`);
});

it('makeFolders succeeds when other calls create the same folder concurrently', async () => {
  const path = join(temporaryFolder(), 'a/b/c/d');
  await Promise.all(Array.from({ length: 16 }, () => makeFolders(path)));
  expect(statSync(path).isDirectory()).toBe(true);
});

it('makeFolders follows a link to a folder and rejects files and dangling links', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'real'));
  writeFileSync(join(folder, 'file'), '');
  symlinkSync('real', join(folder, 'link'));
  symlinkSync('nowhere', join(folder, 'dangling'));
  await makeFolders(join(folder, 'link/below'));
  expect(statSync(join(folder, 'real/below')).isDirectory()).toBe(true);
  for (const name of ['file', 'file/below', 'dangling', 'dangling/below']) {
    await expect(makeFolders(join(folder, name))).rejects.toMatchObject({ code: 'EEXIST' });
  }
});

it('makeFolders calls mkdir once for each folder that cannot be created', async () => {
  const tried: string[] = [];
  const make = async (path: unknown) => {
    tried.push(String(path));
    throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
  };
  const folder = temporaryFolder();
  const failed = makeFolders(join(folder, 'a/b'), 0o777, make as never);
  await expect(failed).rejects.toMatchObject({ code: 'ENOENT' });
  expect(tried).toEqual([join(folder, 'a')]);
});
