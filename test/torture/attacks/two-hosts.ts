import type { Attack } from './attack.ts';

export const twoHosts: Attack = {
  name: 'two Host headers',
  summary: 'a request with two Host headers',
  async run(attacker) {
    const connection = await attacker.socket();
    connection.read();
    connection.write(
      'GET /healthz HTTP/1.1\r\nHost: oriel\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    );
    await connection.closes(60_000);
    const [status] = connection.statuses;
    attacker.expect(status === 400, `was answered ${status}`);
  },
};
