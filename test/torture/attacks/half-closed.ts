import type { Attack } from './attack.ts';

const CONNECTIONS = 60;

export const halfClosed: Attack = {
  name: 'half-closed connections',
  summary: `${CONNECTIONS} clients that close their side after a request, or in the middle of one`,
  async run(attacker) {
    const head = `HTTP/1.1\r\nHost: oriel\r\nAuthorization: Bearer ${attacker.key}\r\n`;
    const connections = await Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, index) => {
        const connection = await attacker.socket({ halfOpen: true });
        connection.read();
        const isWhole = index % 2 === 0;
        connection.write(
          isWhole
            ? `GET /v1/models ${head}\r\n`
            : `POST /v1/chat/completions ${head}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"mo`,
        );
        connection.socket.end();
        return { connection, isWhole };
      }),
    );
    for (const { connection, isWhole } of connections) {
      const isClosed = await connection.closes(60_000);
      attacker.expect(isClosed, 'a connection closed by its client stays open');
      const [status] = connection.statuses;
      const isAnswered = !isWhole || status === 200 || status === 503 || status === 429;
      attacker.expect(isAnswered, `a whole request was answered ${status}`);
    }
  },
};
