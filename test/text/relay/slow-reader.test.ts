import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { gatewayDaemon, modelTo } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { PATHS, plainBody } from '../raw.ts';
import { USAGE } from '../script.ts';

const gateway = gatewayDaemon();

/** Bytes of memory that a process has. */
function memoryOf(pid: number): number {
  const pages = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1];
  return Number(pages) * 4096;
}

const MEGABYTE = 1024 * 1024;
const pairs: readonly (readonly [DialectName, DialectName])[] = [
  ['chat', 'chat'],
  ['messages', 'messages'],
  ['chat', 'messages'],
  ['responses', 'chat'],
];

// Memory of another process is told by Linux alone.
describe.skipIf(process.platform !== 'linux')('a reader that does not read', () => {
  it.each(pairs)('client %s, upstream %s: holds upstream back', async (client, upstream) => {
    const { daemon, upstream: mock } = gateway();
    const line = 'x'.repeat(16 * 1024);
    mock.play({
      steps: [{ text: line.repeat(4), pieces: [line, line, line, line] }],
      usage: USAGE,
      fault: { after: upstream === 'messages' ? 4 : 3, how: 'endless' },
    });
    const body = JSON.stringify(plainBody(client, modelTo(upstream), { stream: true }));
    const { hostname, port } = new URL(daemon.url);
    const before = memoryOf(daemon.child.pid!);
    const socket = connect(Number(port), hostname);
    socket.pause();
    socket.write(
      `POST ${PATHS[client]} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${OWNER_KEY}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const received = await mock.received();
    // Upstream writes as fast as it is read: once it stands still for long, everything is full.
    let standing = 0;
    let last = 0;
    while (standing < 20) {
      await delay(25);
      const now = received.written();
      standing = now === last && now > 0 ? standing + 1 : 0;
      last = now;
      expect(now).toBeLessThan(64 * MEGABYTE);
    }
    expect(memoryOf(daemon.child.pid!) - before).toBeLessThan(96 * MEGABYTE);
    socket.destroy();
    expect(await received.closed).toBe('cut');
  });
});
