import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import type { Gateway } from '../../src/http/gateway.ts';
import { shedLoad } from '../../src/http/overload.ts';
import { startDaemon } from '../daemon.ts';

it('answers 503 while the process has more memory than it may, but not to whoever watches it', async () => {
  // No daemon fits into this.
  const daemon = await startDaemon({
    config: { overload: { memory: '64MB' }, limits: { paid: { rpm: 1_000_000 } } },
  });
  let refused: Response;
  // It looks at itself once a second.
  do refused = await daemon.request('/v1/account');
  while (refused.status === 200);
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refused.json()).toEqual({
    error: {
      type: 'service_error',
      message: 'the server is overloaded',
      param: null,
      code: 'overloaded',
    },
  });
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    expect((await daemon.request(path)).status, path).toBe(200);
  }
});

it('takes a second in which nothing was measured for no more than a second of delay', async () => {
  const refuses = async (eventLoopDelay: number) => {
    let refused = false;
    const server = {
      async register(
        _: unknown,
        { pressureHandler }: { pressureHandler: (...of: unknown[]) => void },
      ) {
        const request = { routeOptions: { config: {} } };
        try {
          pressureHandler(request, null, 'eventLoopDelay', Number.POSITIVE_INFINITY);
        } catch {
          refused = true;
        }
      },
    } as unknown as FastifyInstance;
    await shedLoad(server, { config: { overload: { eventLoopDelay } } } as unknown as Gateway);
    return refused;
  };
  expect([await refuses(1000), await refuses(30_000)]).toEqual([true, false]);
});
