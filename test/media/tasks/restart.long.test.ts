import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../../src/store/drivers/open.ts';
import { png } from '../media-files.ts';
import { WebhookReceiver } from '../webhook-receiver.ts';
import { GENERATIONS } from './client.ts';
import { started, succession } from './restart.ts';

const POST = 'POST /images/generations';
const NONE = { server: { grace: '0s' } };
const NEVER = { wait: new Promise(() => {}) };
const DONE = { status: 'completed', error: null };

describe('a killed daemon', () => {
  it('resumes polling of its jobs without submitting them again, sends undelivered callbacks, and fails a task after 10 crashes', async () => {
    const { first, far, next } = await succession();
    for (const provider of [first, far]) provider.jobs({ looks: 1_000_000, retryAfter: 0 });
    const receiver = await WebhookReceiver.open(() => 'hangs up');
    onTestFinished(() => receiver.close());
    const { daemon, ann } = await next();
    const task = await ann.make({ model: 'any', callback_url: receiver.url });
    const { headers } = await receiver.nth(1);
    const image = await ann.begin({ model: 'far-native', n: 2 });
    const film = await ann.begin({ model: 'film', duration: 2 }, '/v1/videos/generations');
    await Promise.all([far.received('GET /tasks/:id', 1), first.received('GET /videos/:id', 1)]);
    first.always(POST, NEVER);
    const deadly = await ann.begin({ model: 'any' });
    await first.received(POST, 1);
    await daemon.stop('SIGKILL');
    // As if it had been taken up by many more that died of it.
    const store = await openStore({ directory: join(daemon.data, 'store') });
    let claim = (await store.claimOrphans({ limit: 9 })).find(({ id }) => id === deadly);
    for (let life = 0; life < 100; life += 1) {
      await store.requeueTask(claim!);
      claim = await store.claimTask(deadly);
    }
    await store.close();
    receiver.reply = () => ({ status: 204 });
    for (const { shop } of [first, far]) {
      for (const job of shop.made.values()) Object.assign(job, { looks: 0 });
    }
    const { ann: again } = await next();
    expect(await again.ended(image)).toMatchObject(DONE);
    expect(await again.ended(film)).toMatchObject(DONE);
    expect([far.to(POST).length, first.to('POST /videos').length]).toEqual([1, 1]);
    expect(await again.ended(deadly)).toMatchObject({
      status: 'failed',
      error: { type: 'service_error', code: 'task_abandoned' },
    });
    expect(first.to(POST)).toHaveLength(2);
    expect(await again.credits()).toMatchObject({ reserved: 0, spent: 14 });
    const brought = await receiver.nth(2);
    expect(brought.headers['webhook-id']).toBe(headers['webhook-id']);
    const { secret } = (await again.ask('/v1/account/callback-secret')).body;
    const payload = WebhookReceiver.verified(secret, brought);
    expect(payload).toMatchObject({ type: 'task.completed', data: { task_id: task.task_id } });
    const callbacks = () => again.ask(`/v1/tasks/${task.task_id}/callbacks`);
    await expect.poll(async () => (await callbacks()).body.data[0].status).toBe('delivered');
  });

  it('ends tasks whose deadline has passed, and keeps those whose model is gone until then', async () => {
    const limits = { taskDeadline: '10m' };
    const { first, second, next } = await succession({ concurrency: 1, limits });
    for (const provider of [first, second]) provider.always(POST, NEVER);
    const { daemon, ann } = await next();
    const ids = [await ann.begin({ model: 'any' }), await ann.begin({ model: 'native' })];
    await first.received(POST);
    await daemon.stop('SIGKILL');
    const models = {
      either: { type: 'image', routes: [{ provider: 'second', model: 'x' }], price: {} },
    };
    const { daemon: other, ann: later } = await next({ models });
    for (const id of ids) {
      await expect.poll(async () => (await later.look(id)).status).toBe('pending');
    }
    const late = await later.begin({ model: 'either' });
    await second.received(POST);
    await other.stop('SIGKILL');
    const { ann: last } = await next({}, 11 * 60_000);
    for (const id of [...ids, late]) {
      expect(await last.ended(id)).toMatchObject({ status: 'expired', error: { type: 'timeout' } });
    }
    expect(await last.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });
});

it('a clock set back changes no ended task and extends no deadline', async () => {
  const YEAR = 365 * 86_400_000;
  const { first, next, daemon, ann } = await started({ ...NONE, limits: { taskDeadline: '8s' } });
  const done = await ann.make({ model: 'any' });
  first.always(POST, NEVER);
  const open = await ann.begin({ model: 'any' });
  await first.received(POST, 1);
  await daemon.stop('SIGKILL');
  const { ann: past } = await next({}, -YEAR);
  expect(await past.look(done.task_id)).toMatchObject({
    ...DONE,
    result: { created: done.result.created },
  });
  // Its deadline is a year away by the clock, and is over in seconds.
  expect(await past.ended(open)).toMatchObject({ status: 'expired' });
  first.reset();
  const made = await past.make({ model: 'any' });
  expect(made).toMatchObject(DONE);
  const { body } = await past.ask('/v1/tasks');
  const listed = body.data.map(({ task_id }: { task_id: string }) => task_id);
  expect(listed).toEqual([made.task_id, open, done.task_id]);
  expect(await past.credits()).toMatchObject({ reserved: 0, spent: 8 });
});

it('retention deletes tasks, their files and uploads, and nothing else', async () => {
  const { first, next, daemon, ann } = await started({ ...NONE, limits: { retention: '1h' } });
  const input = `data:image/png;base64,${png(4, 4).toString('base64')}`;
  const old = await ann.make({ model: 'any', input_images: [input] });
  const upload = (await ann.form('/v1/images/upload', [['file', png(4, 4)]])).body.url as string;
  first.always('POST /images/edits', NEVER);
  const open = await ann.begin({ model: 'any', input_images: [input] });
  await first.received('POST /images/edits', 1);
  await daemon.stop();
  const folder = join(daemon.data, 'assets');
  const files = () =>
    readdirSync(folder, { recursive: true }).filter((name) => /\.png$/.test(String(name)));
  // A result, an upload, and the input of what is open: that of what ended is gone.
  await expect.poll(() => files().length).toBe(3);

  // The deadline of what is open is over, too: it ends now, and stays for its own hour.
  const { daemon: late, ann: later } = await next({}, 2 * 3_600_000);
  const at = (url: string) => new URL(new URL(url).pathname, late.url);
  await expect.poll(files).toEqual([]);
  const { status, body } = await later.ask(`/v1/tasks/${old.task_id}`);
  expect([status, body.error.code]).toEqual([404, 'task_not_found']);
  expect((await later.ask(`/v1/tasks/${old.task_id}/callbacks`)).status).toBe(404);
  for (const url of [old.result.data[0].url, upload]) {
    expect((await fetch(at(url))).status).toBe(404);
    const refused = await later.post(GENERATIONS, {
      model: 'any',
      prompt: 'a',
      input_images: [at(url).href],
    });
    expect([refused.status, refused.body.error.code]).toEqual([400, 'asset_not_found']);
  }
  expect(await later.ended(open)).toMatchObject({ status: 'expired' });
  // What it cost stays in the books.
  expect(await later.credits()).toMatchObject({ reserved: 0, spent: 4 });
});

it('orphaned files are quarantined, unless another store may name them, and a damaged file is not served', async () => {
  const { next, daemon, ann } = await started(NONE);
  const { result } = await ann.make({ model: 'any' });
  await daemon.stop();
  const folder = join(daemon.data, 'assets');
  const known = new URL(result.data[0].url).pathname.slice('/assets/'.length);
  const { mtimeMs } = statSync(join(folder, known.slice(0, 2), known));
  const HOUR = 3_600_000;
  const [older, within, newer] = [mtimeMs - HOUR, mtimeMs, mtimeMs + HOUR].map((time, index) => {
    const name = `x${index}${'A'.repeat(41)}.png`;
    mkdirSync(join(folder, name.slice(0, 2)), { recursive: true });
    writeFileSync(join(folder, name.slice(0, 2), name), 'x');
    utimesSync(join(folder, name.slice(0, 2), name), time / 1000, time / 1000);
    return name;
  }) as [string, string, string];
  const { daemon: second, ann: again } = await next();
  const line = await second.logged('files without a record were found');
  expect(line).toMatchObject({ quarantined: 1, foreign: 2, level: 'warn' });
  const [day] = readdirSync(join(folder, 'quarantine'));
  expect(readdirSync(join(folder, 'quarantine', day!))).toEqual([within]);
  for (const name of [older, newer]) {
    expect(readdirSync(join(folder, name.slice(0, 2)))).toEqual([name]);
  }
  expect((await fetch(new URL(`/assets/${known}`, second.url))).status).toBe(200);

  const made = await again.make({ model: 'any' });
  expect(made).toMatchObject(DONE);
  const [{ url }] = made.result.data;
  expect((await fetch(url)).status).toBe(200);
  const name = new URL(url).pathname.slice('/assets/'.length);
  const path = join(folder, name.slice(0, 2), name);
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 4;
  writeFileSync(path, bytes);
  const answer = await fetch(url);
  expect(answer.status).toBe(500);
  expect(await answer.json()).toMatchObject({ error: { code: 'asset_damaged' } });
  const damage = await second.logged('a file differs from what was written');
  expect(damage).toMatchObject({ asset: name, level: 'error' });
  // Nor is it an input of something that is paid for.
  const failed = await again.make({ model: 'any', input_images: [url] });
  expect(failed).toMatchObject({
    status: 'failed',
    error: { type: 'service_error', code: 'asset_damaged' },
  });
  expect(await again.credits()).toMatchObject({ reserved: 0, spent: 8 });
});
