import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { resolveByDns } from '../../src/upstream/guarded-connector.ts';

const A = 1;
const AAAA = 28;

/** A name server of one zone: the address data by type, or the code of an error. */
async function nameServer(zone: ReadonlyMap<number, readonly Buffer[] | number>): Promise<string> {
  const socket = createSocket('udp4');
  onTestFinished(() => {
    socket.close();
  });
  socket.on('message', (query, { port, address }) => {
    // The question: a name, which ends with an empty label, its type and its class (RFC 1035 4.1).
    const end = query.indexOf(0, 12) + 5;
    const type = query.readUInt16BE(end - 4);
    const found = zone.get(type) ?? [];
    const records = typeof found === 'number' ? [] : found;
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8180 | (typeof found === 'number' ? found : 0), 2);
    header.writeUInt16BE(records.length, 6);
    header.writeUInt32BE(0, 8);
    const answers = records.map((data) => {
      const record = Buffer.alloc(12);
      // The name is the one at byte 12, and the answer may be kept for no second.
      record.writeUInt16BE(0xc00c, 0);
      record.writeUInt16BE(type, 2);
      record.writeUInt16BE(1, 4);
      record.writeUInt16BE(data.length, 10);
      return Buffer.concat([record, data]);
    });
    socket.send(Buffer.concat([header, query.subarray(12, end), ...answers]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return `127.0.0.1:${socket.address().port}`;
}

const FOUR = [Buffer.from([192, 0, 2, 1]), Buffer.from([127, 0, 0, 1])];
const SIX = [Buffer.from('20010db8000000000000000000000001', 'hex')];
const FAILED = 2;

it.each([
  ['both kinds', FOUR, SIX, ['192.0.2.1', '127.0.0.1', '2001:db8::1']],
  ['IPv4 alone', FOUR, [], ['192.0.2.1', '127.0.0.1']],
  ['IPv6 alone', [], SIX, ['2001:db8::1']],
  ['one kind where the other fails', FAILED, SIX, ['2001:db8::1']],
] as const)('resolves the addresses of a name: %s', async (_, four, six, addresses) => {
  const server = await nameServer(
    new Map<number, readonly Buffer[] | number>([
      [A, four],
      [AAAA, six],
    ]),
  );
  expect(await resolveByDns('name.example', [server])).toEqual(addresses);
});

it('rejects a name without addresses', async () => {
  const server = await nameServer(new Map());
  await expect(resolveByDns('name.example', [server])).rejects.toThrow('ENODATA name.example');
});
