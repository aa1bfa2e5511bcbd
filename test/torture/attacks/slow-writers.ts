import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './attack.ts';

const CONNECTIONS = 150;

export const slowWriters: Attack = {
  name: 'slow writers',
  summary: `${CONNECTIONS} requests sent at one byte a second`,
  async run(attacker) {
    const { requestTimeout } = attacker.context;
    const connections = await Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, index) => {
        const connection = await attacker.socket();
        connection.read();
        const type = index % 2 === 0 ? 'application/json' : 'multipart/form-data; boundary=b';
        const path = index % 2 === 0 ? '/v1/chat/completions' : '/v1/images/upload';
        // Every third connection does not complete its headers.
        const end = index % 3 === 0 ? 'X-Slow: ' : '\r\n';
        connection.write(
          `POST ${path} HTTP/1.1\r\nHost: oriel\r\nAuthorization: Bearer ${attacker.key}\r\n` +
            `Content-Type: ${type}\r\nContent-Length: 100000\r\n${end}`,
        );
        return connection;
      }),
    );
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
