import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import type { RateLimitState } from '../../../src/http/limits/rate-limiter.ts';
import { DividedLimits } from '../../../src/http/limits/request-limits.ts';
import { describeWith } from '../../engines/engine.ts';
import { setNodes } from '../../engines/nodes.ts';
import { REDIS, startRedis, type TestRedis } from '../../engines/redis.ts';
import { acceptedOf, startNode, times } from './node.ts';

type Outcome = RateLimitState | { readonly retryAfter: number };

async function outcomeOf(take: () => RateLimitState | Promise<RateLimitState>): Promise<Outcome> {
  try {
    return await take();
  } catch (error) {
    if (error instanceof Failure) return { retryAfter: error.retryAfter! };
    throw error;
  }
}

describeWith([REDIS], 'rate limits shared by Redis', () => {
  let redis: TestRedis;
  let client: Redis;

  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.url);
  });
  afterAll(async () => {
    client.disconnect();
    await redis.close();
  });

  test('two nodes with 64 requests at once accept exactly the limit', async () => {
    const nodes = [await startNode(redis), await startNode(redis)];
    const takes = times(64, (index) => nodes[index % 2]!.limits.take('burst', 40, true));
    expect(await acceptedOf(takes)).toBe(40);
    const refused = await outcomeOf(() => nodes[0]!.limits.take('burst', 40, true));
    expect(refused).toEqual({ retryAfter: expect.closeTo(59.5, 0) });
    expect(nodes.map(({ seen }) => seen)).toEqual([
      { answers: 33, errors: [], lost: [], returned: 0 },
      { answers: 32, errors: [], lost: [], returned: 0 },
    ]);
  });

  test('answers equal those of the local limiter for random series of requests', async () => {
    let now = 0;
    let series = 0;
    const shared = await startNode({ ...redis, now: () => now });
    const request = fc.record({
      gap: fc.oneof(fc.constant(0), fc.integer({ max: 3000 }), fc.integer({ max: 70_000 })),
      counts: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { maxLength: 60 }),
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 3 }),
        async (requests, limits) => {
          series += 1;
          const local = new DividedLimits(setNodes(1), () => now);
          for (const [index, { gap, counts }] of requests.entries()) {
            now += Math.max(0, gap);
            // The operator may change the limit of a key at any time.
            const limit = limits[index % limits.length]!;
            const key = `series ${series}`;
            expect(await outcomeOf(() => shared.limits.take(key, limit, counts))).toEqual(
              await outcomeOf(() => local.take(key, limit, counts)),
            );
          }
        },
      ),
      { numRuns: 40 },
    );
    expect(shared.seen.errors).toEqual([]);
  });

  test("the clock is that of Redis, and counts of a clock that was set back don't block", async () => {
    const one = await startNode(redis);
    expect(await one.limits.take('clock', 3, true)).toMatchObject({ limit: 3, remaining: 2 });
    const [key] = await client
      .keys('test:key:*')
      .then((keys) =>
        Promise.all(keys.map(async (name) => [name, await client.hlen(name)] as const)).then(
          (sizes) => sizes.filter(([, size]) => size === 1).map(([name]) => name),
        ),
      );
    const [seconds] = await client.time();
    await client.hset(key!, String(Number(seconds) + 3600), 3);
    expect(await outcomeOf(() => one.limits.take('clock', 3, false))).not.toHaveProperty(
      'retryAfter',
    );
  });

  test('names are hashes, and every key expires within 61 seconds', async () => {
    const { limits } = await startNode({ ...redis, prefix: 'expiry' });
    await limits.take('secret-identifier', 3, true);
    await limits.countInvalidKey('192.0.2.1', 3);
    const keys = (await client.keys('expiry:*')).toSorted();
    expect(keys).toEqual([
      expect.stringMatching(/^expiry:key:[\w-]{43}$/),
      expect.stringMatching(/^expiry:network:[\w-]{43}$/),
      'expiry:probe',
    ]);
    for (const key of keys) {
      expect([key, await client.ttl(key)]).toEqual([key, expect.closeTo(60, -1)]);
    }
  });

  test('invalid keys of an address are counted for all nodes', async () => {
    const nodes = [await startNode(redis), await startNode(redis)];
    const counts = times(12, (index) => nodes[index % 2]!.limits.countInvalidKey('192.0.2.9', 5));
    const refused = (await Promise.allSettled(counts)).filter(
      ({ status }) => status === 'rejected',
    );
    expect(refused).toHaveLength(7);
    for (const { reason } of refused as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({
        type: 'rate_limit',
        code: 'too_many_invalid_api_keys',
        retryAfter: expect.closeTo(59, -1),
      });
    }
    await expect(nodes[0]!.limits.countInvalidKey('192.0.2.10', 5)).resolves.toBeUndefined();
  });

  test('scripts that Redis forgot are loaded again within the same requests', async () => {
    const { limits, seen } = await startNode(redis);
    await client.script('FLUSH');
    const takes = times(16, () => limits.take('flushed', 10, true));
    expect(await acceptedOf(takes)).toBe(10);
    expect(seen).toEqual({ answers: 16, errors: [], lost: [], returned: 0 });
  });

  test('a user with few permissions suffices', async () => {
    const rules = ['on', '>word', '~acl:*', '+@scripting', '+hgetall', '+hdel', '+hincrby'];
    const more = ['+expire', '+pexpire', '+pttl', '+get', '+incr', '+time', '+hello'];
    await client.call('ACL', 'SETUSER', 'oriel', ...rules, ...more);
    const url = redis.url.replace('//', '//oriel:word@');
    const { limits, seen } = await startNode({ url, prefix: 'acl' });
    await limits.take('key', 2, true);
    await limits.countInvalidKey('192.0.2.1', 2);
    expect(seen).toEqual({ answers: 2, errors: [], lost: [], returned: 0 });
  });

  test('errors of Redis open the circuit, and requests get shares of the limit', async () => {
    const { limits, seen, changed } = await startNode({ ...redis, prefix: 'type' });
    await limits.take('key', 10, true);
    const [key] = await client.keys('type:key:*');
    await client.set(key!, 'not a hash');
    const opened = changed();
    // One request has counted already.
    for (let count = 0; count < 4; count += 1) {
      expect(await limits.take('key', 10, true)).toMatchObject({ limit: 10, remaining: 3 - count });
    }
    await opened;
    expect(seen).toMatchObject({
      errors: ['reply', 'reply', 'reply'],
      lost: [expect.stringContaining('WRONGTYPE')],
    });
    expect(limits.fault).toContain('limits.shared');
    await expect(limits.take('key', 10, true)).rejects.toThrow(
      'this key may send 10 requests in a minute, 5 of them to this node',
    );
  });
});
