import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import { contentBelow } from '../../cli/folder.ts';
import { startDaemon } from '../../daemon.ts';
import { until } from '../../fixtures/until.ts';
import { temporaryFolder } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { hookedFiles, systemError } from '../hooked-files.ts';

const command = residentCommand();

interface Fixture {
  readonly key: string;
  /** Path of the image that was made. */
  readonly asset: string;
  /** Tasks that were open when the daemon was killed. */
  readonly tasks: readonly string[];
  /** Credits of the account at that time. */
  readonly reserved: number;
  readonly spent: number;
}

/** Data folders that former versions wrote, made by make-fixture.mjs, the oldest first. */
const ARCHIVES = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.tar.br'));

/** The first and the last archive of each format of the store; those between are opened and audited. */
const ENDS = [
  '2026-11-21-9299bfc',
  '2026-11-22-0fb7b38e',
  '2026-11-23-6956fe8b',
  '2026-11-24-9face37e',
].map((name) => `${name}.tar.br`);
const SERVED = ARCHIVES.filter((name) => ENDS.includes(name) || name === ARCHIVES.at(-1));

/** Unpacks the data folder of a former version. */
function unpack(archive: string): Fixture & { readonly data: string } {
  const folder = temporaryFolder();
  const tar = brotliDecompressSync(readFileSync(join(import.meta.dirname, archive)));
  execFileSync('tar', ['-x', '--no-same-owner', '-C', folder], { input: tar });
  const fixture: Fixture = JSON.parse(readFileSync(join(folder, 'fixture.json'), 'utf8'));
  return { ...fixture, data: join(folder, 'data') };
}

/** Content of a store but for its lock. */
function storeIn(folder: string): Map<string, string> {
  const content = contentBelow(folder);
  content.delete('lock');
  return content;
}

/** The copies of former stores in a data folder. */
function copiesIn(data: string): string[] {
  return readdirSync(data).filter((name) => name.startsWith('store.'));
}

async function audited(data: string): Promise<void> {
  const audit = await command(['store', 'audit', '--data', data]);
  expect(audit, audit.stderr).toMatchObject({ status: 0 });
}

/** Tasks of a fixture are past their deadline, unless it was made within the hour. */
const ENDED = ['completed', 'expired'];

it.each(SERVED)('a daemon ends and settles what a former version began: %s', async (archive) => {
  const { data, key, asset, tasks, reserved, spent } = unpack(archive);
  expect(reserved).toBeGreaterThan(0);
  const former = storeIn(join(data, 'store'));
  const { request, stop } = await startDaemon({ data });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  let charged = 0;
  for (const task of tasks) {
    let status = '';
    await until(async () => {
      const answer = await request(`/v1/tasks/${task}`, { headers });
      expect(answer.status).toBe(200);
      status = ((await answer.json()) as { status: string }).status;
      return ENDED.includes(status);
    });
    if (status === 'completed') charged = reserved;
  }
  expect((await request(asset)).status).toBe(200);
  const body = JSON.stringify({ model: 'sandbox-image-any', prompt: 'a lamp', size: '64x64' });
  const made = await request('/v1/images/generations/sync', { method: 'POST', headers, body });
  expect(made.status).toBe(200);
  charged += 0.02;
  await stop();
  await audited(data);
  const { out } = await command(['accounts', 'list', '--data', data, '--json']);
  const { accounts } = JSON.parse(out) as { accounts: { name: string }[] };
  const account = accounts.find(({ name }) => name === 'builds');
  const credits = { reserved: 0, spent: expect.closeTo(spent + charged, 9) };
  expect(account).toMatchObject({ credits });
  // Whoever has to go back finds the store as the former version left it.
  for (const copy of copiesIn(data)) expect(storeIn(join(data, copy))).toEqual(former);
});

it.each(ARCHIVES.filter((name) => !SERVED.includes(name)))(
  'a store of a former version is sound: %s',
  async (archive) => audited(unpack(archive).data),
);

it('a store is not upgraded while the disk has no room for its copy', async () => {
  const { data } = unpack(ARCHIVES[0]!);
  const directory = join(data, 'store');
  const former = storeIn(directory);
  const files = hookedFiles((operation, path) => {
    if (operation === 'sync' && path.includes('.version-1.new')) throw systemError('ENOSPC');
  });
  await expect(openLowdbStore({ directory, files })).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('ENOSPC'),
  });
  expect(storeIn(directory)).toEqual(former);
  const store = await openLowdbStore({ directory });
  await store.close();
  expect(copiesIn(data)).toEqual(['store.version-1']);
  expect(storeIn(join(data, 'store.version-1'))).toEqual(former);
});
