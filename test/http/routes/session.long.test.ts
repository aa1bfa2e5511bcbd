import { describe, expect, it } from 'vitest';
import { hashOf } from '../../../src/store/key.ts';
import { OWNER_KEY, sharedDaemon } from '../../daemon.ts';
import { administer } from '../../text/gateway-daemon.ts';

const daemon = sharedDaemon({
  config: {
    limits: { address: { failedKeys: 3 } },
    server: { publicUrl: 'https://oriel.example' },
  },
});

interface Asked {
  readonly key?: string | null;
  readonly cookie?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: object;
}

function ask(path: string, { key, cookie, method = 'GET', headers, body }: Asked = {}) {
  return fetch(daemon().url + path, {
    method,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(cookie !== undefined && { cookie }),
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
}

const codeOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code;

async function signIn(key = OWNER_KEY, path = '/v1/session', headers = {}): Promise<Response> {
  const response = await ask(path, { key, method: 'POST', headers });
  expect(response.status).toBe(200);
  return response;
}

async function cookieOf(key?: string): Promise<string> {
  return (await signIn(key)).headers.getSetCookie()[0]!.split(';')[0]!;
}

/** A new key of the owner. */
async function newKey(name: string, options: object = {}): Promise<string> {
  return (await administer(daemon(), 'keys/create', { account: 'owner', name, ...options })).key;
}

const chat = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hi' }] };
const own = { 'sec-fetch-site': 'same-origin' };

const chatWith = (cookie: string, headers: Readonly<Record<string, string>>) =>
  ask('/v1/chat/completions', { cookie, method: 'POST', headers, body: chat });

describe('POST /v1/session', () => {
  it('sets a cookie for scripts and other sites to see nothing of', async () => {
    const response = await signIn();
    const [cookie] = response.headers.getSetCookie();
    expect(cookie).toMatch(
      /^oriel_session_\d+=[0-9A-Za-z]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    const { expires, ...session } = (await response.json()) as { expires: number };
    expect(session).toMatchObject({ object: 'session', account: { name: 'owner' }, owner: true });
    expect(expires - Date.now() / 1000).toBeGreaterThan(43_000);
  });

  it('marks the cookie as secure for a page over HTTPS, and limits it to a path', async () => {
    const headers = { origin: 'https://oriel.example' };
    const response = await signIn(OWNER_KEY, '/v1/session?path=/oriel/', headers);
    expect(response.headers.getSetCookie()[0]).toMatch(/; Path=\/oriel\/; .*; Secure$/);
  });

  it('sets a cookie that no other host can set, for all paths over HTTPS', async () => {
    const response = await signIn(OWNER_KEY, '/v1/session', { origin: 'https://oriel.example' });
    const [cookie, former] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^__Host-oriel_session_\d+=[0-9A-Za-z]{43}; Path=\/; .*; Secure$/);
    expect(former).toMatch(/^oriel_session_\d+=; Path=\/; Max-Age=0; /);
    const session = cookie!.split(';')[0]!;
    expect((await ask('/v1/account', { cookie: session })).status).toBe(200);
    // A page of another host may have set one of two.
    const [name, token] = session.replace('__Host-', '').split('=');
    for (const two of [`${session}; ${name}=${token}`, `${name}=x; ${session}`]) {
      expect((await ask('/v1/account', { cookie: two })).status).toBe(401);
    }
  });

  it.each(['oriel', '/a;Domain=example.com', '/a b', `/${'a'.repeat(300)}`])(
    'refuses the path %j',
    async (path) => {
      const where = `/v1/session?path=${encodeURIComponent(path)}`;
      const response = await ask(where, { key: OWNER_KEY, method: 'POST' });
      expect([response.status, response.headers.getSetCookie()]).toEqual([400, []]);
    },
  );

  it('needs a key, so that no session prolongs itself', async () => {
    const cookie = await cookieOf();
    const response = await ask('/v1/session', { cookie, method: 'POST', headers: own });
    expect([response.status, await codeOf(response)]).toEqual([401, 'missing_api_key']);
  });

  it('ends with the key, where that expires earlier', async () => {
    const key = await newKey('brief', { expires: '1h' });
    const response = await signIn(key);
    expect(Number(/Max-Age=(\d+)/.exec(response.headers.getSetCookie()[0]!)![1])).toBeLessThan(
      3601,
    );
  });

  it('limits wrong keys of an address', async () => {
    const statuses = [];
    for (let count = 0; count < 5; count += 1) {
      const wrong = await ask('/v1/session', { key: 'sk-oriel-wrong-key-000000', method: 'POST' });
      statuses.push(wrong.status);
    }
    expect(statuses).toEqual(expect.arrayContaining([401, 429]));
    expect(statuses.at(-1)).toBe(429);
    await signIn();
  });
});

describe('a session', () => {
  it('has the rights and limits of its key on every endpoint', async () => {
    const key = await newKey('web', { models: 'sandbox-chat', rpm: 5 });
    const cookie = await cookieOf(key);
    const list = await ask('/v1/models', { cookie });
    const { data } = (await list.json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual(['sandbox-chat']);
    // Pages have a limit of their own.
    expect(list.headers.get('x-ratelimit-limit-requests')).toBe('1200');
    const answer = await chatWith(cookie, own);
    expect(answer.status).toBe(200);
    await answer.text();
    const usage = await ask('/v1/admin/usage', { cookie });
    expect([usage.status, await codeOf(usage)]).toEqual([403, 'owner_required']);
    const who = (await (await ask('/v1/session', { cookie })).json()) as object;
    expect(who).toMatchObject({ key: { name: 'web' }, owner: false });
  });

  it.each<[string, Record<string, string>, number]>([
    ['a page of this server', { 'sec-fetch-site': 'same-origin' }, 200],
    ['a page of the public address', { origin: 'https://oriel.example' }, 200],
    ['a page of another port', { 'sec-fetch-site': 'same-site' }, 403],
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a typed address', { 'sec-fetch-site': 'none' }, 403],
    ['another origin', { origin: 'http://127.0.0.1:1' }, 403],
    ['a sandboxed frame', { origin: 'null' }, 403],
    ['no known origin', {}, 403],
  ])('sends a request that changes something for %s', async (_, headers, status) => {
    const cookie = await cookieOf();
    const response = await chatWith(cookie, headers);
    if (status === 200) await response.text();
    else expect(await codeOf(response)).toBe('cross_origin_session');
    expect(response.status).toBe(status);
  });

  it('accepts the origin that Host names', async () => {
    const cookie = await cookieOf();
    const headers = { origin: daemon().url };
    const response = await chatWith(cookie, headers);
    expect(response.status).toBe(200);
    await response.text();
  });

  it('reads nothing for a page of another site', async () => {
    const cookie = await cookieOf();
    const headers = { 'sec-fetch-site': 'cross-site' };
    for (const path of ['/v1/account', '/v1/session']) {
      expect((await ask(path, { cookie, headers })).status, path).toBe(403);
    }
  });

  it('ends when the key is revoked', async () => {
    const key = await newKey('gone');
    const cookie = await cookieOf(key);
    await administer(daemon(), 'keys/revoke', { id: key });
    const response = await ask('/v1/account', { cookie });
    expect([response.status, await codeOf(response)]).toEqual([401, 'revoked_api_key']);
    expect(await (await ask('/v1/session', { cookie })).json()).toMatchObject({ account: null });
  });

  it('ends by DELETE on the server too, and only for pages of this server', async () => {
    const cookie = await cookieOf();
    const cross = { 'sec-fetch-site': 'cross-site' };
    expect((await ask('/v1/session', { cookie, method: 'DELETE', headers: cross })).status).toBe(
      403,
    );
    expect((await ask('/v1/account', { cookie })).status).toBe(200);
    const ended = await ask('/v1/session', { cookie, method: 'DELETE', headers: own });
    expect(ended.headers.getSetCookie()[0]).toMatch(/^oriel_session_\d+=; Path=\/; Max-Age=0; /);
    const response = await ask('/v1/account', { cookie });
    expect([response.status, await codeOf(response)]).toEqual([401, 'session_ended']);
  });

  it('has a cookie for its port, beside those of servers on other ports of the host', async () => {
    const [name, token] = (await cookieOf()).split('=');
    expect(name).toBe(`oriel_session_${new URL(daemon().url).port}`);
    const other = `oriel_session_1=${'a'.repeat(43)}`;
    for (const cookie of [`${other}; ${name}=${token}`, `${name}=${token}; ${other}`]) {
      expect((await ask('/v1/account', { cookie })).status).toBe(200);
    }
    const response = await ask('/v1/account', { cookie: `oriel_session_1=${token}` });
    expect([response.status, await codeOf(response)]).toEqual([401, 'missing_api_key']);
  });

  it('gives way to an API key in the same request', async () => {
    const key = await newKey('both');
    const cookie = await cookieOf();
    const response = await ask('/v1/account', { cookie, key });
    expect(await response.json()).toMatchObject({ key: { name: 'both' } });
  });

  it('leaves its token neither in the log nor on the disk', async () => {
    const cookie = await cookieOf();
    const token = cookie.split('=')[1]!;
    await ask('/v1/account', { cookie });
    expect(JSON.stringify(daemon().log)).not.toContain(token);
    const { out } = await grep(token);
    expect(out).toBe('');
    expect((await grep(hashOf(token))).out).not.toBe('');
  });
});

async function grep(text: string): Promise<{ out: string }> {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve) => {
    execFile('grep', ['-rl', text, daemon().data], (_, out) => resolve({ out }));
  });
}

it('counts sign-ins and pages apart from the requests of programs', async () => {
  const key = await newKey('limited', { rpm: 2 });
  const cookie = await cookieOf(key);
  const page = async () => (await ask('/v1/models', { cookie, headers: own })).status;
  expect([await page(), await page(), await page()]).toEqual([200, 200, 200]);
  const say = async (as: Asked) =>
    (await ask('/v1/chat/completions', { ...as, method: 'POST', body: chat })).status;
  // What a page asks of a model counts as the key's.
  expect([await say({ key }), await say({ cookie, headers: own })]).toEqual([200, 200]);
  expect([await say({ key }), await say({ cookie, headers: own })]).toEqual([429, 429]);
  expect(await page()).toBe(200);
  const signIns: number[] = [];
  for (let index = 0; index < 60; index += 1) {
    signIns.push((await ask('/v1/session', { key, method: 'POST' })).status);
  }
  // With the first one these are 61 in a minute.
  expect(signIns.filter((status) => status === 200)).toHaveLength(59);
  expect(signIns.at(-1)).toBe(429);
});
