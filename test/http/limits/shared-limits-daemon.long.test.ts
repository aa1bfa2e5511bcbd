import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../daemon.ts';
import { describeWith } from '../../engines/engine.ts';
import { REDIS, startRedis, type TestRedis } from '../../engines/redis.ts';

const PASSWORD = 'pass/word#of@redis';
const LOST =
  'the Redis of limits.shared does not answer; each node has its share of the rate limits';

describeWith([REDIS], 'a daemon with limits.shared', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis({ password: PASSWORD });
  });
  afterAll(() => redis.close());

  test('limits requests by Redis, goes on without it, and reports both', async () => {
    const daemon = await startDaemon({
      config: {
        limits: {
          paid: { rpm: 3 },
          address: { failedKeys: 1 },
          shared: redis.url.replace(encodeURIComponent(PASSWORD), `\${REDIS_PASSWORD}`),
        },
      },
      env: { REDIS_PASSWORD: encodeURIComponent(PASSWORD) },
    });
    const state = async () => {
      const { status, headers } = await daemon.request('/v1/models');
      const remaining = headers.get('x-ratelimit-remaining-requests');
      return { status, limit: headers.get('x-ratelimit-limit-requests'), remaining };
    };
    const withWrongKey = async () => {
      const headers = { authorization: 'Bearer wrong' };
      return (await fetch(`${daemon.url}/v1/models`, { headers })).status;
    };
    const ready = async () => {
      const answer = await fetch(`${daemon.url}/readyz`);
      return [answer.status, await answer.json()];
    };
    expect(await state()).toEqual({ status: 200, limit: '3', remaining: '2' });
    expect(await state()).toEqual({ status: 200, limit: '3', remaining: '1' });
    expect([await withWrongKey(), await withWrongKey()]).toEqual([401, 429]);
    await expect.poll(ready).toEqual([200, { status: 'ok' }]);
    // A request that waited 50 ms on a machine under load is an error.
    const asked = /^oriel_limits_redis_(?:duration_seconds_count|errors_total.*) (\d+)$/gm;
    const counts = [...(await daemon.metrics()).matchAll(asked)].map(([, count]) => Number(count));
    expect(counts.reduce((sum, count) => sum + count)).toBe(4);
    await expect.poll(() => daemon.metrics()).toContain('oriel_limits_redis_available 1');

    await redis.kill();
    expect(await daemon.logged(LOST)).toMatchObject({ level: 'warn', nodes: 1 });
    expect(await state()).toEqual({ status: 200, limit: '3', remaining: '0' });
    expect(await state()).toMatchObject({ status: 429 });
    expect(await withWrongKey()).toBe(429);
    const reason = expect.stringContaining('divided among the nodes');
    const degraded = { status: 'ok', limits: { status: 'degraded', reason } };
    await expect.poll(ready).toEqual([200, degraded]);
    expect(await daemon.metrics()).toContain('oriel_limits_redis_available 0');

    await redis.restart();
    await daemon.logged('the Redis of limits.shared answers again; nodes share rate limits');
    // Its data was lost.
    expect(await state()).toEqual({ status: 200, limit: '3', remaining: '2' });
    await expect.poll(ready).toEqual([200, { status: 'ok' }]);
    const { status, stdout, stderr } = await daemon.stop();
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) {
      expect(String(stdout)).not.toContain(secret);
    }
  });

  test('TLS: a certificate of NODE_EXTRA_CA_CERTS is trusted', async () => {
    const own = await startRedis({ tls: true });
    onTestFinished(() => own.close());
    const config = { limits: { shared: own.url } };
    const daemon = await startDaemon({ config, env: { NODE_EXTRA_CA_CERTS: own.certificate } });
    await expect.poll(() => daemon.metrics()).toContain('oriel_limits_redis_available 1');
  });
});
