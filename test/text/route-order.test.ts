import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../daemon.ts';
import { gatewayConfig, UPSTREAM_KEYS } from './gateway-daemon.ts';
import { type MockUpstream, startMockUpstream } from './mock-upstream.ts';
import { type Script, USAGE } from './script.ts';

const GOOD: Script = { steps: [{ text: 'Hello' }], usage: USAGE };
const DOWN: Script = { refuse: { status: 500, body: '' } };

let first: MockUpstream;
let second: MockUpstream;
beforeAll(async () => {
  [first, second] = await Promise.all([startMockUpstream(), startMockUpstream()]);
});
afterAll(() => Promise.all([first.close(), second.close()]));

/** A model with a route to each upstream. */
const model = (one: object, two: object, more: object = {}) => ({
  type: 'text',
  ...more,
  routes: [
    { provider: 'first', model: 'x', ...one },
    { provider: 'second', model: 'x', ...two },
  ],
});

const FORMATS = {
  chat: ['openai', 'chat'],
  responses: ['openai', 'responses'],
  messages: ['anthropic', 'messages'],
  gemini: ['gemini', 'gemini'],
} as const;

const daemon = sharedDaemon({
  args: ['--deterministic'],
  get config() {
    const keys = Object.entries(FORMATS).map(([name, [kind]]) => [
      `small-${name}`,
      { kind, baseUrl: first.url, apiKey: UPSTREAM_KEYS.openai },
    ]);
    const windows = [{ contextWindow: 8000 }, { contextWindow: 32_000 }] as const;
    const small = Object.entries(FORMATS).map(([name, [, dialect]]) => [
      `window-${name}`,
      model({ provider: `small-${name}`, dialect, ...windows[0] }, windows[1]),
    ]);
    return gatewayConfig(first.url, {
      providers: {
        first: { kind: 'openai', baseUrl: first.url, apiKey: UPSTREAM_KEYS.openai },
        second: { kind: 'openai', baseUrl: second.url, apiKey: UPSTREAM_KEYS.openai },
        ...Object.fromEntries(keys),
      },
      models: {
        weighted: model({ weight: 3 }, { weight: 1 }),
        fast: model({ model: 'y' }, { model: 'y' }, { order: 'latency' }),
        cheap: model({ cost: { input: 2 } }, { cost: { input: 1 } }, { order: 'cost' }),
        alike: model({}, {}, { contextWindow: 8000 }),
        growing: model(...windows),
        shrinking: model(windows[1], windows[0]),
        ...Object.fromEntries(small),
      },
    });
  },
});

const openai = () =>
  new OpenAI({ apiKey: OWNER_KEY, baseURL: `${daemon().url}/v1`, maxRetries: 0 });
const ask = (name: string, content = 'Hello', stream = false) =>
  openai().chat.completions.create({ model: name, messages: [{ role: 'user', content }], stream });

/** Requests that both upstreams got. */
const counts = () => [first.requests.length, second.requests.length];

it('weights share the requests, and the other route answers where one fails', async () => {
  first.play(GOOD);
  second.play(GOOD);
  for (let count = 0; count < 40; count += 1) await ask('weighted', `Question ${count}`);
  // A deterministic daemon chooses by the request.
  const shares = counts();
  expect(shares[0]! + shares[1]!).toBe(40);
  expect(shares[0]).toBeGreaterThan(22);
  expect(shares[1]).toBeGreaterThan(2);
  first.play(GOOD);
  second.play(GOOD);
  for (let count = 0; count < 40; count += 1) await ask('weighted', `Question ${count}`);
  expect(counts()).toEqual(shares);
  first.play(DOWN);
  second.play(GOOD);
  for (let count = 0; count < 10; count += 1) await ask('weighted', `Question ${count}`);
  expect(second.requests).toHaveLength(10);
});

it('a conversation stays at the route that its weight gave it', async () => {
  first.play(GOOD);
  second.play(GOOD);
  const turns: OpenAI.ChatCompletionMessageParam[] = [];
  for (let count = 0; count < 8; count += 1) {
    turns.push({ role: 'user', content: `Turn ${count}` });
    await openai().chat.completions.create({ model: 'weighted', messages: turns });
    turns.push({ role: 'assistant', content: 'Hello' });
  }
  expect(counts()).toContain(8);
});

it.each([true, false])('order: latency prefers the faster route, streamed: %s', async (stream) => {
  first.play({ ...GOOD, before: 60 });
  second.play(GOOD);
  for (let count = 0; count < 30; count += 1) {
    const answer = await ask('fast', `Question ${count}`, stream);
    if ('controller' in answer) for await (const _ of answer);
  }
  expect(first.requests.length).toBeGreaterThan(0);
  expect(second.requests.length).toBeGreaterThan(18);
});

it('order: cost begins with the cheapest route', async () => {
  first.play(GOOD);
  second.play(GOOD);
  await ask('cheap');
  expect(counts()).toEqual([0, 1]);
});

const WORDS = {
  chat: {
    error: {
      message: "This model's maximum context length is 8192 tokens.",
      code: 'context_length_exceeded',
    },
  },
  responses: {
    error: {
      message: 'Your input exceeds the context window of this model.',
      code: 'context_length_exceeded',
    },
  },
  messages: {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: 'prompt is too long: 9000 tokens > 8000 maximum',
    },
  },
  gemini: {
    error: {
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: 'The input token count (9000) exceeds the maximum number of tokens allowed (8000).',
    },
  },
} as const;

const OVERFLOW: Script = { refuse: { status: 400, body: WORDS.chat } };

it.each(Object.entries(WORDS))('an overflow in %s tries a larger window', async (format, body) => {
  for (const status of [400, 413]) {
    first.play({ refuse: { status, body } });
    second.play(GOOD);
    const answer = await ask(`window-${format}`);
    expect(answer).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
    expect(counts()).toEqual([1, 1]);
  }
});

it('an overflow inside a stream that has not begun tries a larger window', async () => {
  first.play({ steps: [{ frames: [WORDS.chat] }], usage: USAGE });
  second.play(GOOD);
  let text = '';
  const stream = await ask('growing', 'Hello', true);
  if ('controller' in stream) {
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
  }
  expect([text, counts()]).toEqual(['Hello', [1, 1]]);
});

it.each<[string, string, Script, Script, readonly number[], object]>([
  [
    'windows that are alike are not tried',
    'alike',
    OVERFLOW,
    GOOD,
    [1, 0],
    {
      status: 400,
      code: 'context_length_exceeded',
      message: expect.not.stringContaining('routes tried'),
    },
  ],
  [
    'all overflows are named',
    'growing',
    OVERFLOW,
    OVERFLOW,
    [1, 1],
    {
      status: 400,
      code: 'context_length_exceeded',
      message: expect.stringContaining(
        '(routes tried, by context window: 8000 tokens: context_length_exceeded; 32000 tokens: context_length_exceeded)',
      ),
    },
  ],
  [
    'the failure of a larger window is the answer',
    'growing',
    OVERFLOW,
    DOWN,
    [1, 1],
    {
      status: 502,
      code: 'upstream_failed',
      message: expect.stringContaining(
        '8000 tokens: context_length_exceeded; 32000 tokens: upstream_failed',
      ),
    },
  ],
  [
    'also before the overflow',
    'shrinking',
    DOWN,
    OVERFLOW,
    [1, 1],
    { status: 502, code: 'upstream_failed' },
  ],
  [
    'another fault of the request is not repeated',
    'growing',
    { refuse: { status: 400, body: { error: { message: 'no such role' } } } },
    GOOD,
    [1, 0],
    { status: 400 },
  ],
])('%s', async (_, name, one, two, requests, error) => {
  first.play(one);
  second.play(two);
  await expect(ask(name)).rejects.toMatchObject(error);
  expect(counts()).toEqual(requests);
});
