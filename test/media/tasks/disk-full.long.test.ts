import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { startDaemon } from '../../daemon.ts';
import { gate } from '../../gate.ts';
import { temporaryFolder } from '../../oriel.ts';
import { png } from '../media-files.ts';
import { Client, EDITS, GENERATIONS, heldTask } from './client.ts';
import { mediaConfig, mediaDaemon, startProviders } from './media-daemon.ts';
import { started, testDisk } from './restart.ts';

const POST = 'POST /images/generations';
const DONE = { status: 'completed', error: null };
const WAITS = 'a task waits for the disk of this server';
const OURS = { type: 'service_error', code: 'storage_unavailable' };
const FULL = { full: true } as const;
const WELL = {};

const assetsOf = (data: string) =>
  readdirSync(join(data, 'assets'), { recursive: true }).filter((name) => /\./.test(String(name)));

const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { env, set: disk } = testDisk(join(folder, 'disk.json'));
const media = mediaDaemon({ concurrency: 1 }, env);

describe('a full disk', () => {
  it('refuses tasks and uploads until there is space', async () => {
    const { first, daemon, ann } = await media.fresh();
    disk(FULL);
    const image = png(4, 4);
    const body = { model: 'any', prompt: 'a' };
    const asked = [
      () => ann.post(GENERATIONS, body),
      () => ann.post(`${GENERATIONS}/sync`, body),
      () => ann.post('/v1/videos/generations', { model: 'film', prompt: 'a', duration: 2 }),
      () => ann.post('/v1/audio/generations', { model: 'speech', prompt: 'a' }),
      () => ann.form(EDITS, [...Object.entries(body), ['image', image]]),
      () => ann.form('/v1/images/upload', [['file', image]]),
    ];
    for (const ask of asked) {
      const { status, headers, body } = await ask();
      expect(body).toMatchObject({ error: OURS });
      expect([status, Number(headers.get('retry-after')) > 0]).toEqual([503, true]);
    }
    expect((await ann.ask('/v1/tasks')).body.data).toEqual([]);
    expect(assetsOf(daemon.data)).toEqual([]);
    expect(first.requests).toEqual([]);
    disk(WELL);
    expect(await ann.make({ model: 'any' })).toMatchObject(DONE);
  });

  it('keeps accepted tasks waiting without a provider request', async () => {
    const { first, daemon, ann } = await media.fresh();
    const held = gate();
    first.next(POST, { wait: held.passed });
    const one = await ann.begin({ model: 'any' });
    const other = await ann.begin({ model: 'any' });
    await first.received(POST);
    disk(FULL);
    held.open();
    expect(await ann.ended(one)).toMatchObject(DONE);
    const line = expect.objectContaining({ msg: WAITS, task: other, level: 'error' });
    await expect.poll(() => daemon.log).toContainEqual(line);
    expect(first.to(POST)).toHaveLength(1);
    disk(WELL);
    expect(await ann.ended(other)).toMatchObject(DONE);
    expect(first.to(POST)).toHaveLength(2);
  });

  it('fails tasks as storage_unavailable at their deadline', async () => {
    const { first, disk, daemon, ann } = await started({ limits: { taskDeadline: '8s' } });
    const { held, id } = await heldTask(first, ann, { model: 'any' });
    disk({ fails: ['/assets/'] });
    held.open();
    await daemon.logged(WAITS);
    expect(await ann.ended(id)).toMatchObject({ status: 'failed', error: OURS });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
    expect(first.to(POST)).toHaveLength(1);
    disk(WELL);
    expect(assetsOf(daemon.data)).toEqual([]);
  });
});

describe('results that cannot be stored', () => {
  it.each([
    ['ENOSPC', '/assets/.* writeFile'],
    ['EIO', '/assets/.* sync'],
    ['EMFILE', '/assets/.* open'],
    ['ENOSPC', '/store/journal/.* (write|datasync)'],
  ])('are retried after %s of %s, and never complete in part', async (code, path) => {
    const { first, daemon, ann } = await media.fresh();
    const { held, id } = await heldTask(first, ann, { model: 'native', n: 2 });
    disk({ fails: [path], code });
    held.open();
    const line = expect.objectContaining({ msg: WAITS, task: id });
    await expect.poll(() => daemon.log).toContainEqual(line);
    disk(WELL);
    const task = await ann.ended(id);
    expect(task).toMatchObject(DONE);
    expect(task.result.data).toHaveLength(2);
    for (const { url } of task.result.data) expect((await fetch(url)).status).toBe(200);
    expect(first.to(POST)).toHaveLength(1);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 8 });
    expect(daemon.log.filter(({ msg }) => msg.includes('defect'))).toEqual([]);
  });
});

describe('a daemon that shuts down while its disk is full', () => {
  it('uses its grace for results whose files or records cannot be written, and then stops', async () => {
    const graces = ['60s', '60s', '1s'].map((grace) => ({ server: { grace } }));
    const { first, next, disk, diskFailures, ...begun } = await started(graces.shift());
    let { daemon, ann } = begun;
    for (const [round, path] of ['/assets/', '/store/journal/.* (write|datasync)'].entries()) {
      const { held, id } = await heldTask(first, ann, { model: 'any' });
      await first.received(POST, round);
      disk({ fails: [path] });
      held.open();
      await daemon.logged(WAITS);
      const ended = daemon.stop();
      await daemon.logged('draining');
      await diskFailures(2);
      disk(WELL);
      expect((await ended).status).toBe(0);
      ({ daemon, ann } = await next(graces.shift()));
      expect(await ann.look(id)).toMatchObject(DONE);
      expect(first.to(POST)).toHaveLength(round + 1);
      expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 4 * (round + 1) });
    }
    // What outlasts its grace is left to the next process.
    const { held, id } = await heldTask(first, ann, { model: 'any' });
    await first.received(POST, 2);
    disk({ fails: ['/assets/', '/store/journal/.* (write|datasync)'] });
    held.open();
    await daemon.logged(WAITS);
    expect((await daemon.stop()).status).toBe(0);
    disk(WELL);
    const { ann: again } = await next();
    expect(await again.ended(id)).toMatchObject(DONE);
  });

  it('requeues at once tasks without a provider request', async () => {
    const { first, next, disk, daemon, ann } = await started({ server: { grace: '1h' } });
    const held = gate();
    first.next(POST, { wait: held.passed, status: 429, headers: { 'retry-after': '0' }, body: '' });
    const id = await ann.begin({ model: 'either' });
    await first.received(POST);
    disk(FULL);
    held.open();
    await daemon.logged(WAITS);
    expect((await daemon.stop()).status).toBe(0);
    disk(WELL);
    const { ann: again } = await next();
    expect(await again.ended(id)).toMatchObject(DONE);
  });
});

it('accepts an upload although its spooled file cannot be removed', async () => {
  const { daemon, ann } = await media.fresh();
  disk({ fails: ['/spool/.* rm'], code: 'EIO' });
  const answer = await ann.form('/v1/images/upload', [['file', png(4, 4)]]);
  expect(answer.status).toBe(200);
  expect((await fetch(answer.body.url)).status).toBe(200);
  await daemon.logged('an upload could not be removed from the spool');
  expect(readdirSync(join(daemon.data, 'spool'))).toHaveLength(1);
  disk(WELL);
  expect((await ann.form('/v1/images/upload', [['file', png(4, 4)]])).status).toBe(200);
  expect(readdirSync(join(daemon.data, 'spool'))).toEqual([]);
});

describe('a small disk', () => {
  it.for([
    ['bytes', 'mode=700,size=32m'],
    ['names of files', 'mode=700,size=32m,nr_inodes=200'],
  ] as const)('that is out of %s loses nothing', async ([what, options], { skip }) => {
    const data = join(temporaryFolder(), 'disk');
    mkdirSync(data);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', data]);
    if (mounted.status !== 0) {
      skip(`no tmpfs can be mounted here: ${mounted.error ?? mounted.stderr}`);
    }
    onTestFinished(() => {
      spawnSync('umount', ['--lazy', data]);
    });
    const providers = await startProviders();
    onTestFinished(() => providers.close());
    const { first } = providers;
    const daemon = await startDaemon({ data, config: mediaConfig(providers) });
    const ann = await Client.of(daemon);
    const filler = join(data, 'filler');
    const fill = () => {
      mkdirSync(filler);
      try {
        for (let n = 0; ; n += 1) {
          writeFileSync(join(filler, `${n}`), what === 'bytes' ? Buffer.alloc(65_536) : '');
        }
      } catch {
        // Nothing more goes in.
      }
    };
    const { held, id } = await heldTask(first, ann, { model: 'native', n: 3 });
    fill();
    held.open();
    await daemon.logged(WAITS);
    const refused = await ann.post(GENERATIONS, { model: 'any', prompt: 'a' });
    expect([refused.status, refused.body.error.type]).toEqual([503, 'service_error']);
    rmSync(filler, { recursive: true });
    const task = await ann.ended(id);
    expect(task).toMatchObject(DONE);
    expect(task.result.data).toHaveLength(3);
    expect(first.to(POST)).toHaveLength(1);
    expect(await ann.make({ model: 'any' })).toMatchObject(DONE);
  });
});
