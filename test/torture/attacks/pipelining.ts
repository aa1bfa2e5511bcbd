import type { Attack, Attacker, Raw } from './attack.ts';

const CONNECTIONS = 16;
const REQUESTS = 4000;

async function pipeline(attacker: Attacker, path: string): Promise<Raw> {
  const connection = await attacker.socket();
  const request = `GET ${path} HTTP/1.1\r\nHost: oriel\r\n\r\n`;
  for (let sent = 0; sent < REQUESTS; sent += 100) connection.write(request.repeat(100));
  return connection;
}

export const pipelining: Attack = {
  name: 'pipelining',
  summary: `${CONNECTIONS} connections without a key, ${REQUESTS} requests each, responses unread`,
  async run(attacker) {
    const paths = ['/openapi.json', '/console', '/healthz'];
    const connections: Raw[] = [];
    for (let index = 0; index < CONNECTIONS; index += 1) {
      connections.push(await pipeline(attacker, paths[index % paths.length]!));
    }
    await Promise.all(connections.map((each) => each.closes(attacker.context.sendTimeout + 8000)));
    for (const connection of connections) {
      connection.read();
      const isClosed = await connection.closes(60_000);
      attacker.expect(isClosed, 'a connection whose client reads nothing stays open');
      const answers = connection.statuses.length;
      attacker.expect(
        answers < REQUESTS,
        `${answers} answers waited for a client that reads nothing`,
      );
    }
  },
};
