import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OWNER_KEY } from '../daemon.ts';
import { newKey, sharedGateway, UPSTREAM_KEYS } from './gateway-daemon.ts';
import { type MockUpstream, startMockUpstream } from './mock-upstream.ts';
import { type Script, USAGE } from './script.ts';

const GOOD: Script = { steps: [{ text: 'Hello' }], usage: USAGE };
const DOWN: Script = { refuse: { status: 500, body: '' } };

let fallback: MockUpstream;
beforeAll(async () => {
  fallback = await startMockUpstream();
});
afterAll(() => fallback.close());

const gateway = sharedGateway((url) => ({
  providers: {
    main: { kind: 'openai', baseUrl: url, apiKey: UPSTREAM_KEYS.openai },
    fallback: { kind: 'openai', baseUrl: fallback.url, apiKey: UPSTREAM_KEYS.openai },
  },
  models: {
    m: {
      type: 'text',
      routes: [
        { provider: 'main', model: 'x' },
        { provider: 'fallback', model: 'x' },
      ],
    },
  },
}));

/** Lets the main upstream answer or fail, runs a request, and returns the upstream that answered it. */
async function answeredBy(main: Script, request: () => Promise<unknown>): Promise<string> {
  const { upstream } = gateway();
  upstream.play(main);
  fallback.play(GOOD);
  await request();
  return fallback.requests.length > 0 ? 'fallback' : 'main';
}

type Messages = OpenAI.ChatCompletionMessageParam[];
const FIRST: Messages = [
  { role: 'system', content: 'You write code.' },
  { role: 'user', content: 'Write a parser.' },
];
const SECOND: Messages = [
  ...FIRST,
  { role: 'assistant', content: 'Here it is.' },
  { role: 'user', content: 'Now test it.' },
];

const openai = (key: string = OWNER_KEY) =>
  new OpenAI({ apiKey: key, baseURL: `${gateway().daemon.url}/v1`, maxRetries: 0 });

const chat =
  (messages: Messages, more: object = {}, key?: string) =>
  (): Promise<unknown> =>
    openai(key).chat.completions.create({ model: 'm', messages, ...more });

it('a conversation stays with the fallback that answered it, until that fails', async () => {
  expect(await answeredBy(GOOD, chat(FIRST))).toBe('main');
  expect(await answeredBy(DOWN, chat(FIRST))).toBe('fallback');
  expect(await answeredBy(GOOD, chat(SECOND))).toBe('fallback');
  // Another conversation, another key, and a single request have no cache at the fallback.
  const other: Messages = [{ role: 'user', content: 'Other.' }, ...SECOND.slice(2)];
  expect(await answeredBy(GOOD, chat(other))).toBe('main');
  const key = await newKey(gateway().daemon, 'neighbour');
  expect(await answeredBy(GOOD, chat(SECOND, {}, key))).toBe('main');
  expect(await answeredBy(GOOD, chat(FIRST))).toBe('main');
  // The answer of the main upstream has moved the conversation back.
  expect(await answeredBy(GOOD, chat(SECOND))).toBe('main');
});

it('prompt_cache_key names the conversation in chat and responses', async () => {
  const label = { prompt_cache_key: 'thread-1' };
  expect(await answeredBy(DOWN, chat(FIRST, label))).toBe('fallback');
  const changed: Messages = [{ role: 'user', content: 'Something else.' }];
  expect(await answeredBy(GOOD, chat(changed, label))).toBe('fallback');
  expect(await answeredBy(GOOD, chat(changed, { prompt_cache_key: 'thread-2' }))).toBe('main');
  const respond = () =>
    openai().responses.create({ model: 'm', input: 'More.', store: false, ...label });
  expect(await answeredBy(GOOD, respond)).toBe('fallback');
});

it('metadata.user_id with a session names the conversation in messages', async () => {
  const { daemon } = gateway();
  const client = new Anthropic({ apiKey: OWNER_KEY, baseURL: daemon.url, maxRetries: 0 });
  const ask = (user: string, content: string) => () =>
    client.messages.create({
      model: 'm',
      max_tokens: 100,
      metadata: { user_id: user },
      messages: [{ role: 'user', content }],
    });
  expect(await answeredBy(DOWN, ask('user_1_session_9', 'One.'))).toBe('fallback');
  expect(await answeredBy(GOOD, ask('user_1_session_9', 'Two.'))).toBe('fallback');
  expect(await answeredBy(GOOD, ask('user_1_session_8', 'Two.'))).toBe('main');
});
