import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { settled } from '../account.ts';
import { gatewayConfig, gatewayDaemon, modelTo, newKey } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { PATHS, plainBody } from '../raw.ts';
import { USAGE } from '../script.ts';

/** Models of providers whose requests end early. */
const gateway = gatewayDaemon((url) => {
  const { providers, models } = gatewayConfig(url) as Config;
  const hasty = (name: string) => ({ ...providers[name]!, timeouts: { total: '1s' } });
  const routed = (dialect: DialectName, provider: string) => ({
    ...models[modelTo(dialect)],
    routes: [{ provider, model: 'm', dialect }],
  });
  return {
    providers: {
      ...providers,
      'hasty-openai': hasty('openai'),
      'hasty-anthropic': hasty('anthropic'),
    },
    models: {
      ...models,
      'hasty-chat': routed('chat', 'hasty-openai'),
      'hasty-messages': routed('messages', 'hasty-anthropic'),
    },
  };
});

interface Config {
  readonly providers: Readonly<Record<string, object>>;
  readonly models: Readonly<Record<string, object>>;
}

/** Resident memory of a process, in bytes. */
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

// Reads /proc, which only Linux has.
describe.skipIf(process.platform !== 'linux')('a client that does not read its stream', () => {
  it.each(pairs)(
    'client %s, upstream %s: stops the upstream by backpressure, within 96 MB',
    async (client, upstream) => {
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
      // The upstream writes as fast as the gateway reads: no progress for 500 ms means full buffers.
      let unchanged = 0;
      let last = 0;
      while (unchanged < 20) {
        await delay(25);
        const now = received.written();
        unchanged = now === last && now > 0 ? unchanged + 1 : 0;
        last = now;
        expect(now).toBeLessThan(64 * MEGABYTE);
      }
      expect(memoryOf(daemon.child.pid!) - before).toBeLessThan(96 * MEGABYTE);
      socket.destroy();
      expect(await received.closed).toBe('cut');
    },
  );
});

it.each([
  ['chat', 'chat'],
  ['messages', 'messages'],
  ['messages', 'chat'],
] as const)(
  'a client of %s, upstream %s, that stops reading is charged by its limit',
  async (client, upstream) => {
    const { daemon, upstream: mock } = gateway();
    const key = await newKey(daemon, `stalled-${client}-${upstream}`);
    mock.play({
      steps: [{ text: '', pieces: Array.from({ length: 256 }, () => 'x'.repeat(64 * 1024)) }],
      usage: { input: 20, output: 49_000, reasoning: 48_000 },
    });
    const limit = client === 'chat' ? 'max_completion_tokens' : 'max_tokens';
    const more = { stream: true, [limit]: 50_000 };
    const body = JSON.stringify(plainBody(client, `hasty-${upstream}`, more));
    const { hostname, port } = new URL(daemon.url);
    const socket = connect(Number(port), hostname);
    socket.pause();
    socket.write(
      `POST ${PATHS[client]} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const { spent } = (await settled(daemon, key)).credits;
    expect(spent).toBeGreaterThanOrEqual(500);
    socket.destroy();
  },
);
