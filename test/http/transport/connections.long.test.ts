import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sharedDaemon, startDaemon, type TestDaemon } from '../../daemon.ts';
import { photo } from '../../fixtures/images.ts';

async function open(daemon: TestDaemon): Promise<Socket> {
  const { hostname, port } = new URL(daemon.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  return socket;
}

/** The largest answer that needs no key. */
const DOCUMENT = '/openapi.json';

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: oriel\r\n\r\n`;
}

/** Resolves when a connection is closed, by an error too. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

/** Megabytes of memory that the daemon has. */
function residentMegabytes({ child }: TestDaemon): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024;
}

describe('a connection whose client never reads', () => {
  const daemon = sharedDaemon({
    config: { server: { sendTimeout: '1s' }, overload: { eventLoopDelay: '1h' } },
  });

  it('is closed for pipelining thousands of requests, and memory stays', async () => {
    await (await fetch(new URL(DOCUMENT, daemon().url))).arrayBuffer();
    const before = residentMegabytes(daemon());
    const sockets = await Promise.all(Array.from({ length: 16 }, () => open(daemon())));
    const closed = sockets.map((socket) => {
      socket.pause();
      socket.write(get(DOCUMENT).repeat(20_000));
      return closeOf(socket);
    });
    await Promise.all(closed);
    expect(residentMegabytes(daemon()) - before).toBeLessThan(400);
    expect((await daemon().request('/v1/account')).status).toBe(200);
  });

  it('is closed after sendTimeout without progress', async () => {
    const socket = await open(daemon());
    socket.pause();
    socket.write(get(DOCUMENT).repeat(30));
    await daemon().logged('disconnected a client that did not read its response');
  });
});

it('closes the files of unread downloads and of the requests queued behind them', async () => {
  const daemon = await startDaemon({ config: { server: { sendTimeout: '2s' } } });
  const descriptors = () => readdirSync(`/proc/${daemon.child.pid}/fd`).length;
  const picture = await photo({ width: 1200, height: 1200 }).png().toBuffer();
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(picture)]), 'a.png');
  const uploaded = await daemon.request('/v1/images/upload', { method: 'POST', body: form });
  const path = new URL(((await uploaded.json()) as { url: string }).url).pathname;
  await (await fetch(daemon.url + path)).arrayBuffer();
  const before = descriptors();
  for (let count = 0; count < 20; count += 1) {
    const socket = await open(daemon);
    socket.pause();
    socket.write(get(path).repeat(20));
  }
  // Connections, and the files of responses that wait behind an unread one.
  while (descriptors() < before + 100) await (await fetch(`${daemon.url}/healthz`)).text();
  while (descriptors() > before) await (await fetch(`${daemon.url}/healthz`)).text();
  expect((await fetch(daemon.url + path)).status).toBe(200);
});

it('closes a connection whose client sends empty lines and does not read', async () => {
  const daemon = await startDaemon({
    config: { server: { sendTimeout: '1s' }, overload: { eventLoopDelay: '1h' } },
  });
  const socket = await open(daemon);
  socket.pause();
  socket.write(get(DOCUMENT).repeat(30));
  // RFC 9112, section 2.2: a server ignores empty lines before a request.
  const lines = setInterval(() => socket.write('\r\n'), 50);
  onTestFinished(() => clearInterval(lines));
  await daemon.logged('disconnected a client that did not read its response');
});

it('answers pipelined requests in their order', async () => {
  const daemon = await startDaemon({ config: { overload: { eventLoopDelay: '1h' } } });
  const socket = await open(daemon);
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
  });
  const paths = Array.from({ length: 30 }, (_, index) => `/nowhere/${index}`);
  socket.write(paths.map(get).join(''));
  while (!text.includes('/nowhere/29')) await once(socket, 'data');
  expect([...text.matchAll(/\/nowhere\/\d+/g)].map(([path]) => path)).toEqual(paths);
});

it('closes connections beyond maxConnections, and accepts one after another has closed', async () => {
  const daemon = await startDaemon({ config: { server: { maxConnections: 2 } } });
  const ask = async (socket: Socket) => {
    const first = Promise.race([once(socket, 'data').catch(() => []), closeOf(socket)]);
    socket.write(get('/healthz'));
    return String((await first)?.[0]);
  };
  const [one, other] = [await open(daemon), await open(daemon)];
  expect(await ask(one)).toContain('200 OK');
  expect(await ask(other)).toContain('200 OK');
  expect(await ask(await open(daemon))).not.toContain('200 OK');
  one.destroy();
  let answer: string;
  // The server may notice the end later than the client.
  do answer = await ask(await open(daemon));
  while (!answer.includes('200 OK'));
});
