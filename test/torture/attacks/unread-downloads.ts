import type { Attack } from './attack.ts';

const CONNECTIONS = 200;

export const unreadDownloads: Attack = {
  name: 'unread downloads',
  summary: `${CONNECTIONS} downloads of a large file of which nothing is read`,
  async run(attacker) {
    const { asset, sendTimeout } = attacker.arms;
    const connections = await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        const connection = await attacker.socket();
        connection.write(`GET ${asset} HTTP/1.1\r\nHost: oriel\r\nConnection: close\r\n\r\n`);
        return connection;
      }),
    );
    await connections[0]!.closes(sendTimeout + 20_000);
    for (const connection of connections) connection.read();
    await Promise.all(connections.map((each) => each.closes(20_000)));
    // What the server closed breaks off; what it kept is downloaded to its end now.
    const whole = connections.filter(({ text, bytes }) => {
      return bytes > Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Infinity);
    });
    attacker.expect(
      whole.length === 0,
      `${whole.length} downloads waited for a client that reads nothing`,
    );
  },
};
