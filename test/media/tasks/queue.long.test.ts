import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startDaemon } from '../../daemon.ts';
import { gate } from '../../gate.ts';
import { Client, GENERATIONS } from './client.ts';
import { mediaConfig, mediaDaemon, startProviders } from './media-daemon.ts';

const POST = 'POST /images/generations';

const media = mediaDaemon({ concurrency: 1 });

it("runs an account's only task next, however many tasks another has queued", async () => {
  const { first, client } = media();
  const [ann, bob] = await Promise.all([client(), client()]);
  const begun = gate();
  first.next(POST, { wait: begun.passed });
  const queued = [await ann.begin({ model: 'any', prompt: 'ann' })];
  await first.received(POST);
  for (let count = 1; count < 40; count += 1) {
    queued.push(await ann.begin({ model: 'any', prompt: 'ann' }));
  }
  const one = await bob.begin({ model: 'any', prompt: 'bob' });
  begun.open();
  expect(await bob.ended(one)).toMatchObject({ status: 'completed' });
  await ann.ended(queued.at(-1)!);
  const prompts = first.to(POST).map(({ json }) => json.prompt);
  expect(prompts.indexOf('bob')).toBe(1);
  expect(prompts).toHaveLength(41);
});

it('limits concurrency per provider', async () => {
  const { first, far, ann } = await media.fresh();
  far.jobs({ looks: 0, retryAfter: 0 });
  const held = gate();
  first.always(POST, { wait: held.passed });
  const ids = [await ann.begin({ model: 'any' }), await ann.begin({ model: 'any' })];
  expect(await ann.make({ model: 'far-native' })).toMatchObject({ status: 'completed' });
  expect(first.to(POST)).toHaveLength(1);
  expect((await ann.look(ids[1]!)).status).toBe('pending');
  held.open();
  for (const id of ids) expect(await ann.ended(id)).toMatchObject({ status: 'completed' });
});

it("uses a slot of the next route's provider after a failover", async () => {
  const { first, second, ann } = await media.fresh();
  const held = gate();
  first.next(POST, { status: 500, body: 'no' });
  second.next(POST, { wait: held.passed });
  const moved = await ann.begin({ model: 'either' });
  await second.received(POST);
  // The first provider's only place is free again.
  expect(await ann.make({ model: 'any' })).toMatchObject({ status: 'completed' });
  held.open();
  expect(await ann.ended(moved)).toMatchObject({ status: 'completed' });
});

interface Model {
  readonly routes: readonly { readonly provider: string }[];
}

function omit<Value>(
  values: Readonly<Record<string, Value>>,
  isOmitted: (value: Value, name: string) => boolean,
): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => !isOmitted(value, name)),
  );
}

it('applies reloaded concurrency, routes and models', async () => {
  const providers = await startProviders();
  onTestFinished(() => providers.close());
  const { first } = providers;
  const config = mediaConfig(providers, { concurrency: 2 }) as {
    readonly providers: Readonly<Record<string, object>>;
    readonly models: Readonly<Record<string, Model>>;
  };
  const daemon = await startDaemon({ config });
  const ann = await Client.of(daemon);
  const reload = async (changed: object, times: number) => {
    writeFileSync(join(daemon.data, 'oriel.yaml'), JSON.stringify(changed));
    daemon.child.kill('SIGHUP');
    const said = () =>
      daemon.log.filter(({ msg }) => msg === 'the configuration was read again').length;
    await expect.poll(said).toBe(times);
  };

  const gates = Array.from({ length: 6 }, gate);
  first.next(POST, ...gates.map(({ passed }) => ({ wait: passed })));
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) ids.push(await ann.begin({ model: 'any' }));
  const repeatable = [{ model: 'any', prompt: 'a boat' }, 'order-6'] as const;
  ids.push((await ann.post(GENERATIONS, ...repeatable)).body.task_id);
  await first.received(POST, 1);
  expect(first.to(POST)).toHaveLength(2);

  await reload({ ...config, ...(mediaConfig(providers, { concurrency: 3 }) as object) }, 1);
  await first.received(POST, 2);
  expect(first.to(POST)).toHaveLength(3);

  // With fewer slots running tasks keep theirs, and no other task starts.
  await reload(mediaConfig(providers, { concurrency: 1 }), 2);
  gates[0]!.open();
  expect(await ann.ended(ids[0]!)).toMatchObject({ status: 'completed' });
  expect(first.to(POST)).toHaveLength(3);

  // A provider, and its models, that are offered no longer.
  const without = (gone: string) => {
    const isLeft = ({ routes }: Model) => routes.every(({ provider }) => provider !== gone);
    return {
      ...config,
      providers: omit(config.providers, (_, name) => name === gone),
      models: omit(config.models, (model) => !isLeft(model)),
    };
  };
  const { models, ...others } = without('first');
  const either = {
    type: 'image',
    routes: [{ provider: 'second', model: 'upstream-image' }],
    price: { perImage: 4 },
  };
  await reload({ ...others, models: { ...models, either } }, 3);
  // The client may not have seen the answer, and repeats a request that was accepted.
  expect(await ann.post(GENERATIONS, ...repeatable)).toMatchObject({
    status: 202,
    body: { task_id: ids.at(-1) },
  });
  expect((await ann.post(GENERATIONS, repeatable[0])).status).toBe(404);
  for (const { open } of gates) open();
  const started = await Promise.all(ids.slice(0, 3).map((id) => ann.ended(id)));
  expect(started.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  expect(await ann.make({ model: 'either' })).toMatchObject({ status: 'completed' });
  // Tasks that were accepted wait for their model.
  const waiting = await Promise.all(ids.slice(3).map((id) => ann.look(id)));
  expect(waiting.map(({ status }) => status)).toEqual(['pending', 'pending', 'pending']);
  expect(first.to(POST)).toHaveLength(3);
  expect(await ann.credits()).toMatchObject({ reserved: 12, spent: 16 });

  // A provider that is gone when a task that is under way comes to it.
  await reload(config, 4);
  const resumed = await Promise.all(ids.slice(3).map((id) => ann.ended(id)));
  expect(resumed.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  const failing = gate();
  first.reset();
  first.next(POST, { wait: failing.passed, status: 500, body: 'no' });
  const id = await ann.begin({ model: 'either' });
  await first.received(POST);
  await reload(without('second'), 5);
  failing.open();
  expect(await ann.ended(id)).toMatchObject({ status: 'failed', error: { type: 'service_error' } });
  expect(daemon.log.filter(({ msg }) => msg.includes('defect'))).toEqual([]);
});
