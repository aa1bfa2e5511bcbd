import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { startDaemon } from '../../daemon.ts';
import { listening } from '../../fixtures/server.ts';

/** An upstream that takes requests and never answers; resolves with each that has arrived. */
async function hangingUpstream(): Promise<{ url: string; arrived(count: number): Promise<void> }> {
  let count = 0;
  let wake = () => {};
  const server = createServer((request) => {
    request.resume().on('end', () => {
      count += 1;
      wake();
    });
  });
  return {
    url: await listening(server),
    async arrived(wanted) {
      while (count < wanted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

it('limits the bytes of bodies that wait for an upstream, by account, and releases them', async () => {
  const upstream = await hangingUpstream();
  const daemon = await startDaemon({
    config: {
      server: { bodyLimit: '1MB' },
      overload: { bodies: '8MB' },
      providers: { slow: { kind: 'openai', baseUrl: upstream.url } },
      models: { slow: { type: 'text', routes: [{ provider: 'slow', model: 'slow' }] } },
    },
  });
  const leave = new AbortController();
  const send = (signal?: AbortSignal) =>
    daemon.send(
      '/v1/chat/completions',
      {
        model: 'slow',
        max_tokens: 1,
        messages: [{ role: 'user', content: 'x'.repeat(600_000) }],
      },
      { signal },
    );
  const open = Array.from({ length: 3 }, () => send(leave.signal).catch(() => null));
  await upstream.arrived(3);

  const refused = await send();
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({
    error: { type: 'rate_limit', code: 'too_many_large_requests' },
  });
  expect((await daemon.request('/v1/account')).status).toBe(200);

  leave.abort();
  await Promise.all(open);
  const later = new AbortController();
  const free = async (): Promise<boolean> => {
    const response = await Promise.race([
      send(later.signal).catch(() => null),
      upstream.arrived(4).then(() => null),
    ]);
    return response === null;
  };
  // The daemon notices some time later that a client has left.
  while (!(await free()));
  later.abort();
});
