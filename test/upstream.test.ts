import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Failure } from '../src/failure.ts';
import type { Exchange, ExchangeOptions, Timeouts } from '../src/upstream/exchange.ts';
import { postJson, Upstream } from '../src/upstream.ts';

async function listening(listener: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A server that says whatever it likes, once it has heard a request. */
async function saying(say: (socket: Socket, connection: number) => void): Promise<string> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createTcpServer((socket) => {
    const connection = ++connections;
    sockets.add(socket.on('error', () => {}));
    socket.on('data', () => say(socket, connection));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

const FOREVER: Timeouts = { connect: 30_000, firstByte: 30_000, idle: 30_000, total: 30_000 };

type Options = Partial<Omit<ExchangeOptions, 'timeouts'>> & { timeouts?: Partial<Timeouts> };

function upstream(): Upstream {
  const made = new Upstream();
  onTestFinished(() => made.close());
  return made;
}

function open(url: string, { timeouts, ...others }: Options = {}, by = upstream()) {
  return by.open(url, {
    headers: {},
    signal: new AbortController().signal,
    ...others,
    timeouts: { ...FOREVER, ...timeouts },
  });
}

function deferred<Value>() {
  let resolve!: (value: Value) => void;
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** A connection is free again when a turn of the loop has shown that its server keeps it. */
async function turns(): Promise<void> {
  for (let count = 0; count < 3; count += 1) await new Promise(setImmediate);
}

async function textOf(exchange: Exchange): Promise<string> {
  return String(await exchange.bytes(1_000_000));
}

describe('an exchange', () => {
  it('sends what it is told to, and asks for clear text', async () => {
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

  it('gives status and headers, and follows no redirect', async () => {
    const { url } = await listening((_, response) => {
      response.writeHead(307, { Location: '/other', 'X-Many': ['a', 'b'] }).end();
    });
    const { status, headers } = await open(url);
    expect([status, headers['location'], headers['x-many']]).toEqual([307, '/other', 'a, b']);
  });

  it('passes over what is said before the answer', async () => {
    const url = await saying((socket) =>
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
      ),
    );
    const exchange = await open(url);
    expect([exchange.status, await textOf(exchange)]).toEqual([200, 'ok']);
  });

  it('gives each piece when it comes', async () => {
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

  it('gives a body to a reader that comes late', async () => {
    const { url } = await listening((_, response) => response.end('all of it'));
    const exchange = await open(url);
    await turns();
    expect(await textOf(exchange)).toBe('all of it');
  });

  it('lets its reader pause, whose time does not run', async () => {
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
    const exchange = await open(url, { timeouts: { idle: 50 } });
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
      }, 300);
      return false;
    });
    expect(read).toBe(size);
  });

  it('lets its reader pause after every piece', async () => {
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

  it('fails as its reader does', async () => {
    const { url } = await listening((_, response) => response.write('a'));
    const exchange = await open(url);
    const failure = new Failure('service_error', 'No more of this');
    await expect(
      exchange.read(() => {
        throw failure;
      }),
    ).rejects.toBe(failure);
  });

  it('refuses what is too large', async () => {
    const { url } = await listening((_, response) => response.end('12345'));
    const by = upstream();
    await expect((await open(url, {}, by)).bytes(4)).rejects.toMatchObject({
      type: 'service_error',
      code: 'upstream_answer_too_large',
    });
    expect(await (await open(url, {}, by)).bytes(5)).toEqual(Buffer.from('12345'));
  });

  it('keeps a connection, and opens as many as there are requests at once', async () => {
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
  ])('reads %s that nobody asked for', async (encoding, compress) => {
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
  ])('refuses %s that cannot be read', async (encoding, bytes) => {
    const { url } = await listening((_, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(bytes),
    );
    await expect(open(url).then(textOf)).rejects.toMatchObject({
      type: 'service_error',
      code: 'upstream_answer_unreadable',
    });
  });
});

describe('an exchange that is let go', () => {
  async function pending(headers: boolean) {
    const heard = deferred<Socket>();
    const { url } = await listening((request, response) => {
      if (headers) response.write('data');
      heard.resolve(request.socket);
    });
    return { url, heard: heard.promise };
  }

  it('by its signal before the answer leaves the server at once', async () => {
    const { url, heard } = await pending(false);
    const { signal, ...controller } = controllerOf();
    const opening = open(url, { signal });
    const socket = await heard;
    const closed = once(socket, 'close');
    controller.abort();
    await expect(opening).rejects.toMatchObject({ type: 'network_error', code: 'aborted' });
    await closed;
  });

  it.each(['signal', 'exchange'])(
    'by its %s during the answer leaves the server at once',
    async (by) => {
      const { url, heard } = await pending(true);
      const { signal, ...controller } = controllerOf();
      const exchange = await open(url, { signal });
      const reading = exchange.read(() => true);
      const closed = once(await heard, 'close');
      if (by === 'signal') controller.abort();
      else exchange.abort();
      exchange.abort();
      await expect(reading).rejects.toMatchObject({ type: 'network_error', code: 'aborted' });
      await closed;
    },
  );

  it('while its reader pauses leaves the server at once', async () => {
    const { url, heard } = await pending(true);
    const exchange = await open(url);
    const reading = exchange.read(() => {
      exchange.abort();
      return false;
    });
    await expect(reading).rejects.toMatchObject({ code: 'aborted' });
    exchange.resume();
    await once(await heard, 'close');
  });

  it('before its reader came tells that reader', async () => {
    const { url } = await pending(true);
    const exchange = await open(url);
    exchange.abort();
    await expect(exchange.read(() => true)).rejects.toMatchObject({ code: 'aborted' });
  });

  it('before it began asks nobody', async () => {
    let heard = 0;
    const { url } = await listening((_, response) => {
      heard += 1;
      response.end();
    });
    await expect(open(url, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    const { signal, ...controller } = controllerOf();
    const opening = open(url, { signal });
    controller.abort();
    await expect(opening).rejects.toMatchObject({ code: 'aborted' });
    await textOf(await open(url));
    expect(heard).toBe(1);
  });

  it('for a reason fails by it', async () => {
    const { url, heard } = await pending(false);
    const { signal, ...controller } = controllerOf();
    const opening = open(url, { signal });
    await heard;
    const reason = new Failure('service_error', 'The gateway is stopping');
    controller.abort(reason);
    await expect(opening).rejects.toBe(reason);
  });

  it('after its end keeps the connection', async () => {
    const ports = new Set<number>();
    const { url } = await listening((request, response) => {
      ports.add(request.socket.remotePort!);
      response.end('ok');
    });
    const by = upstream();
    for (let count = 0; count < 3; count += 1) {
      const { signal, ...controller } = controllerOf();
      const exchange = await open(url, { signal }, by);
      await textOf(exchange);
      exchange.abort();
      controller.abort();
      await turns();
    }
    expect(ports.size).toBe(1);
  });

  it('with all others ends when connections are closed', async () => {
    const { url, heard } = await pending(true);
    const by = upstream();
    const exchange = await open(url, {}, by);
    const reading = exchange.read(() => true);
    const closed = once(await heard, 'close');
    await Promise.all([
      expect(reading).rejects.toMatchObject({ code: 'aborted' }),
      by.close(),
      closed,
    ]);
    await expect(open(url, {}, by)).rejects.toMatchObject({ code: 'aborted' });
  });
});

function controllerOf() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason?: unknown) => controller.abort(reason) };
}

describe('an upstream that fails', () => {
  const lost = { type: 'network_error', code: 'connection_lost' };
  const unreachable = { type: 'network_error', code: 'unreachable' };

  it('to be there is unreachable', async () => {
    const { url, server } = await listening(() => {});
    server.close();
    await expect(open(url)).rejects.toMatchObject(unreachable);
  });

  it('to have a name is unreachable', async () => {
    await expect(open('http://oriel.invalid/secret')).rejects.toMatchObject({
      ...unreachable,
      message: expect.not.stringContaining('secret'),
    });
  });

  it('to speak TLS is unreachable', async () => {
    const url = await saying((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await expect(open(url.replace('http:', 'https:'))).rejects.toMatchObject(unreachable);
  });

  it.each(['nonsense', 'ftp://a/secret', ''])('to have an address, with %j', async (url) => {
    await expect(open(url)).rejects.toMatchObject({
      code: 'upstream_request_invalid',
      message: expect.not.stringContaining('secret'),
    });
  });

  it('to have a key that can be sent', async () => {
    const { url } = await listening((_, response) => response.end());
    await expect(open(url, { headers: { authorization: 'secret\n' } })).rejects.toMatchObject({
      code: 'upstream_request_invalid',
      message: expect.not.stringContaining('secret'),
    });
  });

  it.each([
    ['nothing', (socket: Socket) => socket.end()],
    ['a reset', (socket: Socket) => socket.resetAndDestroy()],
    ['half its headers', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-')],
    ['what is no HTTP', (socket: Socket) => socket.end('Hello\r\n\r\n')],
    [
      'headers without end',
      (socket: Socket) => socket.write(`HTTP/1.1 200 OK\r\na: ${'a'.repeat(100_000)}`),
    ],
    [
      'another protocol',
      (socket: Socket) =>
        socket.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n'),
    ],
  ])('to answer, with %s, may have heard', async (_, say) => {
    let heard = 0;
    const url = await saying((socket) => {
      heard += 1;
      say(socket);
    });
    await expect(open(url)).rejects.toMatchObject(lost);
    expect(heard).toBe(1);
  });

  it.each([
    [
      'half of its length',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'),
    ],
    ['half a chunk', (socket: Socket) => socket.end(`${CHUNKED}9\r\nhalf`)],
    ['no last chunk', (socket: Socket) => socket.end(`${CHUNKED}4\r\nhalf\r\n`)],
    ['a chunk that is none', (socket: Socket) => socket.end(`${CHUNKED}4\r\nhalf\r\nnonsense`)],
    [
      'a reset',
      (socket: Socket) =>
        socket.write(`${CHUNKED}4\r\nhalf\r\n`, () => setImmediate(() => socket.resetAndDestroy())),
    ],
  ])('to end its answer, with %s', async (_, say) => {
    const exchange = await open(await saying(say));
    await expect(textOf(exchange)).rejects.toMatchObject(lost);
  });

  it('after its answer, with garbage, harms nobody', async () => {
    const url = await saying((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 garbage'),
    );
    const by = upstream();
    for (let count = 0; count < 5; count += 1) {
      expect(await textOf(await open(url, {}, by))).toBe('ok');
    }
  });

  it('by closing connections that are kept harms nobody who sees it', async () => {
    const sockets: Socket[] = [];
    const url = await saying((socket) => {
      sockets.push(socket);
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
    const by = upstream();
    for (let count = 0; count < 5; count += 1) {
      expect(await textOf(await open(url, {}, by))).toBe('ok');
      sockets.at(-1)!.end();
      await once(sockets.at(-1)!, 'close');
    }
    expect(new Set(sockets).size).toBe(5);
  });

  it('by closing a kept connection on a request may have heard it', async () => {
    const url = await saying((socket, connection) => {
      if (connection > 1 || !socket.bytesWritten) {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      } else socket.resetAndDestroy();
    });
    const by = upstream();
    await textOf(await open(url, {}, by));
    await turns();
    await expect(open(url, {}, by)).rejects.toMatchObject(lost);
    expect(await textOf(await open(url, {}, by))).toBe('ok');
  });

  it.each([
    ['first_byte_timeout', { firstByte: 50 }],
    ['total_timeout', { total: 50 }],
    ['first_byte_timeout', { firstByte: 50, total: 0, idle: 0 }],
  ])('to begin in time: %s', async (code, timeouts) => {
    const closed = deferred<void>();
    const { url } = await listening((request) =>
      request.socket.on('close', () => closed.resolve()),
    );
    await expect(open(url, { timeouts })).rejects.toMatchObject({ type: 'timeout', code });
    await closed.promise;
  });

  it.each([
    ['idle_timeout', { idle: 50 }],
    ['total_timeout', { total: 50 }],
    ['idle_timeout', { idle: 50, firstByte: 0, total: 0 }],
  ])('to go on in time: %s', async (code, timeouts) => {
    const { url } = await listening((_, response) => response.write('begun'));
    const exchange = await open(url, { timeouts });
    await expect(textOf(exchange)).rejects.toMatchObject({ type: 'timeout', code });
  });

  it('to end ever', async () => {
    const { url } = await listening((_, response) => {
      const timer = setInterval(() => response.write('more'), 10);
      response.on('close', () => clearInterval(timer));
    });
    const exchange = await open(url, { timeouts: { idle: 10_000, total: 300 } });
    await expect(textOf(exchange)).rejects.toMatchObject({ code: 'total_timeout' });
  });

  it('to accept a connection in time', async () => {
    // A client waits for the handshake of one who listens and says nothing.
    const url = (await saying(() => {})).replace('http:', 'https:');
    await expect(open(url, { timeouts: { connect: 100 } })).rejects.toMatchObject({
      type: 'timeout',
      code: 'connect_timeout',
    });
  });
});

const OPTIONS = { timeout: 30_000 };

it('sends JSON with its headers and gives the answer of any status', async () => {
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

it.each(['', 'Bad gateway', '{"half":'])('gives no body where it is %j', async (text) => {
  const { url } = await listening((_, response) => response.end(text));
  expect(await postJson(url, {}, OPTIONS)).toEqual({ status: 200, body: undefined });
});

it('tells that nobody can have heard', async () => {
  const { url, server } = await listening(() => {});
  server.close();
  await expect(postJson(url, {}, OPTIONS)).rejects.toMatchObject({
    type: 'network_error',
    code: 'unreachable',
  });
});

it('tells that somebody may have heard, and asks once only', async () => {
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

it('tells that an answer broke off', async () => {
  const { url } = await listening((request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{"begun":');
    setImmediate(() => request.socket.destroy());
  });
  await expect(postJson(url, {}, OPTIONS)).rejects.toMatchObject({ code: 'connection_lost' });
});

it('does not wait longer than it is told to', async () => {
  const { url } = await listening(() => {});
  await expect(postJson(url, {}, { timeout: 50 })).rejects.toMatchObject({
    type: 'timeout',
    code: 'total_timeout',
  });
});
