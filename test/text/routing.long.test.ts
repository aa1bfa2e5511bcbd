import { setTimeout as delay } from 'node:timers/promises';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../bench/free-port.ts';
import { OWNER_KEY, startDaemon } from '../daemon.ts';
import { gate } from '../gate.ts';
import { ask as tell } from './ask.ts';
import {
  DIALECTS,
  gatewayConfig,
  gatewayDaemon,
  modelTo,
  newKey,
  PAIRS,
  UPSTREAM_KEYS,
} from './gateway-daemon.ts';
import { type MockUpstream, startMockUpstream } from './mock-upstream.ts';
import { eventsOf, PATHS, plainBody, send } from './raw.ts';
import { type Script, USAGE } from './script.ts';

const GOOD: Script = { steps: [{ text: 'Hello' }], usage: USAGE };
const DOWN: Script = { refuse: { status: 500, body: '' } };

/** A provider of each kind at each address. */
const at = (url: string, name: string) => ({
  [name]: { kind: 'openai', baseUrl: url, apiKey: UPSTREAM_KEYS.openai },
});

const model = (...providers: string[]) => ({
  type: 'text',
  routes: providers.map((provider) => ({ provider, model: `of-${provider}` })),
});

const ask = (daemon: { url: string }, id: string, more: object = {}) =>
  send(daemon, 'chat', plainBody('chat', id, more));

interface Answered {
  readonly choices: { readonly message: { readonly content: string } }[];
  readonly error?: { readonly type: string; readonly code: string; readonly message: string };
}

const read = async (response: Response): Promise<Answered> => (await response.json()) as Answered;

/** Timeouts of providers, of which each has models to all formats. */
const TIMEOUTS = {
  prompt: { firstByte: '400ms' },
  steady: { idle: '300ms' },
  brief: { total: '1s' },
};

let closedPort: number;
beforeAll(async () => {
  closedPort = await freePort();
});

/** The daemon for tests that need no retries. It soon cuts off providers that fall silent. */
const gateway = gatewayDaemon((url) => {
  const base = gatewayConfig(url) as { providers: object; models: object };
  const timed = Object.entries(TIMEOUTS).map(([name, timeouts]) => {
    const common = { baseUrl: url, apiKey: 'k', timeouts };
    const models = DIALECTS.map((dialect) => {
      const provider = dialect === 'messages' ? `${name}-anthropic` : name;
      return [`${name}-${dialect}`, { type: 'text', routes: [{ provider, model: 'm', dialect }] }];
    });
    return {
      providers: {
        [name]: { kind: 'openai', ...common },
        [`${name}-anthropic`]: { kind: 'anthropic', ...common },
      },
      models: Object.fromEntries(models) as object,
    };
  });
  return {
    billing: { drainTimeout: '100ms' },
    providers: Object.assign(
      {
        ...base.providers,
        ...at(`http://127.0.0.1:${closedPort}/v1`, 'closed'),
        ...at('http://host.invalid/v1', 'nowhere'),
      },
      ...timed.map(({ providers }) => providers),
    ),
    models: Object.assign(
      { ...base.models, closed: model('closed'), nowhere: model('nowhere') },
      ...timed.map(({ models }) => models),
    ),
  };
});

describe('retries', () => {
  const retrying = gatewayDaemon((url) => ({
    routing: { retries: 2, cooldown: { after: 0 } },
    providers: at(url, 'one'),
    models: { one: model('one') },
  }));

  it.each([408, 409, 429, 500, 502, 503, 504, 529])('follow status %i', async (status) => {
    const { daemon, upstream } = retrying();
    upstream.play({ refuse: { status, body: '' } }, GOOD);
    expect((await read(await ask(daemon, 'one'))).choices[0]!.message.content).toBe('Hello');
    expect(upstream.requests).toHaveLength(2);
  });

  it('follow a reset connection, streamed or not', async () => {
    const { daemon, upstream } = retrying();
    for (const stream of [false, true]) {
      upstream.play({ before: 'reset' }, GOOD);
      const response = await ask(daemon, 'one', { stream });
      expect(response.status).toBe(200);
      expect(await response.text()).toContain(stream ? 'llo' : 'Hello');
      expect(upstream.requests).toHaveLength(2);
    }
  });

  it('end after routing.retries', async () => {
    const { daemon, upstream } = retrying();
    upstream.play(DOWN);
    const response = await ask(daemon, 'one');
    expect(response.status).toBe(502);
    expect((await read(response)).error).toMatchObject({ type: 'service_error' });
    expect(upstream.requests).toHaveLength(3);
  });

  it.each([400, 401, 403, 404, 413, 422])('do not follow status %i', async (status) => {
    const { daemon, upstream } = retrying();
    upstream.play({ refuse: { status, body: { error: { message: 'because' } } } });
    await ask(daemon, 'one');
    expect(upstream.requests).toHaveLength(1);
  });

  it('do not follow a reset after the response has started', async () => {
    const { daemon, upstream } = retrying();
    upstream.play({ ...GOOD, fault: { after: 2, how: 'reset' } });
    const response = await ask(daemon, 'one', { stream: true });
    const events = eventsOf(await response.text());
    expect(events.at(-1)!.data.error).toMatchObject({ type: 'network_error' });
    expect(upstream.requests).toHaveLength(1);
  });

  it('wait for the time in Retry-After', async () => {
    const { daemon, upstream } = retrying();
    upstream.play({ refuse: { status: 429, body: '', headers: { 'retry-after': '1' } } }, GOOD);
    const began = performance.now();
    expect((await ask(daemon, 'one')).status).toBe(200);
    // Retry-After is 1 second; the margin is for the resolution of timers.
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });

  it('are skipped if Retry-After exceeds the longest wait', async () => {
    const { daemon, upstream } = retrying();
    upstream.play({ refuse: { status: 429, body: '', headers: { 'retry-after': '120' } } });
    const response = await ask(daemon, 'one');
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '120']);
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('routes', () => {
  let second: MockUpstream;
  beforeAll(async () => {
    second = await startMockUpstream();
  });
  afterAll(() => second.close());
  const routed = gatewayDaemon((url) => ({
    routing: { retries: 0, cooldown: { after: 2, for: '5s' } },
    providers: {
      ...at(url, 'one'),
      ...at(second.url, 'two'),
      other: { kind: 'anthropic', baseUrl: second.url, apiKey: UPSTREAM_KEYS.anthropic },
    },
    models: {
      translated: model('one', 'other'),
      both: model('one', 'two'),
      alone: model('one'),
      prioritised: {
        type: 'text',
        routes: [
          { provider: 'one', model: 'low', priority: 1 },
          { provider: 'other', model: 'high', priority: 5 },
        ],
      },
    },
  }));

  it('are skipped after repeated failures (circuit open), then probed', async () => {
    const { daemon, upstream: first } = routed();
    first.play(DOWN);
    second.play(GOOD);
    for (let asked = 0; asked < 4; asked += 1) {
      expect((await ask(daemon, 'both')).status).toBe(200);
    }
    expect(first.requests).toHaveLength(2);
    expect(second.requests).toHaveLength(4);
    // A model without another route answers 503 with Retry-After.
    const resting = await ask(daemon, 'alone');
    expect(resting.status).toBe(503);
    expect(resting.headers.get('retry-after')).toMatch(/^[1-5]$/);
    expect(first.requests).toHaveLength(2);

    first.play(GOOD);
    while (first.requests.length === 0) {
      expect((await ask(daemon, 'both')).status).toBe(200);
      await delay(50);
    }
    // The circuit is closed and the route first again.
    await ask(daemon, 'both');
    expect(first.requests).toHaveLength(2);
  });

  it('are tried by priority, then in order, each in its own dialect', async () => {
    const { daemon, upstream: first } = routed();
    first.play(DOWN);
    second.play(GOOD);
    const { choices } = await read(await ask(daemon, 'translated'));
    expect(choices[0]!.message.content).toBe('Hello');
    expect([first.only().path, second.only().path]).toEqual([PATHS.chat, PATHS.messages]);
    expect(second.only().body.model).toBe('of-other');
    expect(second.only().headers['x-api-key']).toBe(UPSTREAM_KEYS.anthropic);

    first.play(GOOD);
    second.play(GOOD);
    await ask(daemon, 'prioritised');
    expect(first.requests).toHaveLength(0);
    expect(second.only().body.model).toBe('high');
  });
});

describe('timeouts', () => {
  it.each(PAIRS)(
    'client %s, upstream %s: a missing first byte is 504',
    async (client, upstream) => {
      const { daemon, upstream: mock } = gateway();
      mock.play({ before: 'silence' });
      const body = plainBody(client, `prompt-${upstream}`, { stream: true });
      const response = await send(daemon, client, body);
      expect(response.status).toBe(504);
      const message = 'The provider did not begin to answer in time';
      expect(await response.json()).toMatchObject({ error: { type: 'timeout', message } });
      expect(await mock.only().closed).toBe('cut');
    },
  );

  it.each(DIALECTS)(
    'client %s: firstByte does not apply to an answer that is not streamed',
    async (client) => {
      const { daemon, upstream: mock } = gateway();
      mock.play({ ...GOOD, before: 700 });
      for (const to of ['chat', 'messages']) {
        const response = await send(daemon, client, plainBody(client, `prompt-${to}`));
        expect(response.status).toBe(200);
      }
    },
  );

  it('total applies to an answer that is not streamed', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ before: 'silence' });
    const response = await ask(daemon, 'brief-chat');
    expect(response.status).toBe(504);
    expect((await read(response)).error).toMatchObject({ code: 'total_timeout' });
  });

  it.each(PAIRS)(
    'client %s, upstream %s: silence within a stream ends it with an error',
    async (client, upstream) => {
      const { daemon, upstream: mock } = gateway();
      mock.play({ ...GOOD, fault: { after: 3, how: 'silence' } });
      const body = plainBody(client, `steady-${upstream}`, { stream: true });
      const response = await send(daemon, client, body);
      expect(response.status).toBe(200);
      const text = await response.text();
      expect(text).toMatch(/timeout/);
      expect(eventsOf(text).at(-1)!.data).not.toBe('[DONE]');
      expect(await mock.only().closed).toBe('cut');
    },
  );

  it('total ends a stream that never ends', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ ...GOOD, fault: { after: 2, how: 'endless' } });
    const text = await (await ask(daemon, 'brief-chat', { stream: true })).text();
    expect(text.slice(-400)).toMatch(/"type": ?"timeout"/);
    expect(await mock.only().closed).toBe('cut');
  });

  it('do not delay the 502 for a refused connection or an unknown name', async () => {
    for (const id of ['closed', 'nowhere']) {
      const response = await ask(gateway().daemon, id);
      expect(response.status).toBe(502);
      const why = id === 'closed' ? 'connection refused' : 'its host name is not known';
      expect((await read(response)).error).toMatchObject({
        type: 'network_error',
        // Addresses of upstreams are not disclosed to clients.
        message: `The provider cannot be reached: ${why}`,
      });
    }
  });
});

describe('a client disconnect', () => {
  it.each(PAIRS)(
    'client %s, upstream %s: aborts the upstream request',
    async (client, upstream) => {
      const { daemon, upstream: mock } = gateway();
      for (const stream of [false, true]) {
        // Before the response headers, and within the stream.
        const waits: Script[] = [{ before: 'silence' }];
        if (stream) waits.push({ ...GOOD, fault: { after: 3, how: 'silence' } });
        for (const script of waits) {
          mock.play(script);
          const disconnect = new AbortController();
          const body = plainBody(client, modelTo(upstream), { stream });
          const asked = send(daemon, client, body, { signal: disconnect.signal });
          const received = await mock.received();
          if (script.fault) await (await asked).body!.getReader().read();
          disconnect.abort();
          await asked.catch(() => {});
          expect(await received.closed).toBe('cut');
        }
      }
    },
  );
});

it('keys with a list of models get 403 for other models', async () => {
  const key = await newKey(gateway().daemon, 'listed', { models: 'to-chat' });
  for (const client of DIALECTS) {
    const refused = await tell(gateway(), client, 'to-messages', {}, { key });
    expect([refused.status, refused.requests.length]).toEqual([403, 0]);
    const expected = { type: 'auth_error', code: 'model_not_allowed', param: 'model' };
    expect(refused.error).toMatchObject(expected);
    expect((await tell(gateway(), client, 'to-unknown')).status).toBe(404);
  }
  expect((await tell(gateway(), 'chat', 'to-chat', {}, { key })).status).toBe(200);
});

describe('an idle stream', () => {
  it('is kept open by comments', async () => {
    const { daemon, upstream: mock } = gateway();
    const { passed: waits, open: go } = gate();
    mock.play({ steps: [{ text: 'First' }, { wait: waits }, { text: 'Last' }], usage: USAGE });
    const response = await ask(daemon, 'to-messages', { stream: true });
    let text = '';
    for await (const chunk of response.body!) {
      text += Buffer.from(chunk).toString();
      if (/^:/m.test(text)) go();
    }
    expect(text).toContain('"st"');
    // Comments are no events.
    expect(eventsOf(text).at(-1)!.data).toBe('[DONE]');
  });
});

describe('a daemon that gets SIGTERM', () => {
  it('finishes its streams and then exits, despite idle connections', async () => {
    const mock = await startMockUpstream();
    // The client keeps its connection alive for longer than the test may take.
    const config = gatewayConfig(mock.url, { server: { grace: '10m' } });
    const daemon = await startDaemon({ config });
    const { passed: waits, open: go } = gate();
    mock.play({ steps: [{ text: 'First' }, { wait: waits }, { text: 'Last' }], usage: USAGE });
    const client = new OpenAI({ apiKey: OWNER_KEY, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
    const stream = client.chat.completions.stream({
      model: 'to-responses',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    stream.once('content', () => {
      daemon.child.kill('SIGTERM');
      go();
    });
    expect((await stream.finalChatCompletion()).choices[0]!.message.content).toBe('FirstLast');
    expect((await daemon.ended).status).toBe(0);
    await mock.close();
  });
});
