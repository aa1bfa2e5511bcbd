import { once } from 'node:events';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { listening, open, saying, textOf, turns, upstream } from './servers.ts';

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

describe('a failing upstream', () => {
  const lost = { type: 'network_error', code: 'connection_lost' };
  const unreachable = { type: 'network_error', code: 'unreachable' };

  it('that refuses the connection gives code unreachable', async () => {
    const { url, server } = await listening(() => {});
    server.close();
    await expect(open(url)).rejects.toMatchObject(unreachable);
  });

  it('whose name does not resolve gives code unreachable', async () => {
    await expect(open('http://oriel.invalid/secret')).rejects.toMatchObject({
      ...unreachable,
      message: expect.not.stringContaining('secret'),
    });
  });

  it('that does not speak TLS gives code unreachable', async () => {
    const url = await saying((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await expect(open(url.replace('http:', 'https:'))).rejects.toMatchObject(unreachable);
  });

  it.each(['nonsense', 'ftp://a/secret', ''])(
    'with the invalid URL %j gives code upstream_request_invalid',
    async (url) => {
      await expect(open(url)).rejects.toMatchObject({
        code: 'upstream_request_invalid',
        message: expect.not.stringContaining('secret'),
      });
    },
  );

  it('whose key is no valid header gives code upstream_request_invalid', async () => {
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
  ])('that answers with %s gives code connection_lost', async (_, say) => {
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

  it('that sends garbage after its response does not affect the next request', async () => {
    const url = await saying((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 garbage'),
    );
    const by = upstream();
    for (let count = 0; count < 5; count += 1) {
      expect(await textOf(await open(url, {}, by))).toBe('ok');
    }
  });

  it('that closes an idle connection does not affect the next request', async () => {
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

  it('that closes a reused connection during a request gives code connection_lost', async () => {
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
  ])('that does not respond in time gives code %s', async (code, timeouts) => {
    const { url, server } = await listening(() => {});
    await expect(open(url, { timeouts })).rejects.toMatchObject({ type: 'timeout', code });
    // On a busy machine the time can be over before the server has accepted the connection.
    await expect.poll(() => promisify(server.getConnections.bind(server))()).toBe(0);
  });

  it.each([
    ['idle_timeout', { idle: 50 }],
    // Its answer has to begin within this.
    ['total_timeout', { total: 2000 }],
    ['idle_timeout', { idle: 50, firstByte: 0, total: 0 }],
  ])('that stalls during its response gives code %s', async (code, timeouts) => {
    const { url } = await listening((_, response) => response.write('begun'));
    const exchange = await open(url, { timeouts });
    await expect(textOf(exchange)).rejects.toMatchObject({ type: 'timeout', code });
  });

  it('that never ends its response gives code total_timeout', async () => {
    const { url } = await listening((_, response) => {
      const timer = setInterval(() => response.write('more'), 10);
      response.on('close', () => clearInterval(timer));
    });
    const exchange = await open(url, { timeouts: { idle: 10_000, total: 2000 } });
    await expect(textOf(exchange)).rejects.toMatchObject({ code: 'total_timeout' });
  });

  it('that does not accept a connection in time gives code connect_timeout', async () => {
    // The server accepts TCP but never answers the TLS handshake.
    const url = (await saying(() => {})).replace('http:', 'https:');
    await expect(open(url, { timeouts: { connect: 100 } })).rejects.toMatchObject({
      type: 'timeout',
      code: 'connect_timeout',
    });
  });
});
