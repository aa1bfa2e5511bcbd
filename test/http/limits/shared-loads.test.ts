import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Failure } from '../../../src/failure.ts';
import type { ActiveLoad, LoadLimit } from '../../../src/http/limits/load-limits.ts';
import { describeWith } from '../../engines/engine.ts';
import { REDIS, startRedis, type TestRedis } from '../../engines/redis.ts';
import { startNode, times } from './node.ts';

const BOTH = { input: 3, output: 4 };

async function begun(
  requests: readonly (ActiveLoad | Promise<ActiveLoad>)[],
): Promise<readonly ActiveLoad[]> {
  const results = await Promise.allSettled(requests);
  return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
}

describeWith([REDIS], 'limits of loads over nodes', () => {
  let redis: TestRedis;
  let keys = 0;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.close());

  const limitOf = (limits: Pick<LoadLimit, 'tpm' | 'parallel'>): LoadLimit => {
    keys += 1;
    return { id: `key_${keys}`, holder: 'key', ...limits };
  };
  /** Two nodes with one clock. */
  const nodes = async (now?: () => number) => {
    const settings = { url: redis.url, ...(now && { now }) };
    return [await startNode(settings), await startNode(settings)] as const;
  };

  it.each([
    ['requests at once', { parallel: 7, tpm: null }, 7],
    ['tokens', { parallel: null, tpm: 75 }, 10],
    ['both', { parallel: 12, tpm: 75 }, 10],
  ])('hold exactly for 1,000 requests: %s', async (_, limits, accepted) => {
    const both = await nodes();
    const limit = limitOf(limits);
    for (let round = 0; round < 2; round += 1) {
      const active: ActiveLoad[] = [];
      // Not all at once: a machine under load would let commands time out.
      for (let wave = 0; wave < 10; wave += 1) {
        const wanted = times(100, (index) => both[index % 2]!.limits.loads.begin(limit, BOTH));
        active.push(...(await begun(wanted)));
      }
      expect(active).toHaveLength(accepted);
      // The next round gets all of it.
      for (const one of active) one.end(0);
    }
  });

  it('count what was used for a minute, also on the other node', async () => {
    let now = 1_700_000_000_000;
    const [one, other] = await nodes(() => now);
    const limit = limitOf({ parallel: null, tpm: 100 });
    const active = await one.limits.loads.begin(limit, { input: 10, output: 90 });
    const begin = async () => other.limits.loads.begin(limit, { input: 30, output: 0 });
    await expect(begin()).rejects.toMatchObject({ param: 'tpm', retryAfter: 1 });
    active.end(80);
    const wait = () => begin().catch(({ retryAfter }: Failure) => retryAfter);
    await expect.poll(wait).toBe(59.75);
    now += 59_750;
    expect((await begin()).remaining).toBe(70);
  });

  it('are free again after a node has died, and not while it lives', async () => {
    let now = 1_700_000_000_000;
    const [dead, other] = await nodes(() => now);
    const limit = limitOf({ parallel: 1, tpm: 50 });
    await dead.limits.loads.begin(limit, BOTH);
    const begin = () => other.limits.loads.begin(limit, BOTH);
    now += 19_999;
    await expect(begin()).rejects.toMatchObject({ param: 'parallel' });
    now += 1;
    const active = await begin();
    active.leave();
    await (await begin()).end(0);
    active.end(7);
  });

  it('go on without Redis by shares, and count for all nodes again after it', async () => {
    const both = await nodes();
    const [one, other] = both;
    const limit = limitOf({ parallel: 4, tpm: null });
    const before = await begun(times(2, () => one.limits.loads.begin(limit, BOTH)));
    await redis.kill();
    await Promise.all(both.map((node) => expect.poll(() => node.seen.lost.length).toBe(1)));
    // Its share of two is taken by the requests from before.
    await expect(begun([one.limits.loads.begin(limit, BOTH)])).resolves.toEqual([]);
    const own = await begun(times(3, () => other.limits.loads.begin(limit, BOTH)));
    expect(own).toHaveLength(2);
    await redis.restart();
    await Promise.all(both.map((node) => expect.poll(() => node.seen.returned).toBe(1)));
    for (const active of [...before, ...own]) active.end(7);
    const again = await begun(
      times(9, (index) => both[index % 2]!.limits.loads.begin(limit, BOTH)),
    );
    expect(again).toHaveLength(4);
    for (const active of again) active.end(7);
  });
});
