import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolders } from '../src/folders.ts';
import { temporaryFolder } from './oriel.ts';

it('makes what is missing and tells the topmost folder of it', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'a/b/c');
  expect(await makeFolders(path, 0o700)).toBe(join(folder, 'a'));
  expect(statSync(path).mode & 0o777).toBe(0o700);
  expect(await makeFolders(path)).toBeUndefined();
  expect(await makeFolders(`${path}/../d/`)).toBe(`${path}/../d/`);
});

it('makes a folder that others make at the same time', async () => {
  const path = join(temporaryFolder(), 'a/b/c/d');
  await Promise.all(Array.from({ length: 16 }, () => makeFolders(path)));
  expect(statSync(path).isDirectory()).toBe(true);
});

it('follows a link to a folder and refuses what is none', async () => {
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

it('tries each folder once where the file system takes none', async () => {
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
