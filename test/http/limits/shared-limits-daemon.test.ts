import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDaemon } from '../../daemon.ts';
import { describeWith } from '../../engines/engine.ts';
import { REDIS, startRedis, type TestRedis } from '../../engines/redis.ts';
import { oriel } from '../../oriel.ts';

const PASSWORD = 'pass/word#of@redis';

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
    expect(await ready()).toEqual([200, { status: 'ok' }]);
    const metrics = await daemon.metrics();
    expect(metrics).toContain('oriel_limits_redis_available 1');
    expect(metrics).toContain('oriel_limits_redis_duration_seconds_count 4');

    await redis.kill();
    const lost = await daemon.logged(
      'the Redis of limits.shared does not answer; each node has its share of the rate limits',
    );
    expect(lost).toMatchObject({ level: 'warn', nodes: 1 });
    expect(await state()).toEqual({ status: 200, limit: '3', remaining: '0' });
    expect(await state()).toMatchObject({ status: 429 });
    expect(await withWrongKey()).toBe(429);
    const reason = expect.stringContaining('divided among the nodes');
    expect(await ready()).toEqual([200, { status: 'ok', limits: { status: 'degraded', reason } }]);
    expect(await daemon.metrics()).toContain('oriel_limits_redis_available 0');

    await redis.restart();
    await daemon.logged('the Redis of limits.shared answers again; nodes share rate limits');
    // Its data was lost.
    expect(await state()).toEqual({ status: 200, limit: '3', remaining: '2' });
    expect(await ready()).toEqual([200, { status: 'ok' }]);
    const { status, stdout, stderr } = await daemon.stop();
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) {
      expect(String(stdout)).not.toContain(secret);
    }
  });

  test('a wrong password does not appear in the log', async () => {
    const secret = 'wrong-password-of-redis';
    const url = `redis://:${secret}@127.0.0.1:${redis.port}`;
    const daemon = await startDaemon({ config: { limits: { shared: url } } });
    expect((await daemon.request('/v1/models')).status).toBe(200);
    const printed = await oriel(['config', 'print', `${daemon.data}/oriel.yaml`]);
    expect(printed.out).toContain(`redis://***@127.0.0.1:${redis.port}`);
    const { stdout, stderr } = await daemon.stop();
    expect(String(stdout)).toContain('WRONGPASS');
    expect(`${stdout}${stderr}${printed.out}`).not.toContain(secret);
  });
});
