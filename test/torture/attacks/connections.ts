import { setTimeout as sleep } from 'node:timers/promises';
import { textBody } from '../tenants/good-work.ts';
import type { Attack } from './attack.ts';

const GET = 'GET /v1/models HTTP/1.1\r\nHost: oriel\r\n';
const POST =
  'POST /v1/chat/completions HTTP/1.1\r\nHost: oriel\r\nContent-Type: application/json\r\n';

/** Bytes that a server and a proxy before it must not interpret differently. */
const REQUESTS: readonly (readonly [string, readonly number[]])[] = [
  [`${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, [400]],
  [`${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}`, [400]],
  [`${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, [400, 401, 501]],
  [`${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`, [400, 401]],
  [`${POST}Content-Length: -1\r\n\r\n`, [400]],
  [`${GET}X-Bad\r\n\r\n`, [400]],
  [`${GET} folded: yes\r\n\r\n`, [400]],
  [`${GET}X-Nul: a\0b\r\n\r\n`, [400]],
  [`GET /v1/models HTTP/9.9\r\nHost: oriel\r\n\r\n`, [400, 505]],
  ['\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', [400]],
  ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400, 505]],
  [`GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: oriel\r\n\r\n`, [414, 431]],
  [`${GET}${'X-A: b\r\n'.repeat(8000)}\r\n`, [431]],
  [`${GET}X-Long: ${'a'.repeat(40_000)}\r\n\r\n`, [431]],
  [`GET /v1/models HTTP/1.1\r\n\r\n`, [400]],
  [`${GET}Host: evil.example\r\nConnection: close\r\n\r\n`, [400]],
];

export const malformedRequests: Attack = {
  name: 'malformed requests',
  summary: 'request smuggling, two hosts, oversized headers, and bytes that are not HTTP',
  async run(attacker) {
    for (const [bytes, expected] of REQUESTS) {
      const connection = attacker.connection();
      connection.read();
      connection.write(Buffer.from(bytes, 'latin1'));
      const isClosed = await connection.closes(attacker.context.hangTimeout);
      const [status] = connection.statuses;
      const text = `${JSON.stringify(bytes.slice(0, 120))} was answered ${status}`;
      attacker.expect(status !== undefined && expected.includes(status), text);
      attacker.expect(isClosed, `${text}, and the connection stays`);
      attacker.expect(connection.statuses.length === 1, `${text}, twice`);
    }
  },
};

const PIPELINES = 16;
/** Requests of one pipeline. */
const PIPELINED = 4000;

export const pipelining: Attack = {
  name: 'pipelining',
  summary: `${PIPELINES} connections without a key, ${PIPELINED} requests each, responses unread`,
  async run(attacker) {
    const paths = ['/openapi.json', '/console', '/healthz'];
    const connections = attacker.connections(PIPELINES, (index) =>
      `GET ${paths[index % paths.length]} HTTP/1.1\r\nHost: oriel\r\n\r\n`.repeat(PIPELINED),
    );
    await Promise.all(connections.map((each) => each.closes(attacker.context.sendTimeout + 8000)));
    for (const connection of connections) {
      connection.read();
      const isClosed = await connection.closes(attacker.context.hangTimeout);
      attacker.expect(isClosed, 'a connection whose client reads nothing stays open');
      const answers = connection.statuses.length;
      attacker.expect(
        answers < PIPELINED,
        `${answers} answers waited for a client that reads nothing`,
      );
    }
  },
};

const HALF_CLOSED = 60;

export const halfClosed: Attack = {
  name: 'half-closed connections',
  summary: `${HALF_CLOSED} clients that close their side after a request, or in the middle of one`,
  async run(attacker) {
    const isWhole = (index: number) => index % 2 === 0;
    const whole = `${attacker.head('GET', '/v1/models')}\r\n`;
    const part = `${attacker.head('POST', '/v1/chat/completions')}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"mo`;
    const bytesOf = (index: number) => (isWhole(index) ? whole : part);
    const connections = attacker.connections(HALF_CLOSED, bytesOf, true);
    for (const connection of connections) {
      connection.read();
      connection.socket.end();
    }
    for (const [index, connection] of connections.entries()) {
      const isClosed = await connection.closes(attacker.context.hangTimeout);
      attacker.expect(isClosed, 'a connection closed by its client stays open');
      const [status] = connection.statuses;
      const isAnswered = !isWhole(index) || status === 200 || status === 503 || status === 429;
      attacker.expect(isAnswered, `a whole request was answered ${status}`);
    }
  },
};

const STREAMS = 40;

export const slowReaders: Attack = {
  name: 'slow readers',
  summary: `${STREAMS} unread long streams`,
  async run(attacker) {
    const body = JSON.stringify(textBody('chat', 'to-chat', 'torture:long', { stream: true }));
    const headers = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const connections = attacker.connections(
      STREAMS,
      () =>
        `${attacker.head('POST', '/v1/chat/completions')}${headers}Connection: close\r\n\r\n${body}`,
    );
    await connections[0]!.closes(attacker.context.sendTimeout + 10_000);
    for (const connection of connections) connection.read();
    const closed = await Promise.all(
      connections.map((each) => each.closes(attacker.context.hangTimeout)),
    );
    const open = closed.filter((isClosed) => !isClosed).length;
    attacker.expect(open === 0, `${open} unread streams are still open`);
  },
};

const SLOW_REQUESTS = 150;

export const slowWriters: Attack = {
  name: 'slow writers',
  summary: `${SLOW_REQUESTS} requests sent at one byte a second`,
  async run(attacker) {
    const { requestTimeout } = attacker.context;
    const connections = attacker.connections(SLOW_REQUESTS, (index) => {
      const type = index % 2 === 0 ? 'application/json' : 'multipart/form-data; boundary=b';
      const path = index % 2 === 0 ? '/v1/chat/completions' : '/v1/images/upload';
      // Every third connection does not complete its headers.
      const end = index % 3 === 0 ? 'X-Slow: ' : '\r\n';
      return `${attacker.head('POST', path)}Content-Type: ${type}\r\nContent-Length: 100000\r\n${end}`;
    });
    for (const connection of connections) connection.read();
    // Node checks for late requests every ten seconds at most.
    const until = performance.now() + requestTimeout + 60_000;
    while (performance.now() < until && connections.some(({ closed }) => !closed)) {
      for (const connection of connections) connection.write('a');
      await sleep(1000);
    }
    const open = connections.filter(({ closed }) => !closed).length;
    attacker.expect(open === 0, `${open} incomplete requests are still open`);
  },
};

const DOWNLOADS = 200;
/** Milliseconds between two empty lines. */
const PAUSE = 2000;

export const unreadDownloads: Attack = {
  name: 'unread downloads',
  summary: `${DOWNLOADS} unread downloads of a large file; half of them send empty lines`,
  async run(attacker) {
    const { asset, sendTimeout } = attacker.context;
    const request = `GET ${asset} HTTP/1.1\r\nHost: oriel\r\nConnection: close\r\n\r\n`;
    const connections = attacker.connections(DOWNLOADS, () => request);
    const until = performance.now() + sendTimeout + 20_000;
    while (performance.now() < until) {
      // HTTP servers ignore empty lines before a request; its timeouts must ignore them as well.
      for (const [index, each] of connections.entries()) if (index % 2 === 0) each.write('\r\n');
      await sleep(PAUSE);
    }
    for (const connection of connections) connection.read();
    await Promise.all(connections.map((each) => each.closes(attacker.context.hangTimeout)));
    // A closed download breaks off; one that the server kept open is now read to its end.
    const whole = connections.filter(({ text, bytes }) => {
      return bytes > Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Infinity);
    });
    attacker.expect(
      whole.length === 0,
      `${whole.length} downloads waited for a client that reads nothing`,
    );
  },
};
