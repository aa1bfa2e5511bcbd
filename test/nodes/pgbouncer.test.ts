import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { describeWith } from '../engines/engine.ts';
import { PGBOUNCER, startPgbouncer } from '../engines/pgbouncer.ts';

/** The startup message of PostgreSQL's protocol, version 3.0. */
function startupMessage(user: string, database: string): Buffer {
  const fields = Buffer.from(`user\0${user}\0database\0${database}\0\0`);
  const header = Buffer.alloc(8);
  header.writeInt32BE(8 + fields.length, 0);
  header.writeInt32BE(0x3_00_00, 4);
  return Buffer.concat([header, fields]);
}

describeWith([PGBOUNCER], 'pgbouncer of the tests', () => {
  test('accepts a user at the address that it has', async () => {
    const pgbouncer = await startPgbouncer({ postgresPort: 1, users: ['oriel'] });
    onTestFinished(() => pgbouncer.close());
    const { hostname, port, username } = new URL(pgbouncer.urlOf('oriel', 'oriel'));
    // Its own database, for which it asks no server.
    const answer = await new Promise<Buffer>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(startupMessage(username, 'pgbouncer'));
      });
      socket.once('data', (bytes) => {
        socket.destroy();
        resolve(bytes);
      });
      socket.once('error', reject);
    });
    // AuthenticationOk
    expect(answer.subarray(0, 9)).toEqual(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]));
  });
});
