import { createServer, type Server, type Socket } from 'node:net';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import type { RateLimitState } from '../../../src/http/limits/rate-limiter.ts';
import { type RedisError, RedisScripts } from '../../../src/http/limits/redis-scripts.ts';
import { DividedLimits } from '../../../src/http/limits/request-limits.ts';
import { SharedLimits } from '../../../src/http/limits/shared-limits.ts';
import { describeWith } from '../../engines/engine.ts';
import { setNodes } from '../../engines/nodes.ts';
import { REDIS, startRedis, type TestRedis } from '../../engines/redis.ts';

/** What one node saw of its Redis. */
interface Seen {
  answers: number;
  readonly errors: RedisError[];
  readonly lost: string[];
  returned: number;
}

interface Node {
  readonly limits: SharedLimits;
  readonly seen: Seen;
  /** Resolves at the next change from available to not, or back. */
  changed(): Promise<void>;
  close(): void;
}

interface NodeSettings {
  readonly url: string;
  readonly alive?: number;
  readonly prefix?: string;
  readonly now?: () => number;
}

/** A node's limits; the running test's end closes them. */
async function startNode({ url, alive = 2, prefix = 'test', now }: NodeSettings): Promise<Node> {
  const seen: Seen = { answers: 0, errors: [], lost: [], returned: 0 };
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
    listeners.clear();
  };
  const redis = await RedisScripts.open({
    url,
    prefix,
    observer: {
      answered: () => {
        seen.answers += 1;
      },
      failed: (error) => seen.errors.push(error),
      lost: (reason) => {
        seen.lost.push(reason);
        notify();
      },
      returned: () => {
        seen.returned += 1;
        notify();
      },
    },
  });
  onTestFinished(() => redis.close());
  const limits = new SharedLimits(redis, new DividedLimits(setNodes(alive), now), now);
  const changed = () =>
    new Promise<void>((resolve) => {
      listeners.add(resolve);
    });
  return { limits, seen, changed, close: () => redis.close() };
}

type Outcome = RateLimitState | { readonly retryAfter: number };

async function outcomeOf(take: () => RateLimitState | Promise<RateLimitState>): Promise<Outcome> {
  try {
    return await take();
  } catch (error) {
    if (error instanceof Failure) return { retryAfter: error.retryAfter! };
    throw error;
  }
}

async function acceptedOf(takes: readonly Promise<RateLimitState>[]): Promise<number> {
  const results = await Promise.allSettled(takes);
  return results.filter(({ status }) => status === 'fulfilled').length;
}

function times<Result>(count: number, make: (index: number) => Result): Result[] {
  return Array.from({ length: count }, (_, index) => make(index));
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
    expect(refused).toEqual({ retryAfter: expect.closeTo(60.5, 0) });
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

describeWith([REDIS], 'rate limits while Redis fails', () => {
  /** A Redis of the running test. */
  async function ownRedis(password?: string): Promise<TestRedis> {
    const own = await startRedis(password === undefined ? {} : { password });
    onTestFinished(() => own.close());
    return own;
  }

  test('Redis is stopped: each request waits for one timeout at most, then for none', async () => {
    const redis = await ownRedis();
    const { limits, seen, changed } = await startNode(redis);
    redis.pause();
    let sent = 0;
    const opened = changed();
    // 8 clients, each of which sends its next request when the last was answered.
    const clients = times(8, async () => {
      while (seen.lost.length === 0) {
        sent += 1;
        await limits.take('key', 100_000, true);
      }
    });
    await Promise.all([opened, ...clients]);
    expect(seen).toEqual({
      answers: 0,
      errors: times(sent, () => 'timeout'),
      lost: ['Command timed out'],
      returned: 0,
    });
    // Three rounds of the clients: the circuit opened with the third.
    expect(sent).toBe(24);
    const turn = new Promise((resolve) => setImmediate(resolve, 'later'));
    const takes = Promise.all(times(64, () => limits.take('key', 100_000, true)));
    expect(await Promise.race([takes.then(() => 'at once'), turn])).toBe('at once');
    expect(seen.errors).toHaveLength(sent);
    const closed = changed();
    redis.resume();
    await closed;
    expect(seen).toMatchObject({ lost: ['Command timed out'], returned: 1 });
    expect(limits.fault).toBeNull();
    await limits.take('key', 100_000, true);
    expect(seen.answers).toBe(1);
  });

  test('Redis is killed under load and restarted: nodes go on with shares and return', async () => {
    const redis = await ownRedis();
    const nodes = [await startNode(redis), await startNode(redis)];
    const takes: Promise<RateLimitState>[] = [];
    const send = () => {
      for (const { limits } of nodes) takes.push(limits.take('key', 100_000, true));
    };
    times(16, send);
    const opened = nodes.map(({ changed }) => changed());
    await redis.kill();
    times(16, send);
    await Promise.all(opened);
    times(16, send);
    expect(await acceptedOf(takes)).toBe(96);
    const closed = nodes.map(({ changed }) => changed());
    await redis.restart();
    await Promise.all(closed);
    for (const { limits, seen } of nodes) {
      expect(limits.fault).toBeNull();
      expect(seen).toMatchObject({ lost: [expect.any(String)], returned: 1 });
      expect(seen.errors).not.toContain('timeout');
    }
    // Its data was lost: what the nodes counted meanwhile is forgotten with it.
    expect(await nodes[0]!.limits.take('key', 10, true)).toMatchObject({ remaining: 9 });
    expect(await nodes[1]!.limits.take('key', 10, true)).toMatchObject({ remaining: 8 });
  });

  test('a node keeps to its share of what Redis accepted before it failed', async () => {
    const redis = await ownRedis();
    const { limits, changed } = await startNode(redis);
    await Promise.all(times(4, () => limits.take('key', 10, true)));
    const opened = changed();
    await redis.kill();
    await opened;
    expect(await limits.take('key', 10, true)).toMatchObject({ limit: 10, remaining: 0 });
    await expect(limits.take('key', 10, true)).rejects.toThrow('5 of them to this node');
  });

  test('a wrong password is reported without the password; the right one may have any characters', async () => {
    const redis = await ownRedis('p@ss/w:rd#1%');
    const wrong = await startNode({ url: redis.url.replace('p%40ss', 'pass') });
    expect(wrong.seen.lost).toEqual([expect.stringContaining('WRONGPASS')]);
    expect(JSON.stringify(wrong.seen)).not.toContain('w:rd');
    expect(await wrong.limits.take('key', 10, true)).toMatchObject({ limit: 10, remaining: 4 });
    const right = await startNode(redis);
    expect(right.seen.lost).toEqual([]);
    expect(await right.limits.take('key', 10, true)).toMatchObject({ remaining: 9 });
  });
});

/** Servers that are no Redis, by what they do with a connection. */
const STRANGERS: Readonly<Record<string, (socket: Socket) => void>> = {
  'answers HTTP': (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  },
  'answers nothing': () => {},
  'closes every connection': (socket) => {
    socket.destroy();
  },
  'answers OK to everything': (socket) => {
    socket.on('data', () => socket.write('+OK\r\n'));
  },
  'sends an endless line': (socket) => {
    const piece = Buffer.alloc(65_536, 'x');
    const send = () => {
      while (socket.writable && socket.write(piece));
    };
    socket.on('drain', send);
    send();
  },
};

test.each(Object.keys(STRANGERS))('a server that %s: requests get shares', async (name) => {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    STRANGERS[name]!(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const { limits, seen } = await startNode({ url: `redis://127.0.0.1:${port}` });
  expect(seen.lost).toHaveLength(1);
  expect(limits.fault).not.toBeNull();
  expect(await limits.take('key', 10, true)).toMatchObject({ limit: 10, remaining: 4 });
  expect(seen).toMatchObject({ answers: 0, returned: 0 });
});

test('no server at all: the start is not held up, and requests get shares', async () => {
  const { limits, seen } = await startNode({ url: 'redis://127.0.0.1:1' });
  expect(seen.lost).toEqual([expect.stringContaining('ECONNREFUSED')]);
  expect(await limits.take('key', 10, true)).toMatchObject({ remaining: 4 });
});
