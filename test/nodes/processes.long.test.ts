import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { valueOr } from '../../src/flow.ts';
import { OWNER_KEY, startDaemon, type TestDaemon } from '../daemon.ts';
import { describeWithPostgres } from '../engines/postgres.ts';
import { SocketClient } from '../http/sockets/socket-client.ts';
import { oriel, temporaryFolder } from '../oriel.ts';

const BODY = JSON.stringify({
  model: 'sandbox-chat',
  messages: [{ role: 'user', content: 'How deep is the harbour?' }],
});

/** Sends a request on a connection of its own; resolves with the status, or the code of the error. */
function ask(url: string): Promise<string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${OWNER_KEY}`, 'content-type': 'application/json' };
    const options = { method: 'POST', agent: false as const, headers };
    httpRequest(`${url}/v1/chat/completions`, options, (response) => {
      response.once('end', () => resolve(String(response.statusCode))).resume();
      response.once('error', ({ message }) => resolve(message));
    })
      .once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
      .end(BODY);
  });
}

/** Sends requests by four clients until `work` has ended. @returns how often each outcome came */
async function underLoad(url: string, work: () => Promise<unknown>) {
  const outcomes: Record<string, number> = {};
  let isOver = false;
  const clients = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const outcome = await ask(url);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      await delay(2);
    }
  });
  await work().finally(() => {
    isOver = true;
  });
  await Promise.all(clients);
  return outcomes;
}

/**
 * Continues one conversation over WebSockets until `work` has ended. Connects again where a process closes a connection.
 *
 * @returns the codes with which connections were closed
 */
async function talk(url: string, first: SocketClient, work: Promise<unknown>) {
  let client = first;
  const codes: number[] = [];
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  let previous: string | null = null;
  while (!isOver) {
    client.create({ model: 'sandbox-chat', input: 'And then?', previous_response_id: previous });
    const end = await client.end().catch(() => null);
    if (end === null) {
      // No response that has begun is left without its end.
      expect(client.events.at(-1)?.type ?? 'none').toMatch(/^(none|response\.completed)$/);
      codes.push(await client.closed);
      client = await SocketClient.open(url);
      continue;
    }
    expect(end.type, JSON.stringify(end)).toBe('response.completed');
    expect(end.response.previous_response_id).toBe(previous);
    previous = end.response.id;
  }
  await over;
  return codes;
}

const childrenOf = ({ child: { pid } }: TestDaemon) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);

const COUNT =
  /^oriel_http_request_duration_seconds_count\{.*chat\/completions",status="200"\} (\d+)$/m;
const countIn = (metrics: string) => Number(COUNT.exec(metrics)?.[1]);

describeWithPostgres('several processes', (server) => {
  it('serve as one, survive the death of one, and are replaced without a refused connection', async () => {
    const config = {
      server: { processes: 2 },
      store: { driver: 'postgres', url: server().url },
      limits: { free: { rpm: 1_000_000 }, paid: { rpm: 1_000_000 } },
    };
    const daemon = await startDaemon({ config });
    const before = childrenOf(daemon);
    expect(before).toHaveLength(2);

    let codes: number[][] = [];
    const replaced = await underLoad(daemon.url, async () => {
      const clients = [1, 2, 3, 4].map(() => SocketClient.open(daemon.url));
      await Promise.all(clients);
      const restart = oriel(['restart', '--data', daemon.data]);
      codes = await Promise.all(
        clients.map(async (client) => talk(daemon.url, await client, restart)),
      );
      expect((await restart).stdout.toString()).toBe('replaced 2 processes\n');
    });
    // Each connection was to one of the processes that ended: going away.
    expect(new Set(codes.flat())).toEqual(new Set([1001]));
    expect(codes.filter((own) => own.length === 0)).toEqual([]);
    expect(Object.keys(replaced)).toEqual(['200']);
    expect(childrenOf(daemon).filter((pid) => before.includes(pid))).toEqual([]);
    // Those of the processes that have ended count too.
    expect(countIn(await daemon.metrics())).toBe(replaced['200']);

    const [victim] = childrenOf(daemon);
    const killed = await underLoad(daemon.url, async () => {
      process.kill(victim!, 'SIGKILL');
      await daemon.logged('process started again');
    });
    const { 200: answered = 0, ...lost } = killed;
    expect(answered).toBeGreaterThan(0);
    // Each of the four clients had one request at most in the process that died.
    expect(Object.values(lost).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(4);
    expect(Object.keys(lost)).not.toContain('ECONNREFUSED');
    expect(childrenOf(daemon)).toHaveLength(2);

    const orphans = childrenOf(daemon);
    await daemon.stop('SIGKILL');
    const isRunning = (pid: number) => {
      return valueOr(() => process.kill(pid, 0), false);
    };
    await expect.poll(() => orphans.filter(isRunning), { timeout: 15_000 }).toEqual([]);
  });
});

it('lowdb serves by one process, and the refusal says why', async () => {
  const data = temporaryFolder();
  const { status, stderr } = await oriel(['serve', '--data', data, '--processes', '2'], {
    cwd: data,
  });
  expect(status).toBe(1);
  expect(stderr).toBe(
    'oriel: server.processes: expected 1 with store.driver lowdb, received 2: one process alone may write its journal; set store.driver to postgres\n',
  );
});
