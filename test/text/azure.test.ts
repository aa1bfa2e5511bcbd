import OpenAI, { AzureOpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../daemon.ts';
import { ask as askGateway, DONE } from './ask.ts';
import {
  AZURE_KEY,
  BLOCKED_PROMPT,
  DEPLOYMENTS,
  filteredStream,
  RATE_LIMITED,
  resourceOf,
  startAzureUpstream,
} from './azure-upstream.ts';
import { DATA_URL, WEATHER } from './conversation.ts';
import { DIALECTS, gatewayConfig } from './gateway-daemon.ts';
import type { DialectName, FormatName, MockUpstream, Play } from './mock-upstream.ts';
import { eventsOf } from './raw.ts';
import { USAGE } from './script.ts';
import { talk } from './talk.ts';

const [CHAT = '', REASONER = ''] = DEPLOYMENTS;

let azure: MockUpstream;
beforeAll(async () => {
  azure = await startAzureUpstream();
});
afterAll(() => azure.close());

const ask = (client: FormatName, id: string, play: Play, more: object = {}) =>
  askGateway({ daemon: daemon(), upstream: azure }, client, id, more, { play: [play] });

const model = (provider: string, deployment: string, dialect?: string) => ({
  type: 'text',
  routes: [{ provider, model: deployment, ...(dialect && { dialect }) }],
  reasoning: { supported_efforts: ['low'], default_effort: 'low', can_disable: true },
});

const daemon = sharedDaemon({
  get config() {
    const provider = (more: object) => ({ kind: 'azure', apiKey: AZURE_KEY, ...more });
    const resource = resourceOf(azure);
    return gatewayConfig(resource, {
      providers: {
        dated: provider({ baseUrl: resource, apiVersion: '2024-10-21' }),
        v1: provider({ baseUrl: `${resource}/openai/v1/` }),
        preview: provider({ baseUrl: resource, apiVersion: 'preview' }),
        wrong: provider({ baseUrl: resource, apiKey: 'azure-wrong-key-5ecre7' }),
      },
      models: {
        'dated-chat': model('dated', CHAT),
        'dated-responses': model('dated', REASONER, 'responses'),
        'dated-missing': model('dated', 'no such/deployment'),
        'v1-chat': model('v1', CHAT),
        'v1-responses': model('v1', REASONER, 'responses'),
        'preview-chat': model('preview', CHAT),
        'preview-responses': model('preview', CHAT, 'responses'),
        'wrong-chat': model('wrong', CHAT),
      },
    });
  },
});

/** Each model with the path and query of its requests. */
const ADDRESSES = [
  ['dated-chat', `/openai/deployments/${CHAT}/chat/completions?api-version=2024-10-21`],
  ['dated-responses', '/openai/v1/responses'],
  ['v1-chat', '/openai/v1/chat/completions'],
  ['v1-responses', '/openai/v1/responses'],
  ['preview-chat', '/openai/v1/chat/completions?api-version=preview'],
  ['preview-responses', '/openai/v1/responses?api-version=preview'],
] as const;

describe('a provider of kind azure', () => {
  it.each(ADDRESSES)('has the address of the interface: %s at %s', async (id, address) => {
    azure.play(DONE);
    for (const client of DIALECTS) {
      expect(
        (await askGateway({ daemon: daemon(), upstream: azure }, client, id, {}, { play: [] }))
          .status,
      ).toBe(200);
    }
    for (const { path, query, headers, body } of azure.requests) {
      expect(path + query).toBe(address);
      expect(headers).toMatchObject({ 'api-key': AZURE_KEY });
      expect(headers).not.toHaveProperty('authorization');
      expect(body.model).toBe(id === 'dated-responses' || id === 'v1-responses' ? REASONER : CHAT);
    }
    expect(azure.requests).toHaveLength(3);
  });

  const TALKS = DIALECTS.flatMap((client) =>
    ['dated-chat', 'v1-responses'].map((id) => [client, id] as const),
  );

  it.each(TALKS)('answers tool calls with reasoning: client %s, model %s', async (client, id) => {
    for (const mode of ['whole', 'helper'] as const) {
      azure.play({
        steps: [
          { reasoning: 'A city is named.', encrypted: 'gAAAA' },
          { call: 'get_weather', id: 'call_1', arguments: '{"city":"Oslo"}' },
        ],
        usage: USAGE,
      });
      const answer = await talk(client, daemon(), { model: id, tools: [WEATHER] })
        .user([{ text: 'What is the weather here?' }, { image: DATA_URL }])
        .ask(mode);
      expect(answer.calls).toMatchObject([{ name: 'get_weather', arguments: { city: 'Oslo' } }]);
      expect(azure.only().text).toContain(DATA_URL);
    }
  });
});

describe('content filter of azure', () => {
  const text = (client: DialectName, events: ReturnType<typeof eventsOf>) =>
    events
      .map(({ data }) => {
        if (client === 'chat') return data.choices?.[0]?.delta?.content ?? '';
        if (client === 'messages') return data.delta?.text ?? '';
        return data.type === 'response.output_text.delta' ? data.delta : '';
      })
      .join('');

  it.each(DIALECTS)('client %s reads a stream with chunks about the filter', async (client) => {
    const raw = { type: 'text/event-stream', body: filteredStream('stop') };
    const events = eventsOf((await ask(client, 'dated-chat', { raw }, { stream: true })).text);
    expect(text(client, events)).toBe('Hello there');
    const ends = { chat: '"stop"', responses: '"completed"', messages: '"end_turn"' };
    expect(JSON.stringify(events)).toContain(ends[client]);
    // Chat clients get the chunks as they came, under the public name.
    const about = events.filter(({ data }) => data.prompt_filter_results);
    expect(about.map(({ data }) => data.model)).toEqual(client === 'chat' ? ['dated-chat'] : []);
  });

  it.each(DIALECTS)('client %s learns that the answer was cut', async (client) => {
    const raw = { type: 'text/event-stream', body: filteredStream('content_filter') };
    const { text: events } = await ask(client, 'dated-chat', { raw }, { stream: true });
    expect(events).toContain(client === 'messages' ? '"refusal"' : '"content_filter"');
  });

  it.each(DIALECTS)('client %s gets 400 content_policy for a blocked prompt', async (client) => {
    for (const id of ['dated-chat', 'v1-responses']) {
      const { status, error } = await ask(client, id, { refuse: BLOCKED_PROMPT }, { stream: true });
      expect(status).toBe(400);
      expect(error).toMatchObject({ type: 'content_policy', code: 'content_filter' });
      expect(azure.requests).toHaveLength(1);
    }
  });
});

describe('errors of azure', () => {
  it('a deployment that does not exist is upstream_not_found', async () => {
    const { status, error } = await ask('chat', 'dated-missing', {});
    expect([status, error.code]).toEqual([502, 'upstream_not_found']);
    expect(azure.only().path).toBe('/openai/deployments/no%20such%2Fdeployment/chat/completions');
  });

  it('a wrong key is upstream_auth', async () => {
    const { status, error } = await ask('chat', 'wrong-chat', {});
    expect([status, error.code]).toEqual([502, 'upstream_auth']);
  });

  it('a rate limit has Retry-After and no status as its code', async () => {
    const { status, headers, error } = await ask('chat', 'v1-chat', { refuse: RATE_LIMITED });
    expect([status, headers.get('retry-after')]).toEqual([429, '7']);
    expect(error).toMatchObject({ type: 'rate_limit' });
    expect(error.code ?? null).not.toBe('429');
  });
});

describe('a client of azure', () => {
  const HELLO = [{ role: 'user' as const, content: 'Hello' }];

  it('names the model as a deployment, and sends its key as api-key', async () => {
    const client = new AzureOpenAI({
      apiKey: OWNER_KEY,
      endpoint: daemon().url,
      apiVersion: '2024-10-21',
      maxRetries: 0,
    });
    azure.play({ steps: [{ text: 'Good day' }], usage: USAGE });
    const request = { model: 'v1-chat', messages: HELLO };
    const whole = await client.chat.completions.create(request);
    expect(whole.choices[0]!.message.content).toBe('Good day');
    let text = '';
    for await (const { choices } of await client.chat.completions.create({
      ...request,
      stream: true,
    })) {
      text += choices[0]?.delta.content ?? '';
    }
    expect(text).toBe('Good day');
  });

  it('may leave out the model in the body, and gets errors of its format', async () => {
    azure.play({ steps: [{ text: 'Good day' }], usage: USAGE });
    const ask = (deployment: string, body: object) =>
      fetch(`${daemon().url}/openai/deployments/${deployment}/chat/completions?api-version=x`, {
        method: 'POST',
        headers: { 'api-key': OWNER_KEY, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect((await ask('v1-chat', { messages: HELLO, model: 'ignored' })).status).toBe(200);
    expect((await ask('v1-chat', { messages: HELLO })).status).toBe(200);
    const refused = await ask('unknown', { messages: HELLO });
    expect([refused.status, await refused.json()]).toMatchObject([
      404,
      { error: { code: 'model_not_found' } },
    ]);
    expect((await ask('v1-chat', [])).status).toBe(400);
  });

  it('may ask for responses by a dated version', async () => {
    azure.play({ steps: [{ text: 'Good day' }], usage: USAGE });
    const apiVersion = '2025-03-01-preview';
    const client = new AzureOpenAI({ endpoint: daemon().url, apiKey: OWNER_KEY, apiVersion });
    const { output_text } = await client.responses.create({ model: 'v1-chat', input: 'Hello' });
    expect(output_text).toBe('Good day');
  });

  it.each(['openai/v1', 'v1beta/openai'])('may use the base path %s', async (path) => {
    const { models } = new OpenAI({ apiKey: OWNER_KEY, baseURL: `${daemon().url}/${path}` });
    expect(await models.retrieve('v1-chat')).toMatchObject({ id: 'v1-chat' });
  });
});
