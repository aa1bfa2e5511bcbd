import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../daemon.ts';
import { gate } from '../gate.ts';
import { ask as askGateway, DONE } from './ask.ts';
import { gatewayConfig, newKey } from './gateway-daemon.ts';
import { type Admit, type MockUpstream, startMockUpstream } from './mock-upstream.ts';
import type { Script } from './script.ts';

const keyNamed = (name: string) => `sk-${name}-5ecre7-0123456789abcdef`;

type Refusal = NonNullable<Script['refuse']>;

const UNKNOWN: Refusal = {
  status: 401,
  body: { error: { message: 'Incorrect API key provided' } },
};
const FORBIDDEN: Refusal = { status: 403, body: { error: { message: 'flagged' } } };
const limited = (seconds: number): Refusal => ({
  status: 429,
  headers: { 'retry-after': String(seconds) },
  body: { error: { message: 'slow down' } },
});

/** How the upstream refuses keys, by their names; all others are served. */
let refusals: Readonly<Record<string, Refusal>> = {};
/** Names of the keys of all requests, in order. */
let asked: string[] = [];

const admit: Admit = ({ headers }) => {
  const name = /^Bearer sk-(\w+)-/.exec(headers.authorization ?? '')?.[1] ?? 'none';
  asked.push(name);
  return refusals[name] ?? 'chat';
};

let upstream: MockUpstream;
beforeAll(async () => {
  upstream = await startMockUpstream(admit);
});
afterAll(() => upstream.close());
beforeEach(() => {
  refusals = {};
  asked = [];
  upstream.play(DONE);
});

const provider = (...names: string[]) => ({
  kind: 'openai',
  baseUrl: upstream.url,
  apiKeys: names.map(keyNamed),
});

const MANY = Array.from({ length: 12 }, (_, index) => `many${index}`);

/** A provider for each test: rests of keys outlast it. */
function config(): object {
  const providers = {
    turns: provider('t1', 't2', 't3'),
    limited: provider('l1', 'l2'),
    brief: provider('b1'),
    mixed: { ...provider('m2'), apiKey: keyNamed('m1') },
    wrong: provider('w1', 'w2'),
    forbidden: provider('f1'),
    many: provider(...MANY),
    spare: provider('spare'),
    rotated: provider('r1'),
    ...{ failing: provider('x1'), flagging: provider('x2'), throttling: provider('x3') },
  };
  const names = Object.keys(providers);
  const route = (name: string) => ({ provider: name, model: `of-${name}` });
  return gatewayConfig(upstream.url, {
    routing: { retries: 1, cooldown: { after: 3, for: '1h' } },
    providers,
    models: {
      ...Object.fromEntries(names.map((name) => [name, { type: 'text', routes: [route(name)] }])),
      'wrong-or-spare': { type: 'text', routes: [route('wrong'), route('spare')] },
      'wrong-other': { type: 'text', routes: [{ provider: 'wrong', model: 'other' }] },
    },
  });
}

const shared = sharedDaemon({
  get config() {
    return config();
  },
});

const ask = (model: string, more: object = {}, key = OWNER_KEY) =>
  askGateway({ daemon: shared(), upstream }, 'chat', model, more, { key, play: [] });

const gauge = async (name: string) => {
  const lines = (await shared().metrics())
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`));
  return Object.fromEntries(
    lines.map((line) => [/provider="(\w+)"/.exec(line)![1], Number(line.split(' ').at(-1))]),
  );
};

interface Upstreams {
  readonly upstreams?: { readonly routes: object[]; readonly keys: object[] };
}

const readiness = async (authorization?: string) => {
  const headers = authorization === undefined ? {} : { authorization };
  const response = await fetch(`${shared().url}/readyz`, { headers });
  return (await response.json()) as Upstreams;
};

describe('several keys of a provider', () => {
  it('are used in turn', async () => {
    for (let count = 0; count < 4; count += 1) expect((await ask('turns')).status).toBe(200);
    expect(asked).toEqual(['t1', 't2', 't3', 't1']);
  });

  it.each([false, true])('cool down on 429 for Retry-After; stream %s', async (stream) => {
    refusals = { l1: limited(stream ? 301 : 300) };
    expect((await ask('limited', { stream })).status).toBe(200);
    expect((await ask('limited', { stream })).status).toBe(200);
    // The first request of the other case found the key resting.
    expect(asked).toEqual(stream ? ['l2', 'l2'] : ['l1', 'l2', 'l2']);
    expect(await gauge('oriel_provider_keys_resting')).toMatchObject({ limited: 1 });
    expect(await gauge('oriel_routes_resting')).not.toHaveProperty('limited');
  });

  it('cool the route down once all of them do', async () => {
    refusals = { l1: limited(300), l2: limited(200) };
    const first = await ask('limited');
    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '200']);
    asked = [];
    const second = await ask('limited');
    expect([second.status, second.error.type]).toEqual([429, 'rate_limit']);
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(190);
    expect(asked).toEqual([]);
    expect(await gauge('oriel_routes_resting')).toMatchObject({ limited: 1 });
    expect(await shared().logged('a route cools down')).toMatchObject({
      level: 'warn',
      provider: 'limited',
      model: 'of-limited',
      type: 'rate_limit',
      until: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
  });

  it('a short cooldown of the only key is waited for', async () => {
    refusals = { b1: limited(1) };
    const waiting = ask('brief');
    await upstream.received();
    const another = ask('brief');
    refusals = {};
    expect([(await waiting).status, (await another).status]).toEqual([200, 200]);
    expect(await shared().logged('a route has recovered')).toMatchObject({ provider: 'brief' });
  });
});

describe('a key that the provider does not know', () => {
  it('is followed by the next key, and named in the log by position and hash', async () => {
    refusals = { m1: UNKNOWN };
    for (let count = 0; count < 2; count += 1) expect((await ask('mixed')).status).toBe(200);
    expect(asked).toEqual(['m1', 'm2', 'm2']);
    const line = await shared().logged('a provider refused the key or the account of the gateway');
    expect(line).toMatchObject({
      provider: 'mixed',
      key: expect.stringMatching(/^1\/[0-9a-f]{8}$/),
    });
    expect(await shared().metrics()).toContain(
      'oriel_upstream_requests_total{provider="mixed",outcome="upstream_auth"} 1',
    );
  });

  it('is 502 upstream_auth, never upstreams_resting, and other routes go on', async () => {
    refusals = { w1: UNKNOWN, w2: UNKNOWN };
    for (let count = 0; count < 8; count += 1) {
      const { status, error } = await ask('wrong');
      expect([status, error.code]).toEqual([502, 'upstream_auth']);
      expect(error.message).not.toContain('wrong');
    }
    expect(asked).toEqual(['w1', 'w2']);
    expect((await ask('wrong-or-spare')).status).toBe(200);
    expect(asked.splice(0)).toEqual(['w1', 'w2', 'spare']);
    // Another model of the provider is asked once more: the provider may refuse one model alone.
    await ask('wrong-other');
    expect(asked).toEqual(['w1', 'w2']);
  });

  it('is in the health report for the operator alone', async () => {
    const expected = expect.objectContaining({ provider: 'wrong', reason: 'upstream_auth' });
    const { upstreams } = await readiness(`Bearer ${'oriel_test_metrics_token'}`);
    expect(upstreams?.routes).toContainEqual(expected);
    expect(upstreams?.keys).toContainEqual(expected);
    const owner = await shared().request('/readyz');
    expect(((await owner.json()) as Upstreams).upstreams?.routes).toContainEqual(expected);
    const tenant = await newKey(shared(), 'tenant');
    for (const authorization of [undefined, 'Bearer wrong', `Bearer ${tenant}`]) {
      expect(await readiness(authorization)).toEqual({ status: 'ok' });
    }
  });

  it('403 stops no request of others: providers answer it to prompts that they flag', async () => {
    refusals = { f1: FORBIDDEN };
    for (let count = 0; count < 2; count += 1) {
      const { status, error } = await ask('forbidden');
      expect([status, error.code]).toEqual([502, 'upstream_auth']);
    }
    refusals = {};
    expect((await ask('forbidden')).status).toBe(200);
    expect(asked).toEqual(['f1', 'f1', 'f1']);
  });
});

describe('requests of one account that fail', () => {
  const FAILED: Refusal = { status: 500, body: { error: { message: 'poisoned' } } };

  it.each([
    ['500', 'failing', 'x1', FAILED, 503],
    ['403', 'flagging', 'x2', FORBIDDEN, 502],
    ['429 with Retry-After', 'throttling', 'x3', limited(300), 429],
  ])('with %s refuse no other account, until its requests fail too', async (...test) => {
    const [, model, name, refusal, status] = test;
    const [ann, bob, eve] = await Promise.all(
      ['ann', 'bob', 'eve'].map((account) => newKey(shared(), `${account}-${model}`)),
    );
    const statusOf = async (key: string) => (await ask(model, {}, key)).status;
    refusals = { [name]: refusal };
    for (let times = 0; times < 4; times += 1) await statusOf(ann!);
    const sent = asked.length;
    expect(await statusOf(ann!)).toBe(status);
    expect(asked).toHaveLength(sent);
    refusals = {};
    const [first, second] = await Promise.all([statusOf(bob!), statusOf(eve!)]);
    expect([first, second, await statusOf(ann!)]).toEqual([200, 200, 200]);

    refusals = { [name]: refusal };
    for (const key of [ann!, bob!, ann!, bob!, ann!, bob!]) await statusOf(key);
    asked = [];
    expect(await statusOf(eve!)).toBe(status);
    expect(asked).toEqual([]);
  });
});

it('one request tries ten keys at most', async () => {
  refusals = Object.fromEntries(MANY.map((name) => [name, FORBIDDEN]));
  expect((await ask('many')).status).toBe(502);
  expect(asked).toEqual(MANY.slice(0, 10));
});

it('a reload rotates keys while requests are in flight', async () => {
  const { passed: held, open: release } = gate();
  upstream.play({ ...DONE, before: held }, DONE);
  const inFlight = ask('rotated', { stream: true });
  await upstream.received();
  const changed = config() as { providers: Record<string, object> };
  changed.providers['rotated'] = provider('r2');
  await shared().reload(changed);
  refusals = { r1: UNKNOWN };
  expect((await ask('rotated')).status).toBe(200);
  release();
  const { status, text: streamed } = await inFlight;
  expect([status, streamed.includes('[DONE]')]).toEqual([200, true]);
  expect(asked).toEqual(['r1', 'r2']);
});

it('no key is in the log', () => {
  expect(JSON.stringify(shared().log)).not.toContain('5ecre7');
});
