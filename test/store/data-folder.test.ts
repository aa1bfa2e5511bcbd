import { chmodSync, chownSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkDataFolder } from '../../src/store/data-folder.ts';
import { startDaemon } from '../daemon.ts';
import { oriel, temporaryFolder } from '../oriel.ts';

const create = (data: string, name = 'ci') => oriel(['accounts', 'create', name, '--data', data]);
const serve = (data: string) => oriel(['serve', '--port', '0', '--data', data]);
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
