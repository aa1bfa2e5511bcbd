import type { Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Failure } from '../../src/failure.ts';
import { postJson } from '../../src/upstream/post-json.ts';
import { startConnectProxy, withCredentials } from './connect-proxy.ts';
import { networkPolicy as policyWith } from './policies.ts';
import { listening, open, saying, textOf, turns, upstream } from './servers.ts';

describe('an exchange', () => {
  it('sends method, path, headers and body, and requests an uncompressed response', async () => {
    const { url } = await listening(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      const { method, headers } = request;
      response.end(
        JSON.stringify([method, request.url, headers['x-a'], text, headers['accept-encoding']]),
      );
    });
    const headers = { 'x-a': 'b', 'accept-encoding': 'gzip' };
    const posted = await open(`${url}/path?query=1`, { headers, body: 'é' });
    expect(JSON.parse(await textOf(posted))).toEqual([
      'POST',
      '/path?query=1',
      'b',
      'é',
      'identity',
    ]);
    const got = await open(url, { method: 'GET', body: '' });
    expect(JSON.parse(await textOf(got))).toEqual(['GET', '/', null, '', 'identity']);
  });

  it('returns status and headers of a redirect without following it', async () => {
    const { url } = await listening((_, response) => {
      response.writeHead(307, { Location: '/other', 'X-Many': ['a', 'b'] }).end();
    });
    const { status, headers } = await open(url);
    expect([status, headers['location'], headers['x-many']]).toEqual([307, '/other', 'a, b']);
  });

  it('ignores informational responses (103 Early Hints)', async () => {
    const url = await saying((socket) =>
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
      ),
    );
    const exchange = await open(url);
    expect([exchange.status, await textOf(exchange)]).toEqual([200, 'ok']);
  });

  it('passes each piece of the body to the reader as it arrives', async () => {
    const { url } = await listening((request, response) => {
      response.write('0');
      request.socket.on('next', (piece: string) => response.write(piece));
      request.socket.on('last', () => response.end());
      socket = request.socket;
    });
    let socket: Socket | undefined;
    const exchange = await open(url);
    const pieces: string[] = [];
    await exchange.read((chunk) => {
      pieces.push(String(chunk));
      if (pieces.length < 4) socket!.emit('next', String(pieces.length));
      else socket!.emit('last');
      return true;
    });
    expect(pieces).toEqual(['0', '1', '2', '3']);
  });

  it('keeps the body until a late reader reads it', async () => {
    const { url } = await listening((_, response) => response.end('all of it'));
    const exchange = await open(url);
    await turns();
    expect(await textOf(exchange)).toBe('all of it');
  });

  it('does not count the pauses of its reader as idle time', async () => {
    const size = 20_000_000;
    let sent = 0;
    const { url } = await listening((_, response) => {
      const block = Buffer.alloc(100_000);
      const send = (): void => {
        while (sent < size) {
          sent += block.length;
          if (!response.write(block)) return void response.once('drain', send);
        }
        response.end();
      };
      send();
    });
    const exchange = await open(url, { timeouts: { idle: 500 } });
    let read = 0;
    let first = true;
    await exchange.read((chunk) => {
      read += chunk.length;
      if (!first) return true;
      first = false;
      // Several times what it may be idle, and as long as the server could send all.
      setTimeout(() => {
        expect(read).toBe(chunk.length);
        expect(sent).toBeLessThan(size);
        exchange.resume();
      }, 1500);
      return false;
    });
    expect(read).toBe(size);
  });

  it('supports a reader that pauses after every piece', async () => {
    const { url } = await listening((_, response) => response.end(Buffer.alloc(1_000_000, 'a')));
    const exchange = await open(url);
    let read = 0;
    await exchange.read((chunk) => {
      read += chunk.length;
      setImmediate(() => exchange.resume());
      return false;
    });
    expect(read).toBe(1_000_000);
  });

  it('rejects with the error of its reader', async () => {
    const { url } = await listening((_, response) => response.write('a'));
    const exchange = await open(url);
    const failure = new Failure('service_error', 'No more of this');
    await expect(
      exchange.read(() => {
        throw failure;
      }),
    ).rejects.toBe(failure);
  });

  it('rejects a body beyond the limit', async () => {
    const { url } = await listening((_, response) => response.end('12345'));
    const by = upstream();
    await expect((await open(url, {}, by)).bytes(4)).rejects.toMatchObject({
      type: 'service_error',
      code: 'upstream_answer_too_large',
    });
    expect(await (await open(url, {}, by)).bytes(5)).toEqual(Buffer.from('12345'));
  });

  it('reuses connections, and opens one for each concurrent request', async () => {
    const answers: (() => void)[] = [];
    const ports = new Set<number>();
    const { url } = await listening((request, response) => {
      ports.add(request.socket.remotePort!);
      answers.push(() => response.end('ok'));
      if (answers.length === 20) for (const answer of answers) answer();
      if (answers.length > 20) response.end('ok');
    });
    const by = upstream();
    const all = Array.from({ length: 20 }, async () => textOf(await open(url, {}, by)));
    expect(new Set(await Promise.all(all))).toEqual(new Set(['ok']));
    expect(ports.size).toBe(20);
    for (let count = 0; count < 5; count += 1) {
      await turns();
      await textOf(await open(url, {}, by));
    }
    expect(ports.size).toBe(20);
  });

  it.each([
    ['gzip', gzipSync],
    ['X-GZip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('decodes %s although it requested none', async (encoding, compress) => {
    const text = 'é'.repeat(300_000);
    const bytes = compress(text);
    const { url } = await listening((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).write(bytes.subarray(0, 20));
      response.end(bytes.subarray(20));
    });
    expect(await textOf(await open(url))).toBe(text);
    const slow = await open(url);
    let read = 0;
    await slow.read((chunk) => {
      read += chunk.length;
      setImmediate(() => slow.resume());
      return false;
    });
    expect(read).toBe(600_000);
    await expect((await open(url)).bytes(1_000)).rejects.toMatchObject({
      code: 'upstream_answer_too_large',
    });
  });

  it.each([
    ['zstd', Buffer.from('a')],
    ['gzip, br', Buffer.from('a')],
    ['gzip', Buffer.from('no such thing')],
    ['gzip', gzipSync('half of it').subarray(0, 15)],
  ])('rejects %s that cannot be decoded', async (encoding, bytes) => {
    const { url } = await listening((_, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(bytes),
    );
    await expect(open(url).then(textOf)).rejects.toMatchObject({
      type: 'service_error',
      code: 'upstream_answer_unreadable',
    });
  });
});

describe('a proxy of the environment (HTTPS_PROXY)', () => {
  async function proxied(noProxy: string) {
    const asked: string[] = [];
    const { url, server } = await listening((_, response) => response.end('straight'));
    server.on('connect', (request, socket: Socket) => {
      asked.push(request.url!);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    const { HTTPS_PROXY, NO_PROXY } = process.env;
    onTestFinished(() => {
      for (const [name, value] of Object.entries({ HTTPS_PROXY, NO_PROXY })) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });
    process.env['HTTPS_PROXY'] = url.replace('//', '//user:password@');
    process.env['NO_PROXY'] = noProxy;
    return { asked, url };
  }

  it('gets a CONNECT request, and its password is in no error', async () => {
    const { asked } = await proxied('');
    await expect(open('https://oriel.invalid/path')).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.not.stringContaining('password'),
    });
    expect(asked).toEqual(['oriel.invalid:443']);
  });

  it('is not used for hosts of NO_PROXY and for plain HTTP', async () => {
    const { asked, url } = await proxied('oriel.invalid');
    await expect(open('https://oriel.invalid/path')).rejects.toMatchObject({ code: 'unreachable' });
    expect(await textOf(await open(url))).toBe('straight');
    expect(asked).toEqual([]);
  });
});

describe('a proxy of a request', () => {
  async function proxied() {
    const proxy = await startConnectProxy();
    onTestFinished(() => proxy.close());
    return { ...proxy, proxy: withCredentials(proxy) };
  }

  it('tunnels plain HTTP too', async () => {
    const { proxy, targets, others } = await proxied();
    const { url } = await listening((request, response) => {
      response.end(JSON.stringify([request.url, Object.keys(request.headers)]));
    });
    const by = upstream();
    for (const path of ['/a', '/b']) {
      const [target, names] = JSON.parse(await textOf(await open(url + path, { proxy }, by)));
      expect(target).toBe(path);
      expect(names).not.toContain('proxy-authorization');
    }
    expect([new Set(targets), others]).toEqual([new Set([new URL(url).host]), []]);
  });

  it('is not used for a URL that a client chose', async () => {
    const { proxy, targets } = await proxied();
    const { url } = await listening((_, response) => response.end('here'));
    const networkPolicy = policyWith();
    await expect(open(url, { proxy, networkPolicy })).rejects.toMatchObject({
      code: 'private_address',
    });
    expect(targets).toEqual([]);
  });

  it('that refuses its credentials gives unreachable, without them', async () => {
    const { url: bare } = await proxied();
    const proxy = withCredentials({ url: bare }, 'wrong-5ecre7');
    const failed: unknown = await open('http://oriel.invalid/', { proxy }).catch((error) => error);
    expect(failed).toMatchObject({ code: 'unreachable', message: /proxy refused/ });
    expect(JSON.stringify(failed) + (failed as Failure).detail).not.toContain('5ecre7');
  });

  it('that does not answer gives connect_timeout', async () => {
    const proxy = await saying(() => {});
    const timeouts = { connect: 100 };
    await expect(open('https://oriel.invalid/', { proxy, timeouts })).rejects.toMatchObject({
      code: 'connect_timeout',
    });
  });
});

const OPTIONS = { timeout: 30_000 };

it('postJson sends JSON with headers and returns the response of any status', async () => {
  const { url } = await listening(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const { method, headers } = request;
    const heard = [method, request.url, headers['content-type'], headers.authorization, text];
    response.writeHead(418).end(JSON.stringify(heard));
  });
  const headers = { authorization: 'Bearer key' };
  expect(await postJson(`${url}/path`, { prompt: 'é' }, { ...OPTIONS, headers })).toEqual({
    status: 418,
    body: ['POST', '/path', 'application/json', 'Bearer key', '{"prompt":"é"}'],
  });
});

it.each(['', 'Bad gateway', '{"half":'])(
  'postJson returns no body for the text %j',
  async (text) => {
    const { url } = await listening((_, response) => response.end(text));
    expect(await postJson(url, {}, OPTIONS)).toEqual({ status: 200, body: undefined });
  },
);

it('postJson rejects with code connection_lost after a reset, and sends once', async () => {
  let heard = 0;
  const { url } = await listening((request) => {
    heard += 1;
    request.socket.destroy();
  });
  await expect(postJson(url, {}, OPTIONS)).rejects.toMatchObject({
    type: 'network_error',
    code: 'connection_lost',
  });
  expect(heard).toBe(1);
});

it('postJson rejects with code total_timeout after its timeout', async () => {
  const { url } = await listening(() => {});
  await expect(postJson(url, {}, { timeout: 50 })).rejects.toMatchObject({
    type: 'timeout',
    code: 'total_timeout',
  });
});
