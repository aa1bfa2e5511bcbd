import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../daemon.ts';
import {
  DIALECTS,
  gatewayDaemon,
  modelTo,
  newKey,
  PAIRS,
  UPSTREAM_KEYS,
} from '../text/gateway-daemon.ts';
import { type MockUpstream, startMockUpstream } from '../text/mock-upstream.ts';
import { PATHS, plainBody, send } from '../text/raw.ts';
import type { Script } from '../text/script.ts';
import { type MockCollector, type Span, startMockCollector } from './mock-collector.ts';

const [SERVER, CLIENT, ERROR] = [2, 3, 2];
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;
const UNSAMPLED = TRACE.replace(/^4/, '5');

const ANSWER = 'An answer that no span contains.';
const GOOD: Script = {
  steps: [{ text: ANSWER }],
  usage: { input: 21, output: 9, cached: 8 },
  model: 'upstream-model-0001',
};
const DOWN: Script = { refuse: { status: 500, body: { error: { message: 'secret words' } } } };

let collector: MockCollector;
let second: MockUpstream;
beforeAll(async () => {
  collector = await startMockCollector();
  second = await startMockUpstream();
});
afterAll(async () => {
  await collector.close();
  await second.close();
});

const at = (baseUrl: string) => ({ kind: 'openai', baseUrl, apiKey: UPSTREAM_KEYS.openai });

const gateway = gatewayDaemon((url) => ({
  telemetry: {
    otlp: {
      endpoint: collector.url,
      headers: { authorization: 'Bearer collector-secret' },
      interval: '1s',
      propagate: true,
      service: 'gateway-test',
      attributes: { 'deployment.environment.name': 'test' },
    },
  },
  providers: {
    openai: at(url),
    anthropic: { ...at(url), kind: 'anthropic', apiKey: UPSTREAM_KEYS.anthropic },
    one: at(url),
    two: at(second.url),
  },
  models: {
    ...Object.fromEntries(
      DIALECTS.map((dialect) => [
        modelTo(dialect),
        {
          type: 'text',
          routes: [
            {
              provider: dialect === 'messages' ? 'anthropic' : 'openai',
              model: `upstream-${dialect}`,
              dialect,
            },
          ],
          price: { input: 1000, cachedInput: 100, output: 10_000 },
          maxOutputTokens: 64_000,
        },
      ]),
    ),
    both: {
      type: 'text',
      routes: [
        { provider: 'one', model: 'first' },
        { provider: 'two', model: 'second' },
      ],
    },
    partly: {
      type: 'text',
      routes: [
        { provider: 'anthropic', model: 'without' },
        { provider: 'openai', model: 'with' },
      ],
    },
    vectors: { type: 'embedding', routes: [{ provider: 'openai', model: 'upstream-vectors' }] },
  },
}));

let requests = 0;

/** Sends a request with a request id of its own, reads the answer, and returns the id. */
async function ask(
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  requests += 1;
  const id = `req_telemetry_${requests}`;
  const response = await gateway().daemon.send(path, body, {
    headers: { 'x-request-id': id, ...headers },
  });
  await response.text();
  return id;
}

/** The span of a request and those of its attempts, in their order. */
async function spansOf(id: string): Promise<{ server: Span; attempts: readonly Span[] }> {
  const isServer = (span: Span) => span.attributes['oriel.request.id'] === id;
  const spans = await collector.received((all) => all.some(isServer));
  const server = spans.find(isServer)!;
  const attempts = spans.filter(({ parentSpanId }) => parentSpanId === server.spanId);
  return { server, attempts };
}

const FINISH = { chat: 'stop', responses: 'completed', messages: 'end_turn' };

/** A request for each pair of dialects, streamed or not. */
const MATRIX = PAIRS.flatMap(([client, upstream]) => [
  { client, upstream, stream: false },
  { client, upstream, stream: true },
]);

describe('spans of a request', () => {
  const sent = new Map<object, { readonly id: string; readonly traceparent: unknown }>();
  // All of them first: the daemon sends spans together.
  beforeAll(async () => {
    for (const row of MATRIX) {
      const { client, upstream, stream } = row;
      gateway().upstream.play(GOOD);
      const usage = client === 'chat' && stream && { stream_options: { include_usage: true } };
      const body = plainBody(client, modelTo(upstream), { stream, ...usage });
      const id = await ask(PATHS[client], body, { traceparent: TRACEPARENT });
      sent.set(row, { id, traceparent: gateway().upstream.only().headers['traceparent'] });
    }
  });

  it.each(MATRIX)('of $client to an upstream of $upstream, streamed: $stream', async (row) => {
    const { client, upstream, stream } = row;
    const { id, traceparent } = sent.get(row)!;
    const { server, attempts } = await spansOf(id);
    const common = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': upstream === 'messages' ? 'anthropic' : 'openai',
      'gen_ai.response.model': 'upstream-model-0001',
      'gen_ai.response.finish_reasons': [FINISH[upstream]],
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': expect.any(Number),
    };
    expect(server).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      kind: SERVER,
      name: `chat ${modelTo(upstream)}`,
      status: {},
    });
    expect(server.attributes).toEqual({
      ...common,
      'gen_ai.request.model': modelTo(upstream),
      'gen_ai.usage.input_tokens': 21,
      'gen_ai.usage.output_tokens': 9,
      'gen_ai.usage.cache_read.input_tokens': 8,
      'gen_ai.usage.cache_creation.input_tokens': 0,
      ...(upstream !== 'messages' && {
        'gen_ai.usage.reasoning.output_tokens': expect.any(Number),
      }),
      'http.request.method': 'POST',
      'http.route': PATHS[client],
      'url.path': PATHS[client],
      'url.scheme': 'http',
      'oriel.request.id': id,
      'oriel.key.id': expect.stringMatching(/^key_/),
      'oriel.provider': upstream === 'messages' ? 'anthropic' : 'openai',
      'oriel.attempts': 1,
      // 13 of input, 8 of it cached, 9 of output.
      'oriel.credits': 0.1038,
      ...(stream && { 'gen_ai.response.time_to_first_chunk': expect.any(Number) }),
    });
    expect(attempts).toHaveLength(1);
    const [attempt] = attempts as [Span];
    expect(attempt).toMatchObject({
      traceId: TRACE,
      kind: CLIENT,
      name: `chat upstream-${upstream}`,
      status: {},
    });
    expect(attempt.attributes).toEqual({
      ...common,
      'gen_ai.request.model': `upstream-${upstream}`,
      'oriel.provider': upstream === 'messages' ? 'anthropic' : 'openai',
    });
    expect(attempt.start).toBeGreaterThanOrEqual(server.start);
    expect(attempt.end).toBeLessThanOrEqual(server.end);
    expect(traceparent).toBe(`00-${TRACE}-${attempt.spanId}-01`);
  });
});

describe('spans of text requests', () => {
  const ids = new Map<string, string>();
  const spansNamed = (name: string) => spansOf(ids.get(name)!);
  const vectors = {
    data: [{ index: 0, embedding: [1, 0] }],
    usage: { prompt_tokens: 3, total_tokens: 3 },
  };

  // All of them first: the daemon sends spans together.
  beforeAll(async () => {
    const { upstream } = gateway();
    const chat = plainBody('chat', 'to-chat');
    second.play(GOOD);
    upstream.play(DOWN);
    ids.set('fallback', await ask(PATHS.chat, plainBody('chat', 'both')));
    second.play({ refuse: { status: 401, body: { error: { message: UPSTREAM_KEYS.openai } } } });
    ids.set('failed', await ask(PATHS.chat, plainBody('chat', 'both')));
    upstream.play({ steps: [{ text: 'Hel' }, { fail: 'end' }] });
    for (const dialect of DIALECTS) {
      const body = plainBody(dialect, modelTo(dialect), { stream: true });
      ids.set(`broken ${dialect}`, await ask(PATHS[dialect], body));
    }
    upstream.play(GOOD);
    ids.set('refused', await ask(PATHS.chat, { ...chat, messages: 'none' }));
    const zero = `00-${'0'.repeat(32)}-${PARENT}-01`;
    ids.set('orphan', await ask(PATHS.chat, chat, { traceparent: zero }));
    ids.set('logged', await ask(PATHS.chat, chat, { traceparent: TRACEPARENT }));
    upstream.play(GOOD);
    const unsampled = `00-${UNSAMPLED}-${PARENT}-00`;
    ids.set('unsampled', await ask(PATHS.chat, chat, { traceparent: unsampled }));
    expect(upstream.only().headers['traceparent']).toMatch(
      new RegExp(`^00-${UNSAMPLED}-(?!${PARENT})[0-9a-f]{16}-00$`),
    );
    ids.set('partly', await ask(PATHS.chat, plainBody('chat', 'partly', { logit_bias: { 5: 1 } })));
    ids.set('stranger', await ask(PATHS.chat, chat, { authorization: 'Bearer of-nobody' }));
    ids.set('legacy', await ask('/v1/completions', { model: 'to-chat', prompt: 'Hello' }));
    const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
    ids.set('gemini', await ask('/v1beta/models/to-chat:generateContent', { contents }));
    upstream.play({ raw: { type: 'application/json', body: JSON.stringify(vectors) } });
    ids.set('vectors', await ask('/v1/embeddings', { model: 'vectors', input: 'Hello' }));
  });

  it('name each attempt where the first route fails and the second answers', async () => {
    const { server, attempts } = await spansNamed('fallback');
    expect(server.status).toEqual({});
    expect(server.attributes).toMatchObject({ 'oriel.attempts': 2, 'oriel.provider': 'two' });
    expect(attempts).toMatchObject([
      {
        name: 'chat first',
        status: { code: ERROR },
        attributes: {
          'error.type': 'upstream_failed',
          'http.response.status_code': 500,
          'oriel.provider': 'one',
        },
      },
      { name: 'chat second', status: {}, attributes: { 'oriel.provider': 'two' } },
    ]);
    expect(attempts[0]!.attributes).not.toHaveProperty('gen_ai.response.model');
  });

  it('are errors where no route answers', async () => {
    const { server, attempts } = await spansNamed('failed');
    expect(server.status).toEqual({ code: ERROR });
    expect(server.attributes).toMatchObject({
      'error.type': 'upstream_auth',
      'http.response.status_code': 502,
    });
    expect(attempts.map(({ attributes }) => attributes['error.type'])).toEqual([
      'upstream_failed',
      'upstream_auth',
    ]);
  });

  it.each(DIALECTS)(
    'are errors where a stream of %s breaks off after status 200',
    async (dialect) => {
      const { server, attempts } = await spansNamed(`broken ${dialect}`);
      expect(server.status).toEqual({ code: ERROR });
      expect(server.attributes).toMatchObject({
        'http.response.status_code': 200,
        'error.type': expect.any(String),
      });
      expect(attempts.map(({ status }) => status.code)).toEqual([ERROR]);
    },
  );

  it('are no errors for requests that are refused, and have no attempts', async () => {
    const { server, attempts } = await spansNamed('refused');
    expect(server).toMatchObject({ name: 'chat', status: {} });
    expect(server.attributes).toMatchObject({
      'error.type': 'invalid_request',
      'http.response.status_code': 400,
    });
    expect(attempts).toEqual([]);
  });

  it('and attempts count only routes that were sent the request', async () => {
    const { server, attempts } = await spansNamed('partly');
    expect(server.attributes).toMatchObject({ 'oriel.attempts': 1 });
    expect(attempts.map(({ name }) => name)).toEqual(['chat with']);
    const id = ids.get('partly');
    const line = gateway().daemon.log.find(({ requestId }) => requestId === id);
    expect(line).toMatchObject({ attempts: 1, provider: 'openai' });
  });

  it('are none of an endpoint that does not exist', async () => {
    expect((await gateway().daemon.request('/nowhere')).status).toBe(404);
  });

  it('begin a trace of their own where the traceparent is invalid', async () => {
    const { server } = await spansNamed('orphan');
    expect(server.parentSpanId).toBeUndefined();
    expect(server.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
  });

  it('are named in the log line by their trace', async () => {
    await spansNamed('logged');
    const id = ids.get('logged');
    const line = gateway().daemon.log.find(({ requestId }) => requestId === id);
    expect(line).toMatchObject({ traceId: TRACE });
  });

  it.each(['unsampled', 'stranger'])('are not sent for a request that is: %s', async (name) => {
    // The last request has spans, and those before it would have come.
    await spansNamed('vectors');
    const id = ids.get(name);
    expect(collector.spans.some(({ attributes }) => attributes['oriel.request.id'] === id)).toBe(
      false,
    );
  });

  it.each([
    ['legacy', 'text_completion to-chat', 'text_completion upstream-chat'],
    ['gemini', 'generate_content to-chat', 'generate_content upstream-chat'],
    ['vectors', 'embeddings vectors', 'embeddings upstream-vectors'],
  ])('have the operation of the endpoint: %s', async (request, name, attempt) => {
    const { server, attempts } = await spansNamed(request);
    expect(server.name).toBe(name);
    expect(attempts.map((span) => span.name)).toEqual([attempt]);
  });

  it('and log lines of embeddings have model, provider, attempts and tokens', async () => {
    const { server } = await spansNamed('vectors');
    expect(server.attributes).toMatchObject({ 'gen_ai.usage.input_tokens': 3 });
    const id = ids.get('vectors');
    expect(gateway().daemon.log.find(({ requestId }) => requestId === id)).toMatchObject({
      model: 'vectors',
      provider: 'openai',
      attempts: 1,
      inputTokens: 3,
    });
  });
});

it.each([
  ['before a stream', true, { before: 'silence' }],
  ['before a whole answer', false, { before: 'silence' }],
  ['within a stream', true, { steps: [{ text: 'Hel' }, { fail: 'silence' }] }],
] as const)(
  'a client that leaves %s has a line with 499 and a span without error',
  async (_, stream, script) => {
    const { daemon, upstream } = gateway();
    upstream.play(script);
    const id = `req_left_${stream}_${'steps' in script}`;
    const leave = new AbortController();
    const asked = daemon.send(PATHS.chat, plainBody('chat', 'to-chat', { stream }), {
      headers: { 'x-request-id': id },
      signal: leave.signal,
    });
    asked.catch(() => {});
    await upstream.received();
    if ('steps' in script) await (await asked).body!.getReader().read();
    leave.abort();
    const { server, attempts } = await spansOf(id);
    expect(server.status).toEqual({});
    expect(server.attributes).toMatchObject({
      'http.response.status_code': 499,
      'error.type': 'client_left',
    });
    expect(attempts).toHaveLength(1);
    await expect
      .poll(() => daemon.log.filter(({ msg, requestId }) => msg === 'request' && requestId === id))
      .toMatchObject([{ status: 499, code: 'client_left', provider: 'openai', attempts: 1 }]);
  },
);

it('metrics of the conventions and of the house reach the collector, the same as at /metrics', async () => {
  gateway().upstream.play(GOOD);
  const key = await newKey(gateway().daemon, 'measured');
  const body = plainBody('chat', 'to-chat', {
    stream: true,
    stream_options: { include_usage: true },
  });
  await (await send(gateway().daemon, 'chat', body, { key })).text();
  const name = 'gen_ai.server.time_to_first_token';
  await collector.measured((metrics) => metrics.has(name));
  const { metrics } = collector;
  const ours = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'to-chat',
  };
  const point = (metric: string, attributes: object) =>
    metrics.get(metric)?.find((one) => {
      return JSON.stringify(one.attributes) === JSON.stringify(attributes);
    });
  expect(Number(point(name, ours)?.count)).toBeGreaterThan(0);
  expect(Number(point('gen_ai.server.request.duration', ours)?.count)).toBeGreaterThan(0);
  expect(Number(point('gen_ai.server.time_per_output_token', ours)?.count)).toBeGreaterThan(0);
  for (const type of ['input', 'output']) {
    const tokens = point('gen_ai.client.token.usage', { ...ours, 'gen_ai.token.type': type });
    expect(Number(tokens?.sum)).toBeGreaterThan(0);
  }
  const attempts = point('oriel_upstream_requests_total', { provider: 'openai', outcome: 'ok' });
  expect(attempts?.asDouble).toBeGreaterThan(0);
  expect(metrics.has('oriel_routes_resting')).toBe(true);
  const scraped = await gateway().daemon.metrics();
  expect(scraped).toMatch(/^gen_ai_server_time_to_first_token_seconds_count\{[^}]*"to-chat"/m);
});

it('nothing that the collector got is invalid, or holds a prompt, an answer or a key', async () => {
  expect(collector.faults).toEqual([]);
  expect(collector.headers['authorization']).toBe('Bearer collector-secret');
  expect(collector.resource).toMatchObject({
    'service.name': 'gateway-test',
    'service.version': expect.any(String),
    'deployment.environment.name': 'test',
  });
  const all = JSON.stringify(collector.spans, (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  for (const secret of [ANSWER, 'Hello', OWNER_KEY, UPSTREAM_KEYS.openai, 'secret words']) {
    expect(all).not.toContain(secret);
  }
  const { log } = gateway().daemon;
  expect(JSON.stringify(log)).not.toContain('collector-secret');
});
