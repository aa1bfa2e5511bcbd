import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './attack.ts';

const CONNECTIONS = 200;
/** Milliseconds between two empty lines. */
const PAUSE = 2000;

export const unreadDownloads: Attack = {
  name: 'unread downloads',
  summary: `${CONNECTIONS} unread downloads of a large file; half of them send empty lines`,
  async run(attacker) {
    const { asset, sendTimeout } = attacker.context;
    const connections = await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        const connection = await attacker.socket();
        connection.write(`GET ${asset} HTTP/1.1\r\nHost: oriel\r\nConnection: close\r\n\r\n`);
        return connection;
      }),
    );
    const until = performance.now() + sendTimeout + 20_000;
    while (performance.now() < until) {
      // HTTP servers ignore empty lines before a request; its timeouts must ignore them as well.
      for (const [index, each] of connections.entries()) if (index % 2 === 0) each.write('\r\n');
      await sleep(PAUSE);
    }
    for (const connection of connections) connection.read();
    await Promise.all(connections.map((each) => each.closes(60_000)));
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
