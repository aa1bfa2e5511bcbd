import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it, test, vi } from 'vitest';
import type { NewAsset } from '../../../../src/store/asset.ts';
import { RawClient } from '../../raw-client.ts';
import { mediaServer } from '../media-server.ts';

const server = mediaServer({ server: { publicUrl: 'https://images.example.com/oriel/' } });
const TEXT = '0123456789';
let asset: NewAsset;
let path: string;

const keep = async (text: string) => {
  const file = await server().file('png', 'image/png', text);
  const { id } = (await server().store.findAccount('a'))!;
  await server().store.addUpload(id, file, 1e9);
  return file;
};

beforeAll(async () => {
  asset = await keep(TEXT);
  path = `/assets/${asset.id}`;
});

/** Asks without a key. */
const ask = (
  headers: Readonly<Record<string, string>> = {},
  init: RequestInit = {},
  where = path,
) => fetch(server().url + where, { ...init, headers });

describe('an asset', () => {
  it('is public and immutable, and runs no scripts', async () => {
    const response = await ask();
    expect([response.status, await response.text()]).toEqual([200, TEXT]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': '10',
      etag: `"${asset.id}"`,
      'cache-control': 'public, max-age=31536000, immutable',
      'accept-ranges': 'bytes',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
  });

  it('has the same headers for HEAD', async () => {
    const response = await ask({ range: 'bytes=0-1' }, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(response.headers.get('content-length')).toBe('10');
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(response.headers.get('etag')).toBe(`"${asset.id}"`);
  });

  it('redirects to the storage where that has links, but not for HEAD', async () => {
    const url = 'https://files.example.com/bucket/x?X-Amz-Signature=1';
    const { assets } = server();
    const link = vi.spyOn(assets, 'link').mockReturnValue({ url, seconds: 600 } as never);
    const response = await ask({ range: 'bytes=0-1' }, { redirect: 'manual' });
    expect(response.status).toBe(302);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      location: url,
      'cache-control': 'public, max-age=300',
      'access-control-allow-origin': '*',
    });
    expect(link).toHaveBeenCalledWith(expect.objectContaining({ mediaType: 'image/png' }));
    expect((await ask({}, { method: 'HEAD', redirect: 'manual' })).status).toBe(200);
    expect(JSON.stringify(server().log)).not.toContain('X-Amz-Signature');
  });

  test.each<[string, number, string, string | null]>([
    ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=7-99', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-99', 206, TEXT, 'bytes 0-9/10'],
    ['Bytes= 0-1 ', 206, '01', 'bytes 0-1/10'],
    ['bytes=0-1,4-5', 200, TEXT, null],
    ['bytes=4-2', 200, TEXT, null],
    ['bytes=-', 200, TEXT, null],
    ['bytes=a-b', 200, TEXT, null],
    ['items=0-1', 200, TEXT, null],
    ['', 200, TEXT, null],
    [`bytes=${'9'.repeat(400)}-`, 416, '', 'bytes */10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=10-20', 416, '', 'bytes */10'],
    ['bytes=-0', 416, '', 'bytes */10'],
  ])('answers the range %j with %i', async (range, status, text, part) => {
    const response = await ask({ range });
    const body = await response.text();
    expect([response.status, response.headers.get('content-range')]).toEqual([status, part]);
    if (status === 416) {
      expect(JSON.parse(body)).toMatchObject({
        error: { type: 'invalid_request', code: 'range_not_satisfiable', param: 'Range' },
      });
      expect(response.headers.get('cache-control')).toBeNull();
    } else {
      expect([body, response.headers.get('content-length')]).toEqual([text, String(text.length)]);
    }
  });

  test.each<[string, boolean]>([
    ['TAG', true],
    ['W/TAG', false],
    ['"other"', false],
    ['Sat, 21 Nov 2026 12:00:00 GMT', false],
  ])('answers a range only if If-Range is its tag: %s', async (condition, counts) => {
    const value = condition.replace('TAG', `"${asset.id}"`);
    const response = await ask({ range: 'bytes=0-1', 'if-range': value });
    expect([response.status, await response.text()]).toEqual(counts ? [206, '01'] : [200, TEXT]);
  });

  test.each<[string, number]>([
    ['TAG', 304],
    ['W/TAG', 304],
    ['"other", TAG', 304],
    ['*', 304],
    ['"other"', 200],
    ['', 200],
  ])('gives 304 or 200 for If-None-Match %s', async (condition, status) => {
    const value = condition.replace('TAG', `"${asset.id}"`);
    for (const method of ['GET', 'HEAD']) {
      const response = await ask({ 'if-none-match': value, range: 'bytes=99-' }, { method });
      const expected = status === 200 && method === 'GET' ? 416 : status;
      expect([response.status, method]).toEqual([expected, method]);
      if (status === 304) {
        expect(await response.text()).toBe('');
        expect(response.headers.get('etag')).toBe(`"${asset.id}"`);
        expect(response.headers.get('cache-control')).toContain('immutable');
      }
    }
  });

  it('without bytes is served', async () => {
    const { id } = await keep('');
    const whole = await ask({}, {}, `/assets/${id}`);
    expect([whole.status, await whole.text()]).toEqual([200, '']);
    const part = await ask({ range: 'bytes=0-' }, {}, `/assets/${id}`);
    expect([part.status, part.headers.get('content-range')]).toEqual([416, 'bytes */0']);
  });

  it('of several megabytes is served completely after aborted downloads', async () => {
    const text = TEXT.repeat(2_000_000);
    const { id } = await keep(text);
    const leaver = new RawClient(server());
    await leaver.write(`GET /assets/${id} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await leaver.receive(/./);
    leaver.socket.destroy();
    await leaver.whole();
    const response = await ask({}, {}, `/assets/${id}`);
    expect(await response.text()).toBe(text);
  });
});

describe('there is no asset', () => {
  const missing = async (where: string) => {
    const response = await ask({}, {}, where);
    const { error } = (await response.json()) as { error: object };
    expect([response.status, error]).toMatchObject([404, { type: 'invalid_request' }]);
    expect(response.headers.get('cache-control')).toBeNull();
    return (error as { code: string }).code;
  };

  test.each([
    ['x'],
    ['constructor'],
    ['..%2f..%2foriel.yaml'],
    ['%2e%2e%2fstore%2fjournal'],
    [`${'A'.repeat(43)}.png`],
    ['a%00.png'],
    ['%F0%9F%99%82.png'],
  ])('by the name %s', async (name) => {
    expect(await missing(`/assets/${name}`)).toBe('asset_not_found');
  });

  it('once it has been deleted from the disk', async () => {
    const { id } = await keep('x');
    await rm(server().assets.pathOf(id));
    expect(await missing(`/assets/${id}`)).toBe('asset_not_found');
  });

  it('that can be written', async () => {
    const response = await ask({}, { method: 'PUT' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('an asset that is damaged on the disk', () => {
  const flipped = async (text: string, at: number) => {
    const { id } = await keep(text);
    const file = server().assets.pathOf(id);
    const bytes = await readFile(file);
    bytes[at]! ^= 1;
    await writeFile(file, bytes);
    return `/assets/${id}`;
  };

  test.each<[string, RequestInit]>([
    ['whole', {}],
    ['as a whole range', { headers: { range: 'bytes=0-' } }],
    ['in part', { headers: { range: 'bytes=1-2' } }],
  ])('is refused for a request %s', async (_, init) => {
    const response = await fetch(server().url + (await flipped(TEXT, 5)), init);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      error: { type: 'service_error', code: 'asset_damaged' },
    });
    expect(response.headers.get('cache-control')).toBeNull();
  });

  test('ends early if it is large', async () => {
    const text = TEXT.repeat(100_000);
    const response = await fetch(server().url + (await flipped(text, 999_990)));
    expect(response.headers.get('content-length')).toBe(`${text.length}`);
    await expect(response.arrayBuffer()).rejects.toThrow();
  });

  test('of another length is refused, also for HEAD', async () => {
    const path = await flipped(TEXT, 1);
    await appendFile(server().assets.pathOf(path.slice('/assets/'.length)), 'x');
    expect((await ask({}, { method: 'HEAD' }, path)).status).toBe(500);
  });

  test('does not affect other assets', async () => {
    const text = TEXT.repeat(100_000);
    const { id } = await keep(text);
    const response = await fetch(`${server().url}/assets/${id}`);
    expect(await response.text()).toBe(text);
  });
});

test('URLs of assets begin with server.publicUrl', async () => {
  const form = new FormData();
  form.append('file', new Blob(['x']), 'a.png');
  const { json } = await server().ask('/v1/images/upload', { method: 'POST', body: form });
  expect(json).toEqual({ url: 'https://images.example.com/oriel/assets/a-name.png' });
});

test('no request caused a logged defect', () => {
  expect(server().log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
});
