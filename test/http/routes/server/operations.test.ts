import { describe, expect, it } from 'vitest';
import { sharedDaemon } from '../../../daemon.ts';
import { answerTo } from '../../raw-client.ts';

const DOCUMENT = '/openapi.json';

describe('without an operations listener', () => {
  const daemon = sharedDaemon({
    config: { server: { console: false }, metrics: { token: undefined } },
  });

  it('/openapi.json has its type, HEAD, and a tag that gives 304', async () => {
    const response = await fetch(daemon().url + DOCUMENT);
    const { headers } = response;
    const size = (await response.arrayBuffer()).byteLength;
    expect(response.status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(Number(headers.get('content-length'))).toBe(size);
    const etag = headers.get('etag')!;
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    const head = await fetch(daemon().url + DOCUMENT, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(size)]);
    const known = await fetch(daemon().url + DOCUMENT, { headers: { 'if-none-match': etag } });
    expect([known.status, await known.text()]).toEqual([304, '']);
    const other = { 'if-none-match': '"other"' };
    const changed = await fetch(daemon().url + DOCUMENT, { headers: other });
    expect(changed.status).toBe(200);
    await changed.arrayBuffer();
  });

  it('/metrics refuses API keys and names the settings that allow access', async () => {
    for (const response of [
      await fetch(`${daemon().url}/metrics`),
      await daemon().request('/metrics'),
    ]) {
      expect(response.status).toBe(403);
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe('metrics_token_required');
      expect(error.message).toMatch(/metrics\.token.*server\.operations/);
    }
  });

  it('refuses two Host headers, or none in HTTP/1.1, with 400, and closes the connection', async () => {
    const ask = (headers: string) =>
      answerTo(daemon(), `GET /healthz HTTP/1.1\r\n${headers}\r\n\r\n`);
    const refused = await ask('Host: one.example\r\nhOst: two.example');
    expect(refused).toMatch(/^HTTP\/1\.1 400 /);
    expect(refused).toContain('more than one Host header');
    expect(await ask('Accept: */*')).toMatch(
      /^HTTP\/1\.1 400 .*no Host header.*"malformed_request"/s,
    );
    expect(await answerTo(daemon(), 'GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await ask('Host: one.example\r\nConnection: close')).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('requests of misconfigured clients', () => {
  const daemon = sharedDaemon();

  it.each([
    ['/v1/v1/messages', '/v1/messages'],
    ['/chat/completions', '/v1/chat/completions'],
  ])('%s names %s', async (path, meant) => {
    const response = await daemon().send(path, {});
    expect(response.status).toBe(404);
    expect(await response.text()).toContain(`check the client's base URL, because ${meant} is one`);
  });

  it.each(['gzip', 'x-gzip', 'br', 'zstd', 'deflate'])(
    'a body with Content-Encoding %s gets 415, for a key alone',
    async (coding) => {
      const headers = { 'content-encoding': coding, 'content-type': 'application/json' };
      const body = { method: 'POST', headers, body: 'x' };
      const refused = await daemon().request('/v1/chat/completions', body);
      expect([refused.status, refused.headers.get('accept-encoding')]).toEqual([415, 'identity']);
      expect(await refused.text()).toContain('send the body uncompressed');
      expect((await fetch(`${daemon().url}/v1/chat/completions`, body)).status).toBe(401);
    },
  );
});

describe('with an operations listener', () => {
  const daemon = sharedDaemon({
    config: { server: { operations: { port: 0 } }, metrics: { token: undefined } },
  });
  const operations = async () => String((await daemon().logged('ready'))['operationsUrl']);

  it('serves metrics, documentation and health there', async () => {
    const url = await operations();
    expect(url).not.toBe(daemon().url);
    for (const path of ['/metrics', '/healthz', '/readyz', DOCUMENT]) {
      expect((await fetch(url + path)).status, path).toBe(200);
    }
    const { paths, servers } = (await (await fetch(`${url}/openapi.json`)).json()) as {
      paths: object;
      servers: unknown;
    };
    expect(Object.keys(paths)).toContain('/v1/chat/completions');
    expect(servers).toEqual([{ url: daemon().url }]);
    expect((await fetch(`${url}/v1/models`)).status).toBe(404);
  });

  it('serves only health and client endpoints on the public listener', async () => {
    for (const path of ['/metrics', DOCUMENT]) {
      const response = await daemon().request(path, { headers: { accept: 'text/html' } });
      expect(response.status, path).toBe(404);
      expect(await response.text()).not.toContain('openapi.json lists');
    }
    for (const path of ['/healthz', '/readyz', '/v1/models']) {
      expect((await daemon().request(path)).status, path).toBe(200);
    }
  });
});
