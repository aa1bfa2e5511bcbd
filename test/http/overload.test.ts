import { expect, it } from 'vitest';
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
