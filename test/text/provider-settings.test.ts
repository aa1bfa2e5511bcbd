import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sharedDaemon } from '../daemon.ts';
import {
  type ConnectProxy,
  PROXY_PASSWORD,
  startConnectProxy,
  withCredentials,
} from '../upstream/connect-proxy.ts';
import { ask as askGateway, DONE } from './ask.ts';
import { gatewayConfig, UPSTREAM_KEYS } from './gateway-daemon.ts';
import { type FormatName, type MockUpstream, startMockUpstream } from './mock-upstream.ts';

const SECRET = 'header-value-5ecre7-0123456789';
const PARAMETER = 'parameter-5ecre7-0123456789&=';

let upstream: MockUpstream;
let proxy: ConnectProxy;
beforeAll(async () => {
  [upstream, proxy] = await Promise.all([startMockUpstream(), startConnectProxy()]);
});
afterAll(() => Promise.all([upstream.close(), proxy.close()]));
beforeEach(() => {
  upstream.play(DONE);
  proxy.targets.length = 0;
});

const daemon = sharedDaemon({
  env: { TEAM_TOKEN: SECRET },
  get config() {
    const provider = (more: object) => ({
      kind: 'openai',
      baseUrl: upstream.url,
      apiKey: UPSTREAM_KEYS.openai,
      ...more,
    });
    const providers = {
      decorated: provider({
        headers: { 'X-Team-Token': `\${TEAM_TOKEN}`, 'HTTP-Referer': 'https://site.example' },
        query: { tag: PARAMETER, empty: '' },
      }),
      beta: {
        kind: 'anthropic',
        baseUrl: upstream.url,
        apiKey: UPSTREAM_KEYS.anthropic,
        headers: { 'anthropic-beta': 'context-1m-2025-08-07', 'anthropic-version': '2024-01-01' },
      },
      proxied: provider({ proxy: withCredentials(proxy) }),
      unwelcome: provider({ proxy: withCredentials(proxy, 'wrong-5ecre7-password') }),
      unreachable: provider({ proxy: 'http://127.0.0.1:1' }),
      hasty: provider({ timeouts: { firstByte: '200ms', idle: '200ms', total: '3s' } }),
      spare: provider({}),
    };
    const names = Object.keys(providers);
    const route = (name: string) => ({ provider: name, model: `of-${name}` });
    return gatewayConfig(upstream.url, {
      routing: { retries: 0, cooldown: { after: 0 }, timeouts: { total: '20s' } },
      providers,
      models: {
        ...Object.fromEntries(names.map((name) => [name, { type: 'text', routes: [route(name)] }])),
        'hasty-or-spare': { type: 'text', routes: [route('hasty'), route('spare')] },
      },
    });
  },
});

const ask = (model: string, more: object = {}, client: FormatName = 'chat', headers = {}) =>
  askGateway({ daemon: daemon(), upstream }, client, model, more, { play: [], headers });

describe('headers and query of a provider', () => {
  it.each([false, true])('are in every request; stream %s', async (stream) => {
    expect((await ask('decorated', { stream })).status).toBe(200);
    const { headers, query, path } = upstream.only();
    expect(headers).toMatchObject({
      'x-team-token': SECRET,
      'http-referer': 'https://site.example',
      authorization: `Bearer ${UPSTREAM_KEYS.openai}`,
      'content-type': 'application/json',
    });
    expect(path).toBe('/v1/chat/completions');
    expect(Object.fromEntries(new URLSearchParams(query))).toEqual({ tag: PARAMETER, empty: '' });
  });

  it('are in no error and no log line where the upstream quotes them', async () => {
    for (const status of [400, 401, 500]) {
      const message = `who are you, ${SECRET} of ${PARAMETER}?`;
      upstream.play({ refuse: { status, body: { error: { message, code: SECRET } } } });
      expect((await ask('decorated')).text).not.toContain('5ecre7');
    }
    expect(JSON.stringify(daemon().log)).not.toContain('5ecre7');
  });

  it('replace the version of the format, and join the betas of the client', async () => {
    const headers = { 'anthropic-beta': 'interleaved-thinking-2025-05-14' };
    expect((await ask('beta', {}, 'messages', headers)).status).toBe(200);
    expect(upstream.only().headers).toMatchObject({
      'anthropic-beta': 'context-1m-2025-08-07,interleaved-thinking-2025-05-14',
      'anthropic-version': '2024-01-01',
    });
  });
});

describe('the proxy of a provider', () => {
  it.each([false, true])('tunnels its requests alone; stream %s', async (stream) => {
    expect((await ask('proxied', { stream })).status).toBe(200);
    expect((await ask('spare', { stream })).status).toBe(200);
    expect(upstream.requests).toHaveLength(2);
    expect(upstream.requests[0]!.headers).not.toHaveProperty('proxy-authorization');
    expect(proxy.others).toEqual([]);
    // Later requests use the tunnel that is open.
    if (!stream) expect(proxy.targets).toEqual([new URL(upstream.url).host]);
  });

  it.each([
    ['unwelcome', 'a proxy refused the connection'],
    ['unreachable', 'connection refused'],
  ])('that fails is 502 without its address and credentials: %s', async (name, reason) => {
    const { status, error, text } = await ask(name);
    expect([status, error.message]).toEqual([502, `The provider cannot be reached: ${reason}`]);
    expect(text).not.toMatch(/127\.0\.0\.1|5ecre7/);
    expect(upstream.requests).toHaveLength(0);
    expect(JSON.stringify(daemon().log)).not.toMatch(/5ecre7/);
    expect(JSON.stringify(daemon().log)).not.toContain(encodeURIComponent(PROXY_PASSWORD));
  });
});

describe('timeouts of a provider', () => {
  it('replace those of routing', async () => {
    upstream.play({ before: 'silence' });
    const first = await ask('hasty', { stream: true });
    expect([first.status, first.error.code]).toEqual([504, 'first_byte_timeout']);
    upstream.play({ ...DONE, fault: { after: 2, how: 'silence' } });
    expect((await ask('hasty', { stream: true })).text).toContain('idle_timeout');
    upstream.play({ before: 'silence' });
    const whole = await ask('hasty');
    expect([whole.status, whole.error.code]).toEqual([504, 'total_timeout']);
  });

  it('leave the next route its time', async () => {
    upstream.play({ before: 'silence' }, DONE);
    expect((await ask('hasty-or-spare')).status).toBe(200);
    expect(upstream.requests.map(({ body }) => body.model)).toEqual(['of-hasty', 'of-spare']);
  });
});
