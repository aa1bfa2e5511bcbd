import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkDataFolder } from '../../src/store/data-folder.ts';
import { startDaemon } from '../daemon.ts';
import { oriel, temporaryFolder } from '../oriel.ts';
import { residentCommand } from '../resident.ts';

const command = residentCommand();
const create = (data: string) => command(['accounts', 'create', 'ci', '--data', data]);
const serve = (data: string) => oriel(['serve', '--port', '0', '--data', data]);
const RENAMED = 'a new store begins; what was left of the former one was renamed';
const isRoot = process.getuid?.() === 0;

describe('the data folder', () => {
  it('is created with mode 700, with any umask', async () => {
    const umask = process.umask(0);
    try {
      const data = join(temporaryFolder(), 'a', 'data');
      expect(await create(data)).toMatchObject({ status: 0 });
      for (const folder of [data, join(data, 'store'), join(data, 'audit')]) {
        expect(statSync(folder).mode & 0o777).toBe(0o700);
      }
    } finally {
      process.umask(umask);
    }
  });

  it('is rejected if every user may write to it', async () => {
    const data = temporaryFolder();
    chmodSync(data, 0o1777);
    for (const { status, stderr } of [await create(data), await serve(data)]) {
      expect(status).not.toBe(0);
      expect(stderr).toContain('every user may write there (mode 1777)');
    }
    for (const name of ['store', 'audit', 'assets', 'spool']) {
      chmodSync(data, 0o700);
      mkdirSync(join(data, name));
      chmodSync(join(data, name), 0o702);
      const message = `${join(data, name)}: every user may write there (mode 702)`;
      await expect(checkDataFolder(data)).rejects.toThrow(message);
      chmodSync(join(data, name), 0o700);
    }
    expect(await checkDataFolder(data)).toEqual([]);
  });

  it.each([
    ['store', 'store'],
    ['all of the store but its archive', 'store/journal store/shards store/store.json'],
  ])('without %s begins no new store, unless --new-store says so', async (_, gone) => {
    const data = temporaryFolder();
    await create(data);
    const kept = join(data, 'store', 'archive', '00000001.segment');
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(kept, 'tasks');
    for (const name of gone.split(' ')) rmSync(join(data, name), { recursive: true });
    for (const { status, stderr } of [await create(data), await serve(data)]) {
      expect(status).not.toBe(0);
      expect(stderr).toContain('the store is missing');
      expect(stderr).toContain('--new-store');
    }
    const anew = await startDaemon({ data, args: ['--new-store'] });
    const former = String((await anew.logged(RENAMED))['former']);
    expect(existsSync(join(data, `audit.${former}`))).toBe(true);
    if (gone !== 'store') {
      // The flag means nothing where there is a store.
      await anew.stop();
      await startDaemon({ data, args: ['--new-store'] });
      expect(readdirSync(data).filter((name) => name.startsWith('audit.'))).toHaveLength(1);
      const archive = join(data, `store/archive.${former}`);
      expect(readFileSync(join(archive, '00000001.segment'), 'utf8')).toBe('tasks');
    }
  });

  it('is named in the log if a group or another user may write to it', async () => {
    const data = temporaryFolder();
    mkdirSync(join(data, 'store'), { mode: 0o700 });
    chmodSync(data, 0o2770);
    if (isRoot) chownSync(join(data, 'store'), 4242, 4242);
    const daemon = await startDaemon({ data });
    const named = daemon.log
      .filter(({ msg }) => msg === 'others may write in the data folder')
      .map(({ folder }) => String(folder));
    expect(named).toContainEqual(expect.stringMatching(/group \d+ may write there \(mode 2770\)$/));
    if (isRoot) expect(named).toContainEqual(expect.stringContaining('belongs to user 4242'));
  });
});
