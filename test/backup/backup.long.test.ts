import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runBackup } from '../../src/backup/run.ts';
import { openLowdbStore } from '../../src/store/drivers/lowdb/open.ts';
import { UpstreamClient } from '../../src/upstream/client.ts';
import { MOCK_CREDENTIALS, MOCK_REGION, sendError, startS3Mock } from '../assets/s3/s3-mock.ts';
import { type DaemonSettings, startDaemon, type TestDaemon } from '../daemon.ts';
import { testDisk } from '../media/tasks/restart.ts';
import { start, temporaryFolder, words } from '../oriel.ts';
import { residentCommand } from '../resident.ts';
import { completionOf, owner, taskFor } from '../store/records.ts';
import { listening } from '../upstream/servers.ts';

/** Backups under load; 20 by hand. The first kill finds no former backup, the second kills the daemon, the third finds two. */
const ROUNDS = Number(process.env['ORIEL_BACKUPS'] ?? 3);

const oriel = residentCommand();

const backups = (place: string) =>
  (existsSync(place) ? readdirSync(place) : [])
    .filter((name) => /^oriel-\d{8}T\d{6}\.\d{3}Z$/.test(name))
    .toSorted();

/** Restores and audits a backup. @returns the folder */
async function restored(from: string, env = {}): Promise<string> {
  const into = join(temporaryFolder(), 'restored');
  const run = await oriel(words`restore ${from} --into ${into} --json`, { env });
  expect([run.status, run.stderr]).toEqual([0, '']);
  expect(JSON.parse(run.out)).toMatchObject({ faults: [], audit: { accounts: 1 } });
  return into;
}

/** Requests of several kinds until the signal, also while the daemon is killed. */
async function load(daemon: TestDaemon, done: AbortSignal): Promise<void> {
  const messages = [{ role: 'user', content: 'hello' }];
  const chat = { model: 'sandbox-chat', messages };
  const picture = { model: 'sandbox-image-any', size: '64x64' };
  const kinds = [
    ['/v1/chat/completions', chat],
    ['/v1/chat/completions', { ...chat, stream: true }],
    ['/v1/images/generations/sync', { ...picture, prompt: 'a tree' }],
    ['/v1/images/generations', { ...picture, prompt: 'a hill' }],
  ] as const;
  const worker = async (path: string, body: object) => {
    while (!done.aborted) {
      const answer = daemon.send(path, body);
      await answer.then((response) => response.arrayBuffer()).catch(() => {});
      await delay(50);
    }
  };
  await Promise.all(kinds.map(([path, body]) => worker(path, body)));
}

describe('oriel backup', () => {
  it(`survives kills of both sides under load (${ROUNDS} backups)`, async () => {
    const [data, place] = [temporaryFolder(), join(temporaryFolder(), 'backups')];
    const config = {};
    for (let round = 0; round < ROUNDS; round += 1) {
      const daemon = await startDaemon({ data, config });
      const done = new AbortController();
      const work = load(daemon, done.signal);
      await expect.poll(async () => (await daemon.metrics()).length).toBeGreaterThan(0);
      await delay(100);
      const before = backups(place);
      const running = start(words`backup ${place} --data ${data} --keep 3`);
      if (round % 2 === 0) {
        // As soon as it writes, or whenever it ends.
        const isWriting = () =>
          existsSync(place) && readdirSync(place).some((name) => name.endsWith('.partial'));
        while (!isWriting() && running.child.exitCode === null) await delay(2);
        running.child.kill('SIGKILL');
        await running.ended;
        expect(backups(place).slice(0, before.length)).toEqual(before);
        expect(await oriel(words`backup ${place} --data ${data} --keep 3`)).toMatchObject({
          status: 0,
        });
      } else {
        await delay(Math.random() * 300);
        daemon.child.kill('SIGKILL');
        expect(await running.ended).toMatchObject({ status: 0 });
      }
      done.abort();
      if (daemon.child.exitCode === null) await daemon.stop('SIGKILL');
      await work;
      if (round === 2) await restored(join(place, before.at(-1)!));
      const into = await restored(place);
      expect(backups(place).length).toBeLessThanOrEqual(3);
      if (round < ROUNDS - 1) continue;
      // Every completed task of the restored store has its file.
      const again = await startDaemon({ data: into, config });
      const { data: tasks } = (await (
        await again.request('/v1/tasks?status=completed')
      ).json()) as {
        data: readonly { id: string; result: { data: readonly { url: string }[] } }[];
      };
      expect(tasks.length).toBeGreaterThan(0);
      for (const { result } of tasks) {
        const { pathname } = new URL(result.data[0]!.url);
        expect((await again.request(pathname)).status).toBe(200);
      }
    }
  });

  it('takes the store as it is at one moment while its files and documents are replaced', async () => {
    const dataDir = temporaryFolder();
    const store = await openLowdbStore({ directory: join(dataDir, 'store'), journalLimit: 3000 });
    const { key } = await owner(store, 1_000_000_000);
    const done = new AbortController();
    const work = (async () => {
      while (!done.signal.aborted) {
        const { task } = await store.createTask(taskFor(key, { reservation: 3 }));
        const claim = (await store.claimTask(task.id))!;
        await store.completeTask(claim, completionOf({ charge: 2 }));
        await delay(1);
      }
    })();
    const document = { accountId: key.accountId, kind: 'response' as const };
    const added = { ...document, parent: null, expiresAt: null, isOpen: false, body: { turn: 0 } };
    let [changed] = await store.documents.add([{ ...added, id: 'changed' }]);
    const changes = (async () => {
      for (let turn = 1; !done.signal.aborted; turn += 1) {
        changed = await store.documents.change(changed!, { body: { turn } });
        await store.documents.add([{ ...added, id: `removed ${turn}` }]);
        await store.documents.remove({ ...document, id: `removed ${turn}` });
      }
    })();
    const upstream = new UpstreamClient();
    onTestFinished(() => upstream.close());
    const place = join(temporaryFolder(), 'backups');
    const settings = {
      ...{ dataDir, file: null, store: { driver: 'lowdb' as const, poolSize: 0, schema: '' } },
      assets: () => ({}) as never,
    } as const;
    for (let round = 0; round < 4; round += 1) {
      await runBackup(place, settings, { program: 'test', keep: 1, upstream });
      const copy = await openLowdbStore({ directory: join(await restored(place), 'store') });
      expect(await copy.documents.find({ ...document, id: 'changed' })).toBeDefined();
      await copy.close();
    }
    done.abort();
    await Promise.all([work, changes]);
    // Replaced files stay for a while, and those of deleted documents do not.
    const files = () => readdirSync(join(dataDir, 'store', 'documents'));
    expect(files().length).toBeGreaterThan(1);
    await store.documents.remove({ ...document, id: 'changed' });
    expect(files()).toEqual([]);
    await store.close();
  });

  it('links files that a former backup has, and writes one file too', async () => {
    const daemon = await startDaemon({});
    await load(daemon, AbortSignal.timeout(300));
    const { data } = daemon;
    const place = join(temporaryFolder(), 'backups');
    for (const _ of [1, 2]) await oriel(words`backup ${place} --data ${data}`);
    const [first, second] = backups(place).map((name) => join(place, name));
    const [asset] = readdirSync(join(first!, 'assets'), {
      recursive: true,
      encoding: 'utf8',
    }).filter((name) => name.includes('.'));
    const inode = (folder: string) => statSync(join(folder, 'assets', asset!)).ino;
    expect(inode(second!)).toBe(inode(first!));
    const tar = join(temporaryFolder(), 'a.tar');
    expect(await oriel(words`backup ${tar} --data ${data}`)).toMatchObject({ status: 0 });
    await restored(tar);
    await oriel(words`restore ${tar} --into ${data}`).then(({ status, stderr }) => {
      expect([status, stderr]).toEqual([1, expect.stringContaining('expected an empty folder')]);
    });
    // One flipped bit.
    const bytes = readFileSync(tar);
    bytes[bytes.indexOf('oriel-store') + 3]! ^= 1;
    writeFileSync(tar, bytes);
    expect((await oriel(words`restore ${tar} --dry-run`)).stderr).toMatch(
      /store.json: the content differs/,
    );
  });
});

describe('the schedule of the daemon', () => {
  const scheduled = async (to: string, settings: DaemonSettings) => {
    const { config, ...rest } = settings;
    const daemon = await startDaemon({
      ...rest,
      config: { ...config, backup: { to, every: '1s', keep: 2 } },
    });
    await daemon.logged('backed up');
    return daemon;
  };

  it('keeps the former backup of a full disk, and raises the alert', async () => {
    const place = join(temporaryFolder(), 'backups');
    const disk = testDisk(join(temporaryFolder(), 'disk.json'));
    const daemon = await scheduled(place, { env: disk.env });
    disk.set({ fails: ['backups/.*audit.* (write|writeFile)$'] });
    await daemon.logged('the backup failed; the former ones are unchanged');
    const former = backups(place);
    expect(former.length).toBeGreaterThan(0);
    await expect
      .poll(() => daemon.log.map(({ msg }) => msg))
      .toContainEqual(expect.stringMatching(/^A backup failed: .*ENOSPC/));
    expect(readdirSync(place)).toEqual([...['lock'], ...former]);
    await restored(place);
    disk.set({});
    await expect.poll(() => backups(place).at(-1)!, { timeout: 10_000 }).not.toBe(former.at(-1));
    await expect.poll(() => backups(place).length).toBeLessThanOrEqual(2);
  });

  it('goes on after a clock that was ahead, and keeps the backups after it', async () => {
    const place = join(temporaryFolder(), 'backups');
    const { data, stop } = await scheduled(place, {});
    await stop();
    await rename(join(place, backups(place).at(-1)!), join(place, 'oriel-20991231T000000.000Z'));
    await oriel(words`backup ${place} --data ${data} --keep 1`);
    expect(backups(place)).toEqual(['oriel-20991231T000000.001Z']);
    await scheduled(place, { data });
  });

  it('keeps the former backup in a dead bucket, and raises the alert', async () => {
    const mock = await startS3Mock(listening);
    const endpoint = { endpoint: mock.endpoint, region: MOCK_REGION, forcePathStyle: true };
    const assets = {
      driver: 's3',
      bucket: 'bucket',
      prefix: 'files',
      ...endpoint,
      ...MOCK_CREDENTIALS,
    };
    const daemon = await scheduled('s3://bucket/nightly', { config: { assets } });
    const manifests = () => [...mock.objects.keys()].filter((key) => key.endsWith('manifest.json'));
    await expect.poll(() => manifests().length).toBeGreaterThan(1);
    mock.fault = ({ key, method }, response) =>
      method === 'PUT' && /audit/.test(key) && sendError(response, 500, 'InternalError');
    await daemon.logged('the backup failed; the former ones are unchanged');
    await expect
      .poll(() => daemon.log.map(({ msg }) => msg))
      .toContainEqual(expect.stringMatching(/^A backup failed: S3: /));
    mock.fault = () => false;
    await daemon.stop();
    expect(manifests().length).toBeLessThanOrEqual(2);
    const file = join(temporaryFolder(), 'oriel.yaml');
    writeFileSync(file, JSON.stringify({ assets }));
    await restored('s3://bucket/nightly', { ORIEL_CONFIG: file });
  });
});
