import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startDaemon } from '../../daemon.ts';
import { gate } from '../../gate.ts';
import { png } from '../media-files.ts';
import { Client, EDITS, GENERATIONS, heldTask } from './client.ts';
import { mediaConfig, startProviders } from './media-daemon.ts';

const POST = 'POST /images/generations';
const NEVER = { wait: new Promise(() => {}) };

async function freshDaemon(changes: Parameters<typeof mediaConfig>[1] = {}) {
  const providers = await startProviders();
  onTestFinished(() => providers.close());
  const daemon = await startDaemon({ config: mediaConfig(providers, changes) });
  return { ...providers, daemon, ann: await Client.of(daemon) };
}

it('accepts as many open tasks as the account may have, however many requests race', async () => {
  const { first, ann } = await freshDaemon({ limits: { paid: { rpm: 1_000_000, tasks: 5 } } });
  first.always(POST, NEVER);
  first.always('POST /images/edits', NEVER);
  const answers = await Promise.all([
    ...Array.from({ length: 40 }, () => ann.post(GENERATIONS, { model: 'any', prompt: 'a' })),
    ...Array.from({ length: 40 }, () =>
      ann.post(GENERATIONS, {
        model: 'any',
        prompt: 'a',
        input_images: [`data:image/png;base64,${png(4, 4).toString('base64')}`],
      }),
    ),
  ]);
  const accepted = answers.filter(({ status }) => status === 202);
  expect(accepted).toHaveLength(5);
  for (const { status, headers, body } of answers) {
    if (status === 202) continue;
    expect([status, body.error.type, body.error.code]).toEqual([
      429,
      'rate_limit',
      'too_many_tasks',
    ]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect((await ann.ask('/v1/tasks')).body.data).toHaveLength(5);
  expect(await ann.credits()).toMatchObject({ reserved: 20 });
  const sync = await ann.form(EDITS, [
    ['model', 'any'],
    ['prompt', 'a'],
    ['image', png(4, 4)],
  ]);
  expect([sync.status, sync.body.error.code]).toEqual([429, 'too_many_tasks']);
});

it('accepts the next task when one has ended, and does not count repeated requests', async () => {
  const { first, ann } = await freshDaemon({ limits: { paid: { rpm: 1_000_000, tasks: 1 } } });
  const held = gate();
  first.next(POST, { wait: held.passed });
  const body = { model: 'any', prompt: 'a' };
  const { body: created } = await ann.post(GENERATIONS, body, 'key');
  expect((await ann.post(GENERATIONS, body)).status).toBe(429);
  const repeat = await ann.post(GENERATIONS, body, 'key');
  expect([repeat.status, repeat.body.task_id]).toEqual([202, created.task_id]);
  held.open();
  await ann.ended(created.task_id);
  expect((await ann.post(GENERATIONS, body)).status).toBe(202);
});

it.each([
  ['lower', 1],
  ['higher', 9],
])('charges the price of the reservation when a reload sets a %s one', async (_, price) => {
  const { first, daemon, ann, ...others } = await freshDaemon({ concurrency: 1 });
  const { held, id: working } = await heldTask(first, ann, { model: 'native', n: 2 });
  const waiting = await ann.begin({ model: 'native', n: 3 });
  const film = await ann.begin({ model: 'film', duration: 2 }, '/v1/videos/generations');
  expect(await ann.credits()).toMatchObject({ reserved: 22 });
  const config = mediaConfig({ first, ...others }, { concurrency: 1 }) as {
    models: Record<string, object>;
  };
  config.models['native'] = { ...config.models['native'], price: { perImage: price } };
  config.models['film'] = { ...config.models['film'], price: { perVideo: price } };
  writeFileSync(join(daemon.data, 'oriel.yaml'), JSON.stringify(config));
  daemon.child.kill('SIGHUP');
  await daemon.logged('the configuration was read again');
  // Two of three are delivered: the third is released at the price at which it was reserved.
  const image = { b64_json: png(8, 8).toString('base64') };
  first.next(POST, { body: { created: 1, data: [image, image] } });
  first.jobs({ looks: 0, retryAfter: 0 });
  held.open();
  for (const id of [working, waiting, film]) await ann.ended(id);
  const charges = async (id: string) =>
    (await ann.ledger(id)).filter(([type]) => type !== 'reserve');
  expect(await charges(working)).toEqual([['charge', 8]]);
  expect(await charges(waiting)).toEqual([
    ['charge', 8],
    ['release', 4],
  ]);
  expect(await charges(film)).toEqual([['charge', 2]]);
  expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 18 });
});
