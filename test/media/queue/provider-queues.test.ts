import * as v from 'valibot';
import { expect, test } from 'vitest';
import { configSchema } from '../../../src/config/settings/schema.ts';
import { ProviderQueues } from '../../../src/media/queue/provider-queues.ts';
import { setNodes } from '../../engines/nodes.ts';

/** Tasks that asked for a slot, and a function that returns the provider's numbers. */
async function queued(concurrency: number, tasks: number, nodes = setNodes()) {
  const providers = { own: { kind: 'sandbox', concurrency } };
  const config = v.parse(configSchema, { dataDir: '.', providers });
  const queues = new ProviderQueues(() => config, nodes);
  const { signal } = new AbortController();
  const slots = Array.from({ length: tasks }, () => queues.slot('account', signal));
  for (const slot of slots) void slot.moveTo('own');
  const statistics = async () => {
    await Promise.resolve();
    return [...queues.statistics()][0];
  };
  return { nodes, slots, statistics };
}

test("a provider's concurrency is divided among living nodes and follows their number", async () => {
  const { nodes, statistics } = await queued(8, 10, setNodes(3, 2));
  expect(await statistics()).toMatchObject({ limit: 2, running: 2, waiting: 8 });
  nodes.set(3, 0);
  expect(await statistics()).toMatchObject({ limit: 3, running: 3, waiting: 7 });
  nodes.set(1, 0);
  expect(await statistics()).toMatchObject({ limit: 8, running: 8, waiting: 2 });
});

test('another node starts: slots that are held stay, and none is granted above the new share', async () => {
  const { nodes, slots, statistics } = await queued(4, 6);
  await statistics();
  nodes.set(2, 0);
  expect(await statistics()).toMatchObject({ limit: 2, running: 4, waiting: 2 });
  for (const slot of slots.slice(0, 2)) slot.release();
  expect(await statistics()).toMatchObject({ running: 2, waiting: 2 });
  slots[2]!.release();
  expect(await statistics()).toMatchObject({ running: 2, waiting: 1 });
});

test('more nodes than slots: each node runs one task', async () => {
  const { statistics } = await queued(2, 3, setNodes(5, 4));
  expect(await statistics()).toMatchObject({ limit: 1, running: 1, waiting: 2 });
});
