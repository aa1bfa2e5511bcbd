import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TaskClaimer } from '../../../src/media/queue/task-claimer.ts';
import type { Store } from '../../../src/store/store.ts';
import type { StoreEvent } from '../../../src/store/store-event.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** One of many nodes on a store without tasks. */
async function nodeAmong(nodes: number) {
  const node = { searches: 0, hint: (_: StoreEvent) => {}, close: () => {} };
  const store = {
    isShared: true,
    nodes: { alive: () => nodes, rank: () => 0, isLeader: () => true, onChange: () => () => {} },
    watch(listener: (event: StoreEvent) => void) {
      node.hint = listener;
      return () => {};
    },
    expireOverdue: async () => [],
    claimOrphans: async () => [],
    async claimPending() {
      node.searches += 1;
      return [];
    },
  } as unknown as Store;
  const claimer = new TaskClaimer({
    store,
    room: () => ({ limit: 8, exceptModels: [] }),
    waiting: () => 0,
    claimed: () => {},
    expired: () => {},
    leaseLost: () => {},
  });
  await claimer.start();
  node.searches = 0;
  node.close = () => claimer.close();
  return node;
}

test.each([
  { nodes: 1, searches: 60 },
  { nodes: 3, searches: 60 },
  { nodes: 8, searches: 30 },
  { nodes: 40, searches: 6 },
  // No node searches more rarely than every 15 seconds.
  { nodes: 300, searches: 4 },
])('each of $nodes nodes searches $searches times a minute', async ({ nodes, searches }) => {
  const node = await nodeAmong(nodes);
  await vi.advanceTimersByTimeAsync(60_000);
  node.close();
  expect(node.searches).toBe(searches);
});

test.each([2, 100])('one of %i nodes answers one hint by one search, soon', async (nodes) => {
  const node = await nodeAmong(nodes);
  node.hint({ kind: 'pending' });
  await vi.advanceTimersByTimeAsync(2 * nodes);
  node.close();
  expect(node.searches).toBe(1);
});

test('a thousand hints a second are few searches of each of a hundred nodes', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const node = await nodeAmong(100);
  for (let sent = 0; sent < 1000; sent += 1) {
    node.hint({ kind: 'pending' });
    await vi.advanceTimersByTimeAsync(1);
  }
  node.close();
  // One in 99 milliseconds on average.
  expect(node.searches).toBeGreaterThan(5);
  expect(node.searches).toBeLessThan(12);
});
