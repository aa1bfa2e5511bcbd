import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDaemon } from '../daemon.ts';
import { describeWithPostgres } from '../engines/postgres.ts';
import { png } from '../media/media-files.ts';
import { temporaryFolder, words } from '../oriel.ts';
import { residentCommand } from '../resident.ts';

const oriel = residentCommand();

describeWithPostgres('a backup beside PostgreSQL', (server) => {
  it('fits the dump that was made before it, and says where it does not', async () => {
    const folder = temporaryFolder();
    const configure = (name: string, url: string) => {
      const file = join(folder, name);
      writeFileSync(file, JSON.stringify({ dataDir: data, store: { driver: 'postgres', url } }));
      return file;
    };
    const data = temporaryFolder();
    const { url } = server();
    const config = { store: { driver: 'postgres', url } };
    const daemon = await startDaemon({ data, config });
    const upload = async () => {
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(png(8, 8, 1))]), 'a.png');
      const answer = await daemon.request('/v1/images/upload', { method: 'POST', body: form });
      expect(answer.status).toBe(200);
    };
    const dump = (name: string) => {
      server().sql(`CREATE DATABASE ${name}`);
      const copy = `pg_dump --schema=oriel "$0" | psql --quiet --set ON_ERROR_STOP=1 "$1" > /dev/null`;
      const target = url.replace(/postgres$/, name);
      execFileSync('sh', ['-c', copy, url, target]);
      return configure(`${name}.yaml`, target);
    };
    await upload();
    const before = dump('before_backup');
    await upload();
    const backup = join(folder, 'backup');
    const own = configure('own.yaml', url);
    expect((await oriel(words`backup ${backup} --data ${data} --config ${own}`)).status).toBe(0);
    await upload();
    const after = dump('after_backup');
    await daemon.stop();

    const restore = async (args: string) => oriel(words`restore ${backup} ${args.split(' ')}`);
    const unchecked = await restore('--dry-run');
    expect([unchecked.status, unchecked.out.includes('--config compares')]).toEqual([0, true]);
    const into = join(folder, 'restored');
    const fits = await restore(`--into ${into} --config ${before}`);
    expect([fits.status, fits.stderr]).toEqual([0, '']);
    expect(fits.out).toContain('1 account, 1 key and 0 tasks; every sum agrees');
    for (const how of ['--dry-run', `--into ${into}-2`]) {
      const late = await restore(`${how} --config ${after}`);
      expect(late.status).toBe(1);
      expect(late.stderr).toMatch(/the database has records of 1 files that the backup lacks/);
    }
    rmSync(folder, { recursive: true });
  });
});
