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
];

export const malformedRequests: Attack = {
  name: 'malformed requests',
  summary: 'request smuggling, oversized headers, and bytes that are not HTTP',
  async run(attacker) {
    for (const [bytes, expected] of REQUESTS) {
      const connection = await attacker.socket();
      connection.read();
      connection.write(Buffer.from(bytes, 'latin1'));
      const isClosed = await connection.closes(60_000);
      const [status] = connection.statuses;
      const text = `${JSON.stringify(bytes.slice(0, 120))} was answered ${status}`;
      attacker.expect(status !== undefined && expected.includes(status), text);
      attacker.expect(isClosed, `${text}, and the connection stays`);
      attacker.expect(connection.statuses.length === 1, `${text}, twice`);
    }
  },
};
