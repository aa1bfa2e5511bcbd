import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { configSchema } from '../../../src/config/settings/schema.ts';
import { OWNER_KEY, sharedDaemon } from '../../daemon.ts';
import { imageOf, manualPool } from '../manual-pool.ts';
import { startServer } from '../test-server.ts';

const PAGE = 'https://app.example.com';

const PREFLIGHT = {
  origin: PAGE,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
};

const CHAT = JSON.stringify({
  model: 'sandbox-chat',
  stream: true,
  messages: [{ role: 'user', content: 'Hi' }],
});

describe('server.cors with a list of origins', () => {
  const daemon = sharedDaemon({
    config: {
      server: { cors: { origins: [PAGE, 'app://obsidian.md'], maxAge: '10m' }, bodyLimit: '1KB' },
      limits: { paid: { rpm: 9 } },
    },
  });
  const ask = (path: string, init: RequestInit = {}) => fetch(`${daemon().url}${path}`, init);

  it('answers preflight requests without a key, on every path and uncounted', async () => {
    for (const path of ['/v1/chat/completions', '/v1/models/a/b', '/api/free/nothing']) {
      for (let count = 0; count < 5; count += 1) {
        const answer = await ask(path, { method: 'OPTIONS', headers: PREFLIGHT });
        expect(answer.status).toBe(204);
        expect(Object.fromEntries(answer.headers)).toMatchObject({
          'access-control-allow-origin': PAGE,
          'access-control-allow-methods': 'GET, HEAD, POST',
          'access-control-allow-headers': PREFLIGHT['access-control-request-headers'],
          'access-control-max-age': '600',
          vary: 'origin, access-control-request-headers',
        });
        expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
        expect(await answer.text()).toBe('');
      }
    }
  });

  it('refuses preflight requests of other origins, and OPTIONS that is none', async () => {
    for (const origin of ['https://evil.example', `${PAGE}.evil.example`, 'null', `${PAGE}:8443`]) {
      const headers = { ...PREFLIGHT, origin };
      const answer = await ask('/v1/models', { method: 'OPTIONS', headers });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([
        405,
        null,
      ]);
      expect(answer.headers.get('vary')).toBe('origin');
    }
    expect((await ask('/v1/models', { method: 'OPTIONS', headers: { origin: PAGE } })).status).toBe(
      405,
    );
    expect((await ask('/v1/models', { method: 'OPTIONS' })).status).toBe(405);
  });

  it('lets pages read answers, streams and errors of every kind', async () => {
    const key = `Bearer ${OWNER_KEY}`;
    const json = { 'content-type': 'application/json' };
    const post = (authorization: string, body: RequestInit['body'], more: object = json) => ({
      method: 'POST',
      body: body!,
      headers: { origin: PAGE, authorization, ...more },
    });
    const form = new FormData();
    form.append('files', new Blob(['no image']), 'a.png');
    const cases: readonly (readonly [number, string, RequestInit])[] = [
      [200, '/v1/models', { headers: { origin: PAGE, authorization: key } }],
      [200, '/v1/chat/completions', post(key, CHAT)],
      [401, '/v1/models', { headers: { origin: PAGE } }],
      [400, '/%ff', { headers: { origin: PAGE } }],
      [404, '/v1/nothing', { headers: { origin: PAGE } }],
      [405, '/v1/models', post(key, CHAT)],
      [400, '/v1/chat/completions', post(key, '{')],
      [413, '/v1/chat/completions', post(key, JSON.stringify({ pad: 'a'.repeat(2000) }))],
      [415, '/v1/chat/completions', post(key, 'a', { 'content-type': 'text/plain' })],
      [200, '/api/free/batch-image-hash', post(key, form, {})],
      [404, '/assets/nothing.png', { headers: { origin: PAGE } }],
      [200, '/healthz', { headers: { origin: PAGE } }],
    ];
    for (const [status, path, init] of cases) {
      const answer = await ask(path, init);
      expect([path, answer.status]).toEqual([path, status]);
      expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE);
      expect(answer.headers.get('access-control-expose-headers')).toBe('*');
      expect(answer.headers.get('vary')).toMatch(/^origin/);
      await answer.text();
    }
    for (let count = 0; ; count += 1) {
      const { status, headers } = await ask('/v1/models', {
        headers: { origin: 'app://obsidian.md', authorization: key },
      });
      expect(headers.get('access-control-allow-origin')).toBe('app://obsidian.md');
      if (status === 429) break;
      expect(count).toBeLessThan(10);
    }
  });
});

it('server.cors for all origins answers with *, and without it no response has such headers', async () => {
  const headers = { ...PREFLIGHT, origin: 'null' };
  const pool = manualPool(1, () => imageOf(1));
  for (const [settings, status, allowed] of [
    [{ cors: { origins: '*' } }, 204, '*'],
    [{}, 404, null],
  ] as const) {
    const server = await startServer({ config: { server: settings }, pool });
    const preflight = await fetch(`${server.url}/v1/x/y`, { method: 'OPTIONS', headers });
    const answer = await fetch(`${server.url}/healthz`, { headers: { origin: PAGE } });
    const plain = await fetch(`${server.url}/healthz`);
    await server.close();
    expect(preflight.status).toBe(status);
    for (const one of [preflight, answer]) {
      expect(one.headers.get('access-control-allow-origin')).toBe(allowed);
    }
    expect([...plain.headers.keys()].join()).not.toMatch(/access-control|vary/);
  }
});

it.each([
  'https://app.example.com/',
  'https://App.example.com',
  'https://app.example.com:443',
  'app.example.com',
  'https://a.example, https://b.example',
  'https://*.example.com',
  'null',
  '*',
])('server.cors.origins refuses the list item %s', (origin) => {
  expect(v.safeParse(configSchema, { server: { cors: { origins: [origin] } } }).success).toBe(
    false,
  );
});
