import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedDaemon } from '../../daemon.ts';
import { sharedServer } from '../../fixtures/server.ts';
import { newKey } from '../../text/gateway-daemon.ts';

const SECRET = 'sk-wrong-5ecre7-0123456789';

/** A provider that refuses every key with 401, and quotes it, or that is busy. */
const upstream = sharedServer(
  createServer(({ headers, url }, response) => {
    const status = url!.startsWith('/busy') ? 429 : 401;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: `wrong key: ${headers.authorization}` } }));
  }),
);

const daemon = sharedDaemon({
  // Read when the daemon starts, after the provider has a port.
  get config() {
    return {
      routing: { retries: 0, cooldown: { after: 1, for: '1m' } },
      owner: { credits: 1000 },
      providers: {
        sandbox: { kind: 'sandbox' },
        broken: { kind: 'openai', baseUrl: `${upstream()}/v1`, apiKey: SECRET },
        busy: { kind: 'openai', baseUrl: `${upstream()}/busy/v1`, apiKey: SECRET },
      },
      models: {
        chat: {
          type: 'text',
          price: { input: 10, output: 20 },
          routes: [{ provider: 'sandbox', model: 'chat' }],
        },
        image: { type: 'image', routes: [{ provider: 'sandbox', model: 'image' }] },
        busy: { type: 'text', routes: [{ provider: 'busy', model: 'gpt-any' }] },
        lost: { type: 'text', routes: [{ provider: 'broken', model: 'gpt-any' }] },
      },
    };
  },
});

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: Readonly<Record<string, never>>;
}

async function send(path: string, key?: string, body?: object): Promise<Answer> {
  const response = await daemon().send(path, body, { key });
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) as Answer['body'] };
}

const chat = (model: string, key?: string) =>
  send('/v1/chat/completions', key, { model, messages: [{ role: 'user', content: 'a secret' }] });

interface Listed {
  readonly id: string;
  readonly number: number;
  readonly [name: string]: unknown;
}

async function list(path: string, key?: string): Promise<readonly Listed[]> {
  return (await send(path, key)).body['data'] as unknown as Listed[];
}

let one: string;
let other: string;
let task: string;

beforeAll(async () => {
  one = await newKey(daemon(), 'one');
  other = await newKey(daemon(), 'other');
  await chat('chat', one);
  const created = await send('/v1/images/generations', one, { model: 'image', prompt: 'a secret' });
  task = created.body['task_id'] as unknown as string;
  await chat('lost', one);
});

it('usage has errors by model, without requests that a limit of the key refused', async () => {
  const limited = await newKey(daemon(), 'limited', { credits: '0' });
  expect((await chat('chat', limited)).status).toBe(402);
  // At the second time all routes cool down.
  for (const _ of [1, 2]) expect((await chat('busy', limited)).status).toBe(429);
  expect(await list('/v1/account/usage?by=model', limited)).toMatchObject([
    { model: 'busy', requests: 2, errors: 2 },
  ]);
  const usage = await list('/v1/account/usage?by=model', one);
  const rows = usage.filter(({ model }) => model !== 'image');
  expect(rows).toMatchObject([
    { model: 'chat', requests: 1, errors: 0 },
    { model: 'lost', requests: 1, errors: 1, credits: 0 },
  ]);
});

describe('recent requests', () => {
  it('have model, tokens, credits and errors, without bodies and without providers', async () => {
    // A request is in the log at the end of its answer, which its client may see before.
    await expect.poll(() => list('/v1/requests', one)).toHaveLength(3);
    const [lost, image, text] = await list('/v1/requests', one);
    expect(text).toMatchObject({
      object: 'request',
      id: expect.any(String),
      route: '/v1/chat/completions',
      status: 200,
      error: null,
      model: 'chat',
      attempts: 1,
      output_tokens: expect.any(Number),
      cached_input_tokens: 0,
    });
    expect(text!['credits']).toBeGreaterThan(0);
    expect(image).toMatchObject({ model: 'image', status: 202, task_id: task, credits: null });
    expect(lost).toMatchObject({ model: 'lost', error: { code: 'upstream_auth' } });
    const answer = await send('/v1/requests', one);
    expect(answer.text).not.toMatch(/a secret|5ecre7|broken|provider"/);
  });

  it('are listed by key, model, class of status and page', async () => {
    expect(await list('/v1/requests?model=chat', one)).toHaveLength(1);
    expect(await list('/v1/requests?status=2xx', one)).toHaveLength(2);
    expect(await list('/v1/requests?status=5xx', one)).toHaveLength(1);
    const [newest] = await list('/v1/requests?limit=1', one);
    const rest = await list(`/v1/requests?after=${newest!.number}`, one);
    expect(rest.map(({ model }) => model)).toEqual(['image', 'chat']);
    expect((await send('/v1/requests?status=7xx', one)).status).toBe(400);
  });

  it('of all accounts have account and provider, for the operator', async () => {
    const [lost] = await list('/v1/admin/requests?account=one&model=lost');
    expect(lost).toMatchObject({
      account: { name: 'one' },
      provider: 'broken',
      upstream_model: 'gpt-any',
    });
    expect(await list('/v1/admin/requests?account=other')).toEqual([]);
  });
});

describe('GET /v1/admin/models', () => {
  it('says which provider has a wrong key, without the key, and which route cools down', async () => {
    const { body, text } = await send('/v1/admin/models');
    expect(text).not.toContain('5ecre7');
    expect(body['providers']).toMatchObject([
      { name: 'sandbox', state: 'ok', problem: null, failures: [] },
      {
        name: 'broken',
        kind: 'openai',
        state: 'wrong_key',
        problem: expect.stringMatching(/provider broken does not accept .* \(status 401\)/),
        failures: [
          {
            status: 401,
            code: 'upstream_auth',
            message: expect.stringMatching(/^status 401: wrong key/),
          },
        ],
      },
      { name: 'busy' },
    ]);
    const models = body['models'] as unknown as Listed[];
    expect(models.find(({ id }) => id === 'chat')).toMatchObject({ routes: [{ resting: null }] });
    expect(models.find(({ id }) => id === 'lost')).toMatchObject({
      routes: [{ provider: 'broken', resting: { reason: 'upstream_auth' } }],
    });
  });
});

describe('GET /v1/admin/status', () => {
  it('has the version, the store, the disk and the queues', async () => {
    const { body } = await send('/v1/admin/status');
    expect(body).toMatchObject({
      object: 'status',
      node: process.versions.node,
      draining: false,
      store: { fault: null, accounts: 4 },
      disk: { store_bytes: expect.any(Number), free_bytes: expect.any(Number) },
      pool: { threads: expect.any(Number), running: expect.any(Number) },
      queues: [{ provider: 'sandbox', limit: expect.any(Number), waiting: 0 }],
    });
  });
});

describe('no GET endpoint', () => {
  it('shows data of another account, or of the operator', async () => {
    const { paths } = (await send('/openapi.json')).body as unknown as {
      paths: Record<string, { get?: { parameters?: { name: string; in: string }[] } }>;
    };
    const { id: account, key } = (await send('/v1/account', one)).body as unknown as {
      id: string;
      key: { id: string };
    };
    const secrets = [
      account,
      key.id,
      task,
      ...(await list('/v1/requests', one)).map(({ id }) => id),
    ];
    // Of parameters in paths only identifiers of tasks belong to an account.
    // Streams of events do not end; their own tests have two accounts.
    const routes = Object.entries(paths).filter(
      ([path, { get }]) => get && path.startsWith('/v1') && !path.endsWith('/events'),
    );
    expect(routes.length).toBeGreaterThan(20);
    for (const [path, { get }] of routes) {
      const place = path.replace('{task_id}', task).replace(/\{\w+\}/, 'chat');
      const filters = (get!.parameters ?? []).filter((parameter) => parameter.in === 'query');
      const named: Record<string, string> = { key: key.id, account, name: 'one', after: task };
      const queries = filters.flatMap(({ name }) =>
        named[name] ? [`?${name}=${named[name]}`] : [],
      );
      for (const query of ['', ...queries]) {
        const { status, text } = await send(place + query, other);
        if (path.startsWith('/v1/admin/')) expect(status, place + query).toBe(403);
        if (path.includes('{task_id}')) expect(status, place).toBe(404);
        // Errors may quote the identifier that the request has.
        if (status === 200) {
          expect(
            secrets.filter((secret) => text.includes(secret)),
            place + query,
          ).toEqual([]);
        }
        expect(text, place + query).not.toMatch(/5ecre7|"one"/);
      }
    }
  });
});

describe('GET /v1/admin/config', () => {
  it('has the settings in force without secrets, and the faults of a file that was refused', async () => {
    const { body, text } = await send('/v1/admin/config');
    expect(text).not.toMatch(/5ecre7|oriel_test_metrics_token/);
    const file = join(daemon().data, 'oriel.yaml');
    expect(body).toMatchObject({
      object: 'configuration',
      file,
      settings: {
        dataDir: expect.stringContaining(daemon().data),
        server: { host: '127.0.0.1', port: 0 },
        routing: { retries: 0 },
        providers: { broken: { kind: 'openai', apiKey: '***' } },
      },
      warnings: expect.any(Array),
      at_restart: [],
      refused: null,
    });
    const before = readFileSync(file, 'utf8');
    writeFileSync(file, JSON.stringify({ ...JSON.parse(before), routing: { retries: 'many' } }));
    daemon().child.kill('SIGHUP');
    await daemon().logged('the configuration is at fault; the one before stays in force');
    const refused = await send('/v1/admin/config');
    expect(refused.body).toMatchObject({
      settings: { routing: { retries: 0 } },
      refused: { faults: [expect.stringMatching(/routing\.retries/)] },
    });
    writeFileSync(file, before);
    daemon().child.kill('SIGHUP');
    await daemon().logged('the configuration was read again');
    expect((await send('/v1/admin/config')).body).toMatchObject({ refused: null });
  });
});
