import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { RateLimitState } from '../../../src/http/limits/rate-limiter.ts';
import { describeWith } from '../../engines/engine.ts';
import { REDIS, startRedis, type TestRedis } from '../../engines/redis.ts';
import { listening } from '../../fixtures/server.ts';
import { acceptedOf, startNode, times } from './node.ts';

describeWith([REDIS], 'rate limits while Redis fails', () => {
  /** A Redis of the running test. */
  async function ownRedis(password?: string): Promise<TestRedis> {
    const own = await startRedis(password === undefined ? {} : { password });
    onTestFinished(() => own.close());
    return own;
  }

  test('Redis is stopped: each request waits for one timeout at most, then for none', async () => {
    const redis = await ownRedis();
    const { limits, seen, changed } = await startNode({ ...redis, maxWaitMs: 300 });
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

test.skipIf(REDIS.program === null)(
  'a certificate that is not trusted opens the circuit',
  async () => {
    const redis = await startRedis({ tls: true });
    onTestFinished(() => redis.close());
    const { seen } = await startNode(redis);
    // Later versions of Node add what to do.
    expect(seen.lost).toEqual([expect.stringMatching(/^self-signed certificate/)]);
  },
);

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
  const server = createServer((socket) => STRANGERS[name]!(socket.on('error', () => {})));
  const url = (await listening(server)).replace('http:', 'redis:');
  const { limits, seen } = await startNode({ url });
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
