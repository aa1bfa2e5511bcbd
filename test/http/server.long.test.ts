import { describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../daemon.ts';
import { answerTo, RawClient } from './raw-client.ts';

const error = (type: string, code: string) => ({
  error: { type, code, message: expect.any(String), param: null },
});

const daemon = sharedDaemon();

describe('every response', () => {
  it('has the x-request-id of the request, or a new one', async () => {
    const own = await daemon().request('/v1/account');
    expect(own.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{24}$/);
    const given = await daemon().request('/v1/account', { headers: { 'x-request-id': 'ci-7:a' } });
    expect(given.headers.get('x-request-id')).toBe('ci-7:a');
    const hostile = await daemon().request('/v1/account', {
      headers: { 'x-request-id': '{"a":1}' },
    });
    expect(hostile.headers.get('x-request-id')).toMatch(/^req_/);
    const refused = await fetch(`${daemon().url}/v1/account`);
    expect(refused.headers.get('x-request-id')).toMatch(/^req_/);
  });

  it('in JSON ends with a line feed and has the right content-length', async () => {
    const { send: ask } = daemon();
    const messages = [{ role: 'user', content: 'é' }];
    const drawing = { model: 'sandbox-image-any', prompt: 'waves', size: '64x64' };
    const answers = await Promise.all([
      daemon().request('/v1/account'),
      daemon().request('/v1/nothing'),
      daemon().request('/%ff'),
      daemon().request('/v1/tasks/unknown'),
      daemon().request('/openapi.json'),
      fetch(`${daemon().url}/v1/models`),
      ask('/v1/chat/completions', { model: 'sandbox-chat', messages }),
      ask('/v1/messages', { model: 'sandbox-chat', messages }),
      ask('/v1/images/generations', drawing),
      ask('/v1/images/generations/sync', { ...drawing, response_format: 'b64_json' }),
    ]);
    for (const answer of answers) {
      const bytes = Buffer.from(await answer.arrayBuffer());
      expect([answer.url, bytes.toString().slice(-2)]).toEqual([answer.url, '}\n']);
      const length = answer.headers.get('content-length');
      if (length !== null) expect(Number(length)).toBe(bytes.length);
    }
    const broken = await answerTo(daemon(), 'hello\r\n\r\n');
    expect(broken.slice(-3)).toBe('}}\n');
    expect(broken.split('\r\n\r\n')[1]).toHaveLength(
      Number(/content-length: (\d+)/i.exec(broken)![1]),
    );
  });
});

describe('requests without a route or not in HTTP', () => {
  it.each([
    ['GET', '/', 404, 'unknown_endpoint'],
    ['GET', '/v1', 404, 'unknown_endpoint'],
    ['POST', '/v1/nothing', 404, 'unknown_endpoint'],
    ['GET', '/img/', 404, 'unknown_endpoint'],
    ['GET', '/%ff', 400, 'invalid_url'],
    ['GET', '/v1/tasks/%c3%28', 400, 'invalid_url'],
    ['GET', `/v1/tasks/${'x'.repeat(300)}`, 414, 'invalid_url'],
    ['DELETE', '/v1/models', 405, 'method_not_allowed'],
    ['POST', '/v1/tasks/task_1', 405, 'method_not_allowed'],
    ['POST', '/v1/videos/edits', 404, 'unknown_endpoint'],
  ])('%s %s answers %i', async (method, path, status, code) => {
    const response = await daemon().request(path, { method });
    expect(response.status).toBe(status);
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    expect(await response.json()).toEqual(error('invalid_request', code));
    if (status === 405) expect(response.headers.get('allow')).toBe('GET, HEAD');
  });

  it.each([
    ['directly', ['Connection: Upgrade', 'Upgrade: websocket']],
    ['behind a proxy that drops Upgrade', ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']],
  ])('GET /v1/chat/completions as a WebSocket answers 426 %s', async (_case, headers) => {
    const lines = ['GET /v1/chat/completions HTTP/1.1', 'Host: a', 'Connection: close', ...headers];
    const answer = await answerTo(daemon(), `${lines.join('\r\n')}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 426 /);
    expect(answer).toContain('"code":"upgrade_required"');
  });

  it('/ redirects a browser to the console', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    const response = await fetch(daemon().url, { headers: { accept } });
    expect([response.status, response.url]).toEqual([200, `${daemon().url}/console`]);
    expect(await response.text()).toMatch(/^<!doctype html>/);
  });

  it.each([
    ['no HTTP', 'hello\r\n\r\n', /^HTTP\/1\.1 400 /, 'malformed_request'],
    [
      'headers without end',
      `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`,
      /^HTTP\/1\.1 431 /,
      'headers_too_large',
    ],
    [
      'a length and chunks at once',
      'POST /v1/account HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
      /^HTTP\/1\.1 400 /,
      'malformed_request',
    ],
  ])('%s gets an error body of the same shape', async (_, bytes, status, code) => {
    const answer = await answerTo(daemon(), bytes);
    expect(answer).toMatch(status);
    expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toEqual(error('invalid_request', code));
  });
});

describe('keys', () => {
  const ask = (headers: Record<string, string>) => fetch(`${daemon().url}/v1/account`, { headers });

  it.each([
    ['as a bearer', { authorization: `Bearer ${OWNER_KEY}` }],
    ['without regard to the case of the scheme', { authorization: `bearer ${OWNER_KEY}` }],
    ['in the header of messages clients', { 'x-api-key': OWNER_KEY }],
  ])('are accepted %s', async (_, headers) => {
    expect((await ask(headers)).status).toBe(200);
  });

  it.each([
    ['none', {}, 'missing_api_key'],
    ['an empty one', { authorization: 'Bearer ' }, 'invalid_api_key'],
    ['an unknown key', { authorization: `Bearer ${OWNER_KEY}x` }, 'invalid_api_key'],
    ['another scheme', { authorization: `Basic ${OWNER_KEY}` }, 'invalid_api_key'],
    ['an empty header of messages clients', { 'x-api-key': '' }, 'missing_api_key'],
  ])('are refused: %s', async (_, headers, code) => {
    const response = await ask(headers);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.json()).toEqual(error('auth_error', code));
  });
});

describe('Expect: 100-continue', () => {
  it('gets 100 Continue only after the key has been checked', async () => {
    const head = (key: string) =>
      `POST /api/free/batch-image-hash HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
      'Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n' +
      'Connection: close\r\nExpect: 100-continue\r\n\r\n';
    expect(await answerTo(daemon(), head('wrong'))).toMatch(/^HTTP\/1\.1 401 /);
    const client = new RawClient(daemon());
    await client.write(head(OWNER_KEY));
    await client.receive(/^HTTP\/1\.1 100 /);
  });

  it('is the only expectation that has an effect; others are ignored', async () => {
    const head =
      'GET /v1/nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: a-miracle\r\n\r\n';
    const answer = await answerTo(daemon(), head);
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer).toContain('"code":"unknown_endpoint"');
  });
});
