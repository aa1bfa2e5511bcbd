import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { settled } from '../account.ts';
import { newKey } from '../gateway-daemon.ts';
import type { FormatName } from '../mock-upstream.ts';
import { send } from '../raw.ts';
import { type Script, USAGE } from '../script.ts';
import {
  cacheGateway,
  comparable,
  FORMATS,
  HIT_PRICE,
  requestOf,
  withoutCost,
} from './cache-gateway.ts';

const gateway = cacheGateway();

interface Options {
  readonly key?: string;
  readonly control?: string;
  readonly signal?: AbortSignal;
}

async function post(
  path: string,
  body: object,
  { key = OWNER_KEY, control, signal }: Options = {},
) {
  const response = await gateway().daemon.send(path, body, {
    key,
    headers: { ...(control !== undefined && { 'cache-control': control }) },
    signal,
  });
  const text = await response.text();
  return { status: response.status, text, cache: response.headers.get('x-oriel-cache') };
}

/** A prompt that no other test has. */
let prompts = 0;
const chat = (model = 'to-chat', more: object = {}) => {
  prompts += 1;
  return { model, messages: [{ role: 'user', content: `prompt ${prompts}` }], ...more };
};
const ask = (body: object, options?: Options) => post('/v1/chat/completions', body, options);

const RICH: Script = {
  steps: [
    { reasoning: 'Let me think.', pieces: ['Let me ', 'think.'] },
    { text: 'It rains.', pieces: ['It ', 'rains.'] },
    { call: 'weather', id: 'call_weather1', arguments: '{"city":"Kiel"}' },
  ],
  usage: USAGE,
};
const TOOLS = {
  chat: {
    tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }],
  },
  responses: { tools: [{ type: 'function', name: 'weather', parameters: { type: 'object' } }] },
  messages: { tools: [{ name: 'weather', input_schema: { type: 'object' } }] },
  gemini: {
    tools: [{ functionDeclarations: [{ name: 'weather', parameters: { type: 'OBJECT' } }] }],
  },
} as const;

const WORDS = {
  chat: (content: string) => ({ messages: [{ role: 'user', content }] }),
  responses: (input: string) => ({ input }),
  messages: (content: string) => ({ messages: [{ role: 'user', content }] }),
  gemini: (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
};

describe('a hit', () => {
  const cases = FORMATS.flatMap((client) =>
    FORMATS.flatMap((provider) =>
      [true, false].map((stream) => [client, provider, stream] as const),
    ),
  );
  it.each(cases)(
    '%s over %s, stream %s: equals the recorded answer',
    async (client, provider, stream) => {
      const { upstream } = gateway();
      upstream.play(RICH);
      const [path, body] = requestOf(client, `to-${provider}`, stream, {
        ...TOOLS[client],
        // Of several formats equal requests come of one conversation.
        ...WORDS[client](`${client} over ${provider}`),
      });
      const first = await post(path, body);
      const second = await post(path, body);
      expect([first.status, second.status], first.text).toEqual([200, 200]);
      expect([first.cache, second.cache]).toEqual(['miss', 'hit']);
      expect(comparable(second.text)).toBe(comparable(first.text));
      if (client === provider) expect(withoutCost(second.text)).toBe(withoutCost(first.text));
      expect(upstream.requests).toHaveLength(1);
    },
  );

  it('is charged by its own price, in reports and metrics too', async () => {
    const { daemon, upstream } = gateway();
    const key = await newKey(daemon, 'priced');
    upstream.play({ steps: [{ text: 'Done.' }], usage: USAGE });
    const body = chat();
    await ask(body, { key });
    const { spent } = (await settled(daemon, key)).credits;
    await ask(body, { key });
    const hit = ((USAGE.input + USAGE.output) * HIT_PRICE) / 1e6;
    const after = await settled(daemon, key, spent + hit / 2);
    expect(after.credits).toMatchObject({ spent: spent + hit, reserved: 0 });
    const usage = await daemon.request('/v1/account/usage', {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await usage.json()).toMatchObject({ data: [{ requests: 2, cache_hits: 1 }] });
    expect(await daemon.metrics()).toMatch(
      /oriel_cache_requests_total\{model="to-chat",result="hit"\} \d+/,
    );
  });

  it('needs no provider that can be asked', async () => {
    const { upstream } = gateway();
    upstream.play({ steps: [{ text: 'Done.' }] });
    const body = chat();
    await ask(body);
    upstream.play({ refuse: { status: 500 } });
    expect(await ask(body)).toMatchObject({ status: 200, cache: 'hit' });
  });

  it('embeddings', async () => {
    const { upstream } = gateway();
    const vector = { object: 'embedding', index: 0, embedding: [0.5, 0.25] };
    const body = {
      object: 'list',
      data: [vector],
      model: 'v',
      usage: { prompt_tokens: 2, total_tokens: 2 },
    };
    upstream.play({ raw: { type: 'application/json', body: JSON.stringify(body) } });
    const request = { model: 'vectors', input: 'a text' };
    const first = await post('/v1/embeddings', request);
    const second = await post('/v1/embeddings', request);
    expect([first.cache, second.cache]).toEqual(['miss', 'hit']);
    expect(comparable(second.text)).toBe(comparable(first.text));
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('what is no hit', () => {
  const DONE: Script = { steps: [{ text: 'Done.' }], usage: USAGE };
  const REFUSED: Script = { steps: [{ text: 'N' }], stop: 'refusal' };
  const search = { tools: [{ type: 'web_search_20250305', name: 'web_search' }] };
  /** Two equal requests in the format of their model, and what the header says of each. */
  const TWICE: readonly (readonly [string, string, Script, string | null, object])[] = [
    ['a model without a cache', 'plain-chat', DONE, null, {}],
    ['a refusal', 'to-chat', { steps: [{ refusal: 'No.' }] }, 'miss', {}],
    ['a filtered answer', 'to-chat', REFUSED, 'miss', {}],
    ['a refusal of messages', 'to-messages', REFUSED, 'miss', {}],
    ['a refusal of gemini', 'to-gemini', REFUSED, 'miss', {}],
    ['a refusal of responses', 'to-responses', { steps: [{ refusal: 'No.' }] }, 'miss', {}],
    ['an error', 'to-chat', { refuse: { status: 500 } }, 'miss', {}],
    ['a stored answer', 'to-responses', DONE, 'bypass', { store: true }],
    ['an answer stored by default', 'to-responses', DONE, 'bypass', { store: undefined }],
    ['a stored chat completion', 'to-chat', DONE, 'bypass', { store: true }],
    ['a conversation', 'allows-responses', DONE, 'bypass', { previous_response_id: 'resp_1' }],
    ['a search of the provider', 'allows-messages', DONE, 'bypass', search],
  ];
  it.each(TWICE)('%s', async (name, model, script, cache, more) => {
    const { upstream } = gateway();
    upstream.play(script);
    const client = model.split('-')[1] as FormatName;
    const words = WORDS[client](name);
    const [path, body] = requestOf(client, model, false, { ...more, ...words });
    const [first, second] = [await post(path, body), await post(path, body)];
    expect([first.cache, second.cache], second.text).toEqual([cache, cache]);
    expect(upstream.requests).toHaveLength(2);
  });

  it('an answer that is too old', async () => {
    gateway().upstream.play(DONE);
    const body = chat('brief');
    await ask(body);
    await expect.poll(async () => (await ask(body)).cache).toBe('miss');
  });

  it.each([
    ['another account', chat(), undefined],
    ['another seed', chat('to-chat', { seed: 1 }), { seed: 2 }],
    [
      'a text that looks like an identifier',
      { ...chat() },
      { messages: [{ role: 'user', content: 'key_00000000000000000002' }] },
    ],
    [
      'a text that looks like a secret',
      { ...chat() },
      { messages: [{ role: 'user', content: 'sk-bbbbbbbbbbbbbbbbbbbbbbbb' }] },
    ],
  ])('%s', async (name, body, change) => {
    const { daemon, upstream } = gateway();
    upstream.play({ steps: [{ text: 'Done.' }] });
    const twin = {
      ...body,
      ...(name.includes('identifier') && {
        messages: [{ role: 'user', content: 'key_00000000000000000001' }],
      }),
      ...(name.includes('secret') && {
        messages: [{ role: 'user', content: 'sk-aaaaaaaaaaaaaaaaaaaaaaaa' }],
      }),
    };
    await ask(twin);
    const key = change === undefined ? await newKey(daemon, 'other') : OWNER_KEY;
    expect(await ask({ ...twin, ...change }, { key })).toMatchObject({ cache: 'miss' });
    expect(upstream.requests).toHaveLength(2);
  });

  it.each([
    ['no-cache', 'bypass', 2, 'hit'],
    ['no-store', 'bypass', 2, 'hit'],
    ['max-age=0', 'bypass', 2, 'hit'],
    ['max-age=3600', 'hit', 1, 'hit'],
    [`${'x'.repeat(5000)}, no-store`, 'hit', 1, 'hit'],
    ['No-Cache="a", max-age=-1, max-age=99999999999999999999, ,,=', 'hit', 1, 'hit'],
  ])('Cache-Control: %s', async (control, cache, requests, next) => {
    const { upstream } = gateway();
    const body = chat();
    upstream.play({ steps: [{ text: 'First.' }] }, { steps: [{ text: 'Second.' }] });
    await ask(body);
    expect(await ask(body, { control })).toMatchObject({ status: 200, cache });
    const last = await ask(body);
    expect(last.cache).toBe(next);
    // no-store keeps the former answer, no-cache replaces it.
    const isReplaced = requests === 2 && control !== 'no-store';
    expect(last.text).toContain(isReplaced ? 'Second.' : 'First.');
    expect(upstream.requests).toHaveLength(requests);
  });
});

describe('several answers to one request', () => {
  it.each([
    ['chat', 1],
    ['messages', 3],
  ] as const)('over %s are different ones, and each is found again', async (provider, requests) => {
    const { upstream } = gateway();
    let count = 0;
    upstream.play(() => {
      count += 1;
      return { steps: [{ text: `Answer ${count}.` }], choices: [[{ text: 'b' }], [{ text: 'c' }]] };
    });
    const body = chat(`to-${provider}`, { n: 3 });
    const [first, second] = [await ask(body), await ask(body)];
    expect([first.cache, second.cache]).toEqual(['miss', 'hit']);
    expect(comparable(second.text)).toBe(comparable(first.text));
    expect(upstream.requests).toHaveLength(requests);
  });
});

describe('equal requests at once', () => {
  /** A promise with its function. */
  function held() {
    let release = () => {};
    const wait = new Promise<void>((resolve) => {
      release = resolve;
    });
    return { wait, release };
  }

  it('are asked once', async () => {
    const { upstream } = gateway();
    const { wait, release } = held();
    upstream.play({ before: wait, steps: [{ text: 'Done.' }], usage: USAGE });
    const body = chat();
    const asked = Array.from({ length: 20 }, () => ask(body));
    await upstream.received();
    release();
    const answers = await Promise.all(asked);
    expect(answers.filter(({ cache }) => cache === 'hit')).toHaveLength(19);
    expect(upstream.requests).toHaveLength(1);
  });

  const retrying = cacheGateway({ routing: { retries: 1, cooldown: { after: 0 } } });

  it('with several answers end where one of them fails, as no two wait for each other', async () => {
    const { daemon, upstream } = retrying();
    const { wait, release } = held();
    const done: Script = { before: wait, steps: [{ text: 'Done.' }] };
    upstream.play(done, { ...done, refuse: { status: 500 } }, { steps: [{ text: 'Done.' }] });
    const body = chat('to-messages', { n: 2 });
    const answerOf = async () => (await send(daemon, 'chat', body)).text();
    const first = answerOf();
    await upstream.received(1);
    const second = answerOf();
    await new Promise((resolve) => setTimeout(resolve, 100));
    release();
    const answers = await Promise.all([first, second]);
    expect(answers.map((text) => text.split('Done.').length)).toEqual([3, 3]);
  });

  it.each([
    ['its client leaves', { steps: [{ text: 'a' }] }, true, 2],
    ['it fails', { refuse: { status: 400, body: { error: { message: 'bad' } } } }, false, 2],
    ['its answer breaks off', { steps: [{ text: 'a' }, { fail: 'reset' }] }, false, 2],
  ] as const)('go on without the first where %s', async (_, script, leaves, requests) => {
    const { upstream } = gateway();
    const { wait, release } = held();
    upstream.play(
      { ...(script as Script), before: wait },
      { steps: [{ text: 'Done.', pieces: ['Done.'] }] },
    );
    const body = chat('to-chat', { stream: true });
    const leader = new AbortController();
    const first = ask(body, { signal: leader.signal }).catch(() => null);
    await upstream.received();
    const others = [ask(body), ask(body)];
    if (leaves) leader.abort();
    release();
    await first;
    for (const { status, text } of await Promise.all(others)) {
      expect([status, text.includes('Done.') || leaves]).toEqual([200, true]);
    }
    expect(upstream.requests.length).toBeLessThanOrEqual(requests);
  });
});

describe('a provider that cools down', () => {
  const resting = cacheGateway({ routing: { retries: 0, cooldown: { after: 1, for: '60s' } } });

  it('is not needed for a hit', async () => {
    const { daemon, upstream } = resting();
    const one = (content: string, model = 'to-chat') =>
      send(daemon, 'chat', { model, messages: [{ role: 'user', content }] });
    upstream.play({ steps: [{ text: 'Done.' }] }, { refuse: { status: 500 } });
    await (await one('known')).text();
    expect((await one('unknown')).status).toBe(502);
    const statuses = [await one('unknown'), await one('known')].map(
      ({ status, headers }) => `${status} ${headers.get('x-oriel-cache')}`,
    );
    expect(statuses).toEqual(['503 miss', '200 hit']);
    expect(upstream.requests).toHaveLength(2);
  });
});

it('an answer from the cache of the second route is a hit after the first has failed', async () => {
  const { daemon, upstream } = gateway();
  const refusal = { refuse: { status: 500 } };
  upstream.play(refusal, { steps: [{ text: 'Done.' }] }, refusal);
  const answers = [];
  for (let time = 0; time < 2; time += 1) {
    const messages = [{ role: 'user', content: 'Hello' }];
    const { status, headers } = await send(daemon, 'chat', { model: 'two-routes', messages });
    answers.push(`${status} ${headers.get('x-oriel-cache')}`);
  }
  expect(answers).toEqual(['200 miss', '200 hit']);
  expect(upstream.requests).toHaveLength(3);
});

describe('keys', () => {
  it('have a time of their own, which wins over that of the model', async () => {
    const { daemon, upstream } = gateway();
    const make = (cache: string) => newKey(daemon, `cache ${cache}`, { cache } as object);
    const [on, off] = [await make('1h'), await make('off')];
    upstream.play({ steps: [{ text: 'Done.' }] });
    const [plain, cached] = [chat('plain-chat'), chat('to-chat')];
    const results = [];
    for (const [key, body] of [
      [on, plain],
      [on, plain],
      [off, cached],
      [off, cached],
    ] as const) {
      results.push((await ask(body, { key })).cache);
    }
    expect(results).toEqual(['miss', 'hit', null, null]);
  });
});

describe('the folder', () => {
  it('stays within the size of a model, and is readable by its user alone', async () => {
    const { daemon, upstream } = gateway();
    const key = await newKey(daemon, 'flood', { credits: '100000' });
    upstream.play({ steps: [{ text: 'x'.repeat(100_000) }] });
    const bodies = Array.from({ length: 15 }, () => chat('small'));
    for (const body of bodies) await ask(body, { key });
    const folder = join(daemon.data, 'cache');
    const files = () =>
      readdirSync(folder).flatMap((name) =>
        readdirSync(join(folder, name)).map((file) => statSync(join(folder, name, file))),
      );
    const sizes = () => files().map(({ size }) => (size > 100_000 ? size : 0));
    await expect.poll(() => sizes().reduce((sum, size) => sum + size)).toBeLessThan(1_000_000);
    expect(files().filter(({ mode }) => (mode & 0o077) !== 0)).toEqual([]);
  });

  it('has no answer of more than 4 MB', async () => {
    const { upstream } = gateway();
    upstream.play({ steps: [{ text: 'x'.repeat(5_000_000) }] });
    const body = chat();
    expect((await ask(body)).cache).toBe('miss');
    expect((await ask(body)).cache).toBe('miss');
  });
});
