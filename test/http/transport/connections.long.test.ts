import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OWNER_KEY, residentMegabytes, sharedDaemon, startDaemon } from '../../daemon.ts';
import { photo } from '../../fixtures/images.ts';
import { until } from '../../fixtures/until.ts';
import { RawClient } from '../raw-client.ts';

/** The largest answer that needs no key. */
const DOCUMENT = '/openapi.json';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: oriel\r\n\r\n`;

it('a body of chunks of a byte each needs little more memory than its size', async () => {
  const daemon = await startDaemon();
  const before = residentMegabytes(daemon);
  const client = new RawClient(daemon);
  await client.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\n`);
  await client.write(`Authorization: Bearer ${OWNER_KEY}\r\nContent-Type: application/json\r\n`);
  await client.write('Transfer-Encoding: chunked\r\n\r\n');
  for (let count = 0; count < 100; count += 1) await client.write('1\r\n \r\n'.repeat(10_000));
  await client.write('2\r\n{}\r\n0\r\n\r\n');
  expect(await client.whole()).toMatch(/^HTTP\/1\.1 400 /);
  expect(residentMegabytes(daemon) - before).toBeLessThan(150);
});

describe('a connection whose client never reads', () => {
  const daemon = sharedDaemon({
    config: { server: { sendTimeout: '1s' }, overload: { eventLoopDelay: '1h' } },
  });

  it('is closed for pipelining thousands of requests, and memory stays', async () => {
    await (await fetch(new URL(DOCUMENT, daemon().url))).arrayBuffer();
    const before = residentMegabytes(daemon());
    const closed = Array.from({ length: 16 }, () => {
      const { socket } = new RawClient(daemon());
      socket.pause().write(get(DOCUMENT).repeat(20_000));
      return once(socket, 'close').catch(() => {});
    });
    await Promise.all(closed);
    expect(residentMegabytes(daemon()) - before).toBeLessThan(400);
    expect((await daemon().request('/v1/account')).status).toBe(200);
  });

  it.each([
    ['without progress', ''],
    // RFC 9112, section 2.2: a server ignores empty lines before a request.
    ['although it sends empty lines', '\r\n'],
  ])('is closed after sendTimeout %s', async (_, sent) => {
    const closed = () =>
      daemon().log.filter(
        ({ msg }) => msg === 'disconnected a client that did not read its response',
      ).length;
    const before = closed();
    const { socket } = new RawClient(daemon());
    socket.pause().write(get(DOCUMENT).repeat(30));
    const lines = setInterval(() => socket.write(sent), 50);
    onTestFinished(() => clearInterval(lines));
    await until(() => closed() > before);
  });

  it('does not change the order of answers to others', async () => {
    const client = new RawClient(daemon());
    const paths = Array.from({ length: 30 }, (_, index) => `/nowhere/${index}`);
    await client.write(paths.map(get).join(''));
    const text = await client.receive(/\/nowhere\/29/);
    expect([...text.matchAll(/\/nowhere\/\d+/g)].map(([path]) => path)).toEqual(paths);
  });
});

it('closes the files of unread downloads and of the requests queued behind them', async () => {
  const daemon = await startDaemon({ config: { server: { sendTimeout: '2s' } } });
  const picture = await photo({ width: 1200, height: 1200 }).png().toBuffer();
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(picture)]), 'a.png');
  const uploaded = await daemon.request('/v1/images/upload', { method: 'POST', body: form });
  const path = new URL(((await uploaded.json()) as { url: string }).url).pathname;
  await (await fetch(daemon.url + path)).arrayBuffer();
  const links = `/proc/${daemon.child.pid}/fd`;
  /** Descriptors of the picture: others come and go. */
  const descriptors = () =>
    readdirSync(links).filter((fd) => {
      try {
        return readlinkSync(join(links, fd)).endsWith(basename(path));
      } catch {
        return false;
      }
    }).length;
  for (let count = 0; count < 20; count += 1) {
    new RawClient(daemon).socket.pause().write(get(path).repeat(20));
  }
  // Connections, and the files of responses that wait behind an unread one.
  await until(() => descriptors() >= 100);
  await until(() => descriptors() === 0);
  expect((await fetch(daemon.url + path)).status).toBe(200);
});

it('closes connections beyond maxConnections, and accepts one after another has closed', async () => {
  const daemon = await startDaemon({ config: { server: { maxConnections: 2 } } });
  const isAnswered = async (client: RawClient) => {
    await client.write(get('/healthz'));
    return client.receive(/200 OK/).then(
      () => true,
      () => false,
    );
  };
  const [one, other] = [new RawClient(daemon), new RawClient(daemon)];
  expect([await isAnswered(one), await isAnswered(other)]).toEqual([true, true]);
  expect(await isAnswered(new RawClient(daemon))).toBe(false);
  one.socket.destroy();
  // The server may notice the end later than the client.
  while (!(await isAnswered(new RawClient(daemon))));
});
