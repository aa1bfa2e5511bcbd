import { expect, it, onTestFinished } from 'vitest';
import { WebhookReceiver } from '../webhook-receiver.ts';
import { GENERATIONS } from './client.ts';
import { mediaDaemon } from './media-daemon.ts';

const media = mediaDaemon({ limits: { taskDeadline: '4s' }, concurrency: 1 });
const roomy = mediaDaemon({ limits: { taskDeadline: '4s' }, concurrency: 100 });
const POST = 'POST /images/generations';
const NEVER = { wait: new Promise(() => {}) };

const EXPIRED = {
  status: 'expired',
  result: null,
  error: { type: 'timeout', code: 'task_expired', message: expect.any(String) },
};

it('expires a task whose provider does not respond, and aborts the request', async () => {
  const { first, ann } = await media.fresh();
  first.always(POST, NEVER);
  const id = await ann.begin({ model: 'native' });
  const { closed } = await first.received(POST);
  expect(await ann.ended(id)).toMatchObject(EXPIRED);
  expect(await closed).toBe('cut');
  expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0, available: 1000 });
  expect(await ann.ledger(id)).toEqual([
    ['reserve', 4],
    ['release', 4],
  ]);
});

it('expires all of many tasks, whichever timer fires first', async () => {
  const { first, ann } = await roomy.fresh();
  first.always(POST, NEVER);
  const ids: string[] = [];
  for (let count = 0; count < 24; count += 1) ids.push(await ann.begin({ model: 'native' }));
  for (const id of ids) expect(await ann.ended(id)).toMatchObject(EXPIRED);
  expect(first.to(POST).length).toBeGreaterThan(0);
});

it('expires tasks that wait for a slot', async () => {
  const { first, ann } = await media.fresh();
  first.always(POST, NEVER);
  const ids = await Promise.all(Array.from({ length: 6 }, () => ann.begin({ model: 'native' })));
  for (const id of ids) expect(await ann.ended(id)).toMatchObject(EXPIRED);
  // The next may come to its place in the moment between the ends of two.
  expect(first.to(POST).length).toBeLessThan(6);
  expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  first.reset();
  // A machine under load may miss the deadline of one.
  await expect.poll(async () => (await ann.make({ model: 'native' })).status).toBe('completed');
});

it('expires a task during polling, and one during a download', async () => {
  const { far, first, ann } = await media.fresh();
  far.jobs({ looks: 1000, retryAfter: 0 });
  first.images('url');
  first.always('GET /files/:id', NEVER);
  const [looked, fetched] = [
    await ann.begin({ model: 'far-native' }),
    await ann.begin({ model: 'native' }),
  ];
  expect(await ann.ended(looked)).toMatchObject(EXPIRED);
  expect(await ann.ended(fetched)).toMatchObject(EXPIRED);
  expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
});

it('answers waiting clients and sends the callback', async () => {
  const { first, ann } = await media.fresh();
  first.always(POST, NEVER);
  const receiver = await WebhookReceiver.open();
  onTestFinished(() => receiver.close());
  const { status, body } = await ann.post(`${GENERATIONS}/sync`, {
    model: 'native',
    prompt: 'a',
    callback_url: receiver.url,
  });
  expect(status).toBe(504);
  expect(body.error).toMatchObject({ type: 'timeout', code: 'task_expired' });
  const { secret } = (await ann.ask('/v1/account/callback-secret')).body;
  const callback = WebhookReceiver.verified(secret, await receiver.nth(1)) as {
    type: string;
    data: { task_id: string };
  };
  expect(callback).toMatchObject({ type: 'task.expired', data: EXPIRED });
  expect(callback.data).toEqual(await ann.look(callback.data.task_id));
});
