import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../../../daemon.ts';

const HTML = 'text/html,application/xhtml+xml,*/*;q=0.8';

/** Gets a body as it is sent; fetch would decompress it. */
async function raw(url: string, headers: Record<string, string>) {
  const sent = request(url, { headers }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { headers: response.headers, body: await buffer(response) };
}

describe('the console', () => {
  const daemon = sharedDaemon();
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(daemon().url + path, { headers, redirect: 'manual' });

  it('is one page for all addresses, with a strict policy and relative URLs', async () => {
    const bases = { '/console': '', '/console/': '../', '/console/tasks/a?b=/c/d': '../../' };
    for (const [path, base] of Object.entries(bases)) {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; " +
          "media-src 'self' blob:; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
          "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-cache',
      });
      const text = await response.text();
      const addresses = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(
        ([, address]) => address!,
      );
      expect(addresses.length).toBeGreaterThan(2);
      for (const address of addresses) expect(address).toMatch(`${base}console/assets/`);
    }
  });

  it('answers 304 to a browser that has the page', async () => {
    const etag = (await get('/console/chat')).headers.get('etag')!;
    const known = await get('/console/chat', { 'if-none-match': etag });
    expect([known.status, await known.text()]).toEqual([304, '']);
    // Its relative addresses are other ones.
    expect((await get('/console/a/b', { 'if-none-match': etag })).status).toBe(200);
  });

  it('serves files compressed as the browser asks, for ever', async () => {
    const [, script] = /src="(console\/assets\/main-\w+\.js)"/.exec(
      await (await get('/console')).text(),
    )!;
    const plain = await raw(`${daemon().url}/${script}`, {});
    expect(plain.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
      'x-content-type-options': 'nosniff',
    });
    expect(plain.headers).not.toHaveProperty('content-encoding');
    const codings: [string, string | undefined, (bytes: Buffer) => Buffer][] = [
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['gzip, br;q=0', 'gzip', gunzipSync],
      ['GZIP;q=0.5', 'gzip', gunzipSync],
      ['zstd', undefined, (bytes) => bytes],
    ];
    for (const [accepted, coding, decode] of codings) {
      const { headers, body } = await raw(`${daemon().url}/${script}`, {
        'accept-encoding': accepted,
      });
      expect(headers['content-encoding'], accepted).toBe(coding);
      expect(decode(body).equals(plain.body), accepted).toBe(true);
    }
  });

  it('answers 404 to unknown files and to addresses of many folders', async () => {
    for (const path of ['/console/assets/main.js', '/console/assets/..%2findex.html']) {
      expect((await get(path)).status, path).toBe(404);
    }
    expect((await get(`/console/${'a/'.repeat(20)}`)).status).toBe(404);
    expect((await fetch(`${daemon().url}/console/x`, { method: 'POST' })).status).toBe(405);
  });

  it('is where / and /docs lead browsers, also below the path of a proxy', async () => {
    const targets = { '/': 'console', '/docs': 'console/api', '/docs/': '../console/api' };
    for (const [path, target] of Object.entries(targets)) {
      const { status, headers } = await get(path, { accept: HTML });
      expect([status, headers.get('location')]).toEqual([302, target]);
    }
    const program = await get('/', { accept: 'application/json' });
    expect([program.status, program.headers.get('content-type')]).toEqual([
      404,
      'application/json; charset=utf-8',
    ]);
  });
});

describe('with server.console: false', () => {
  const daemon = sharedDaemon({ config: { server: { console: false } } });

  it('serves neither pages nor sessions, and accepts no cookie', async () => {
    const headers = { authorization: `Bearer ${OWNER_KEY}` };
    for (const path of ['/console', '/console/chat', '/v1/session']) {
      expect((await fetch(daemon().url + path, { headers })).status, path).toBe(404);
    }
    const cookie = `oriel_session_${new URL(daemon().url).port}=${'a'.repeat(43)}`;
    const response = await fetch(`${daemon().url}/v1/account`, { headers: { cookie } });
    expect(await response.json()).toMatchObject({ error: { code: 'missing_api_key' } });
    for (const path of ['/', '/docs']) {
      const gone = await fetch(daemon().url + path, { headers: { accept: HTML } });
      expect(gone.status, path).toBe(404);
      expect(await gone.text()).toContain('/openapi.json lists all endpoints');
    }
  });
});
