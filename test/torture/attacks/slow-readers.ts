import { textBody } from '../tenants/good-work.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS = 40;

export const slowReaders: Attack = {
  name: 'slow readers',
  summary: `${CONNECTIONS} unread long streams`,
  async run(attacker) {
    const body = JSON.stringify(textBody('chat', 'to-chat', 'torture:long', { stream: true }));
    const connections = await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        const connection = await attacker.socket();
        connection.write(
          `POST /v1/chat/completions HTTP/1.1\r\nHost: oriel\r\nAuthorization: Bearer ${attacker.key}\r\n` +
            `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
            `Connection: close\r\n\r\n${body}`,
        );
        return connection;
      }),
    );
    await connections[0]!.closes(attacker.context.sendTimeout + 10_000);
    for (const connection of connections) connection.read();
    const closed = await Promise.all(connections.map((each) => each.closes(60_000)));
    const open = closed.filter((isClosed) => !isClosed).length;
    attacker.expect(open === 0, `${open} unread streams are still open`);
  },
};
