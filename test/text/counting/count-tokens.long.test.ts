import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { newKey, sharedGateway, UPSTREAM_KEYS } from '../gateway-daemon.ts';

const text = (provider: string, more: object = {}) => ({
  type: 'text',
  routes: [{ provider, model: `at-${provider}` }],
  ...more,
});

const gateway = sharedGateway((url) => ({
  providers: {
    openai: { kind: 'openai', baseUrl: url, apiKey: UPSTREAM_KEYS.openai },
    anthropic: { kind: 'anthropic', baseUrl: url, apiKey: UPSTREAM_KEYS.anthropic },
    oriel: { kind: 'oriel', baseUrl: url },
    sandbox: { kind: 'sandbox' },
  },
  models: {
    claude: text('anthropic', { maxOutputTokens: 4096, price: { input: 1000, output: 1000 } }),
    twice: {
      type: 'text',
      routes: [
        { provider: 'anthropic', model: 'first' },
        { provider: 'anthropic', model: 'second' },
      ],
    },
    gpt: text('openai'),
    answers: {
      type: 'text',
      routes: [{ provider: 'openai', model: 'at-openai', dialect: 'responses' }],
    },
    other: text('oriel'),
    sandbox: text('sandbox'),
    said: { type: 'text', routes: [{ provider: 'sandbox', model: 'chat' }] },
    picture: { type: 'image', routes: [{ provider: 'sandbox', model: 'image' }] },
  },
}));

const client = () =>
  new Anthropic({ apiKey: OWNER_KEY, baseURL: gateway().daemon.url, maxRetries: 0 });

const HELLO = [{ role: 'user', content: 'Hello' }] as const;

/** Counts, with the response for its headers. */
async function count(model: string, body: object = {}, headers: Record<string, string> = {}) {
  const asked = {
    model,
    messages: HELLO,
    ...body,
  } as unknown as Anthropic.MessageCountTokensParams;
  const { data, response } = await client().messages.countTokens(asked, { headers }).withResponse();
  return { ...data, estimate: response.headers.get('x-oriel-estimate'), headers: response.headers };
}

const counted = (tokens: unknown) => ({
  raw: { type: 'application/json', body: JSON.stringify({ input_tokens: tokens }) },
});

const refuse = (status: number, type: string) => ({
  refuse: { status, body: { type: 'error', error: { type, message: 'No.' } } },
});

describe('count_tokens by a messages upstream', () => {
  it('is forwarded without settings of answers, and costs nothing', async () => {
    const { upstream, daemon } = gateway();
    upstream.play(counted(2095));
    const balance = async () => {
      const account = (await (await daemon.request('/v1/account')).json()) as { credits: unknown };
      return account.credits;
    };
    const before = await balance();
    const body = {
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 'get', input_schema: { type: 'object' } }],
      thinking: { type: 'adaptive' },
      temperature: 1,
      max_tokens: 50_000,
    };
    const beta = { 'anthropic-beta': 'token-counting-2024-11-01,secret-2030-01-01' };
    const { thinking: _, ...sent } = body;
    const answer = await count('claude', sent, beta);
    expect(answer).toMatchObject({ input_tokens: 2095, estimate: null });
    expect(answer.headers.get('x-oriel-ignored')).toBe('temperature, secret-2030-01-01');
    expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'));
    const { path, headers, body: received } = upstream.only();
    expect(path).toBe('/v1/messages/count_tokens');
    expect(headers).toMatchObject({
      'x-api-key': UPSTREAM_KEYS.anthropic,
      'anthropic-version': expect.stringMatching(/^20/),
      'anthropic-beta': 'token-counting-2024-11-01',
    });
    const { system, tools } = body;
    expect(received).toEqual({ model: 'at-anthropic', messages: HELLO, system, tools });
    expect(await balance()).toEqual(before);
  });

  it('tries the next route, and then reports the failure', async () => {
    const { upstream } = gateway();
    upstream.play(refuse(529, 'overloaded_error'), counted(7));
    expect(await count('twice')).toMatchObject({ input_tokens: 7, estimate: null });
    expect(upstream.requests.map(({ body }) => body.model)).toEqual(['first', 'second']);
    upstream.play(refuse(429, 'rate_limit_error'));
    await expect(count('claude')).rejects.toMatchObject({ status: 429 });
    upstream.play(counted('many'));
    await expect(count('claude')).rejects.toMatchObject({ status: 502 });
  });

  it('is estimated where the upstream does not have the endpoint', async () => {
    const { upstream } = gateway();
    upstream.play(refuse(404, 'not_found_error'));
    expect(await count('claude')).toMatchObject({ input_tokens: 5, estimate: 'true' });
  });

  it('by another Oriel keeps the mark of its estimate', async () => {
    const { upstream } = gateway();
    upstream.play({ ...counted(9), headers: { 'x-oriel-estimate': 'true' } });
    expect(await count('other')).toMatchObject({ input_tokens: 9, estimate: 'true' });
  });

  it('refuses what the messages endpoint refuses', async () => {
    const key = await newKey(gateway().daemon, 'counting', { models: 'gpt' });
    const limited = new Anthropic({ apiKey: key, baseURL: gateway().daemon.url, maxRetries: 0 });
    const asked = { model: 'claude', messages: [...HELLO] };
    await expect(limited.messages.countTokens(asked)).rejects.toMatchObject({ status: 403 });
    const routing = { fallbacks: [{ model: 'other' }] };
    const file = { type: 'document', source: { type: 'url', url: 'http://169.254.169.254/a.pdf' } };
    for (const [body, status] of [
      [{ messages: [] }, 400],
      [{ messages: 'Hello' }, 400],
      [routing, 400],
      [{ messages: [{ role: 'user', content: [file] }] }, 400],
      [{ model: 'nothing' }, 404],
      [{ model: 'picture' }, 400],
    ] as const) {
      await expect(count('claude', body)).rejects.toMatchObject({
        status,
        error: { type: 'error', request_id: expect.any(String) },
      });
    }
    expect(
      (await fetch(`${gateway().daemon.url}/v1/messages/count_tokens`, { method: 'POST' })).status,
    ).toBe(401);
  });
});

describe.each(['gpt', 'sandbox'])('count_tokens for the model %s', (model) => {
  const tokensOf = async (content: unknown, more: object = {}) => {
    const messages = [{ role: 'user', content }];
    const { input_tokens, estimate } = await count(model, { messages, ...more });
    expect(estimate).toBe('true');
    return input_tokens;
  };

  it('counts texts, tools and images by a tokenizer', async () => {
    gateway().upstream.play();
    const sentence = 'The quick brown fox jumps over the lazy dog. ';
    expect(await tokensOf('Hello')).toBe(5);
    expect(await tokensOf(sentence.repeat(100).trim())).toBe(1004);
    const tool = { name: 'get_weather', description: sentence, input_schema: { type: 'object' } };
    const withTool = await tokensOf('Hello', { tools: [tool], system: 'Be brief.' });
    expect(withTool).toBeGreaterThan(25);
    expect(withTool).toBeLessThan(50);
    const source = { type: 'base64', media_type: 'image/png', data: 'aaaa' };
    expect(await tokensOf([{ type: 'image', source }])).toBeGreaterThan(1000);
    expect(gateway().upstream.requests).toEqual([]);
  });

  it.each([
    ['one letter', 'a', 125_000],
    ['one Chinese character', '中', 900_000],
    ['blanks', ' ', 20_000],
    ['lone surrogates', '\ud800', 1_000_000],
    ['emojis', '🙂', 500_000],
    ['marks of the end of a text', '<|endoftext|>', 460_000],
  ])('counts a million characters of %s in bounded time', async (_, unit, most) => {
    const tokens = await tokensOf(`${unit.repeat(1_000_000 / unit.length)}.`);
    expect(tokens).toBeGreaterThan(1000);
    expect(tokens).toBeLessThanOrEqual(most * 1.2);
  });

  it('estimates a long text by a sample of it', async () => {
    const words = Array.from({ length: 100_000 }, (_, index) => `word ${index % 997}`).join(' ');
    const part = words.slice(0, words.length / 10);
    const [all, tenth] = [await tokensOf(words), await tokensOf(part)];
    expect(all / tenth).toBeGreaterThan(9.8);
    expect(all / tenth).toBeLessThan(10.2);
  });
});

describe('input_tokens of responses', () => {
  const openai = () =>
    new OpenAI({ apiKey: OWNER_KEY, baseURL: `${gateway().daemon.url}/v1`, maxRetries: 0 });

  it('is forwarded to a provider of responses without what it does not count', async () => {
    gateway().upstream.play(counted(17));
    const asked = { model: 'answers', input: 'Hello', instructions: 'Be brief.' };
    const answer = await openai().responses.inputTokens.count({ ...asked, user: 'me' } as object);
    expect({ ...answer }).toEqual({ object: 'response.input_tokens', input_tokens: 17 });
    const { path, body } = gateway().upstream.only();
    expect(path).toBe('/v1/responses/input_tokens');
    expect(body).toEqual({ ...asked, model: 'at-openai' });
  });

  it('counts the conversation that a request continues', async () => {
    const model = 'said';
    const first = await openai().responses.create({ model, input: 'Hello there, my friend.' });
    const tokensOf = async (more: object) =>
      (await openai().responses.inputTokens.count({ model, input: 'And?', ...more })).input_tokens;
    const alone = await tokensOf({});
    expect(await tokensOf({ previous_response_id: first.id })).toBeGreaterThan(alone + 5);
    const unknown = tokensOf({ previous_response_id: 'resp_unknown' });
    await expect(unknown).rejects.toMatchObject({ status: 404, param: 'previous_response_id' });
  });
});
