import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, Response as Body, FormData, fetch } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { METRICS_TOKEN, OWNER_KEY, startDaemon, type TestDaemon } from '../../daemon.ts';
import { photo } from '../../fixtures/images.ts';
import { listening } from '../../fixtures/server.ts';
import { newKey } from '../../text/gateway-daemon.ts';

interface TestUpstream {
  readonly url: string;
  readonly requests: () => number;
}

/** An upstream of chat; one that hangs never answers. */
async function startUpstream({ hangs }: { hangs: boolean }): Promise<TestUpstream> {
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      requests += 1;
      if (hangs) return;
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
      response.end(
        JSON.stringify({
          id: 'x',
          object: 'chat.completion',
          created: 1,
          model: 'm',
          choices: [
            { index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' },
          ],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        }),
      );
    });
  });
  return { url: `${await listening(server)}/v1`, requests: () => requests };
}

/** Computes for nine tenths of the time. */
const BUSY =
  'setInterval(() => { const end = performance.now() + 180; while (performance.now() < end); }, 200).unref()';

const models = {
  remote: { type: 'text', routes: [{ provider: 'remote', model: 'm' }] },
  local: { type: 'text', routes: [{ provider: 'sandbox', model: 'chat' }] },
  draw: { type: 'image', routes: [{ provider: 'sandbox', model: 'image' }] },
};

function settings(upstream: TestUpstream, further: object = {}): object {
  const remote = { kind: 'openai', baseUrl: upstream.url };
  return {
    limits: { paid: { rpm: 1_000_000 } },
    providers: { remote, sandbox: { kind: 'sandbox' } },
    models,
    ...further,
  };
}

function chat(model: string, content: unknown, further: object = {}): object {
  return { model, max_tokens: 1, messages: [{ role: 'user', content }], ...further };
}

it('a daemon that got no processor time refuses nothing for that', async () => {
  // Far more than its own work takes on a slow machine, and far less than the stop.
  const daemon = await startDaemon({ config: { overload: { eventLoopDelay: '500ms' } } });
  daemon.child.kill('SIGSTOP');
  // Longer than its window of a second, whose average the stop then is.
  await delay(4000);
  daemon.child.kill('SIGCONT');
  const until = performance.now() + 1500;
  const statuses = new Set<number>();
  while (performance.now() < until) {
    statuses.add((await daemon.request('/v1/models')).status);
    await delay(10);
  }
  expect([...statuses]).toEqual([200]);
});

it('a daemon whose own work keeps it late is not ready', async () => {
  const daemon = await startDaemon({
    config: { overload: { eventLoopDelay: '10ms' } },
    env: { NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(BUSY)}"` },
  });
  await expect.poll(async () => (await daemon.request('/readyz')).status).toBe(503);
  // A machine that is busy with other work takes turns in giving it processor time.
  await expect
    .poll(async () => (await daemon.request('/v1/models')).json())
    .toMatchObject({ error: { code: 'overloaded' } });
});

it('with a heap of 128 MB and an upstream that hangs, serves others while one account floods it', async () => {
  const upstream = await startUpstream({ hangs: true });
  const daemon = await startDaemon({
    // This is about memory: parsing the flood also keeps a slow machine's event loop late.
    config: settings(upstream, { overload: { eventLoopDelay: '10s' } }),
    env: { NODE_OPTIONS: '--max-old-space-size=128' },
  });
  const key = await newKey(daemon, 'other');
  for (const [request, count] of [
    [chat('remote', 'x'.repeat(20_000)), 500],
    [chat('remote', 'x'.repeat(500_000)), 150],
    [chat('remote', 'x', { metadata: { k: Array(80_000).fill({}) } }), 100],
  ] as const) {
    const body = JSON.stringify(request);
    const before = upstream.requests();
    const agent = new Agent();
    const statuses: number[] = [];
    let settled = 0;
    const flood = Array.from({ length: count }, () =>
      fetch(`${daemon.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${OWNER_KEY}`, 'content-type': 'application/json' },
        body,
        dispatcher: agent,
      })
        .then(async (response) => {
          await response.text();
          statuses.push(response.status);
        })
        .catch(() => {})
        .finally(() => {
          settled += 1;
        }),
    );
    // Until the upstream holds all requests that were not refused.
    do {
      const small = await daemon.send('/v1/chat/completions', chat('local', 'hello'), { key });
      expect(small.status).toBe(200);
      expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200);
    } while (upstream.requests() - before + settled < count);
    expect(statuses).toContain(429);
    await agent.destroy();
    await Promise.all(flood);
    // The memory becomes free again: the account that sent the flood is served as before.
    let later: Response;
    do {
      later = await daemon.send('/v1/chat/completions', chat('local', 'x'.repeat(500_000)));
    } while (later.status === 429 || later.status === 503);
    expect(later.status).toBe(200);
  }
});

it('refuses all routes but vital ones while the process uses more than overload.memory', async () => {
  // No daemon fits into this.
  const daemon = await startDaemon({
    config: { overload: { memory: '64MB' } },
  });
  const refused = await daemon.request('/v1/account');
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refused.json()).toEqual({
    error: {
      type: 'service_error',
      message: 'the server is overloaded: memory is short',
      param: null,
      code: 'overloaded',
    },
  });
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  for (const [path, status] of [
    ['/healthz', 200],
    ['/metrics', 200],
    // A balancer sends the next request elsewhere.
    ['/readyz', 503],
  ] as const) {
    expect((await daemon.request(path, { headers })).status, path).toBe(status);
  }
});

describe('with 110 descriptors', () => {
  /** Connects until connections use all descriptors, and the daemon closes further ones. */
  async function useUpDescriptors({ url }: TestDaemon): Promise<readonly Socket[]> {
    const { hostname, port } = new URL(url);
    const sockets: Socket[] = [];
    let closed = 0;
    while (closed < 100) {
      const socket = connect(Number(port), hostname);
      sockets.push(socket);
      socket.on('error', () => {}).resume();
      await new Promise<void>((resolve) => {
        socket.once('close', () => {
          closed += 1;
          resolve();
        });
        // Answered: it was accepted.
        socket.once('data', () => resolve());
        socket.write('GET /healthz HTTP/1.1\r\nHost: oriel\r\n\r\n');
      });
    }
    return sockets;
  }

  it('serves open connections, refuses requests that need a descriptor, keeps tasks, and recovers', async () => {
    const upstream = await startUpstream({ hangs: false });
    const daemon = await startDaemon({
      config: settings(upstream, { server: { maxConnections: 1000 } }),
      descriptors: 110,
    });
    const dispatcher = new Agent({ connections: 1, pipelining: 1, keepAliveTimeout: 600_000 });
    onTestFinished(() => dispatcher.destroy());
    const headers = { authorization: `Bearer ${OWNER_KEY}` };
    const get = (path: string) => fetch(daemon.url + path, { headers, dispatcher });
    // A refusal of a body that is still arriving closes the connection, and no other could be opened: forms are sent
    // with their headers in one write too.
    const post = async (path: string, body: string | FormData) => {
      const whole = new Body(body);
      const type =
        typeof body === 'string' ? 'application/json' : whole.headers.get('content-type');
      return fetch(daemon.url + path, {
        method: 'POST',
        headers: { ...headers, 'content-type': `${type}` },
        body: new Uint8Array(await whole.arrayBuffer()),
        dispatcher,
      });
    };
    const picture = new Blob([
      new Uint8Array(await photo({ width: 64, height: 48 }).png().toBuffer()),
    ]);
    const form = (name: string) => {
      const data = new FormData();
      data.append(name, picture, 'a.png');
      return data;
    };
    const uploaded = await post('/v1/images/upload', form('file'));
    const asset = new URL(((await uploaded.json()) as { url: string }).url).pathname;
    const status = async (answer: ReturnType<typeof fetch>) => {
      const response = await answer;
      await response.arrayBuffer();
      return [response.status, response.headers.has('retry-after')];
    };
    const needDescriptors = () => [
      () => post('/v1/chat/completions', JSON.stringify(chat('remote', 'hello'))),
      () => post('/v1/images/upload', form('file')),
      () => post('/api/free/batch-image-hash', form('files')),
      () => get(asset),
    ];

    const sockets = await useUpDescriptors(daemon);
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/v1/account']) {
      expect(await status(get(path)), path).toEqual([200, false]);
    }
    for (const ask of needDescriptors()) {
      expect(await status(ask()), ask.toString()).toEqual([503, true]);
    }
    const task = await post('/v1/images/generations', '{"model":"draw","prompt":"a boat"}');
    expect(task.status).toBe(202);
    const { task_id: id } = (await task.json()) as { task_id: string };
    daemon.child.kill('SIGHUP');
    await daemon.logged('the configuration is at fault; the one before stays in force');

    for (const socket of sockets) socket.destroy();
    let ended: string;
    do {
      const { status } = (await (await get(`/v1/tasks/${id}`)).json()) as { status: string };
      ended = status;
    } while (ended === 'pending' || ended === 'processing');
    expect(ended).toBe('completed');
    for (const ask of needDescriptors()) {
      expect((await ask()).status, ask.toString()).toBe(200);
    }
    expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200);
  });
});
