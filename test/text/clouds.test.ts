import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../daemon.ts';
import { CLOUD_SECRETS, CLOUDS, type CloudName } from './clouds.ts';
import { DATA_URL, PIXEL, type Settings, STOPS, WEATHER } from './conversation.ts';
import { DIALECTS, gatewayConfig, gatewayDaemon } from './gateway-daemon.ts';
import { geminiTalk } from './gemini/gemini-talk.ts';
import type { FormatName } from './mock-upstream.ts';
import { type Script, USAGE } from './script.ts';
import { talk } from './talk.ts';

/** Formats of models of each cloud. Tests of Vertex have its format of Gemini. */
const UPSTREAMS = {
  bedrock: ['chat', 'messages', 'converse'],
  vertex: ['chat', 'messages'],
} as const;

const CLIENTS: readonly FormatName[] = [...DIALECTS, 'gemini'];

const HELLO: Script = { steps: [{ text: 'Good day ä€🙂' }], usage: USAGE };
const CALLS: Script = {
  steps: [
    { reasoning: 'They want two cities.', signature: 'c2lnbmVk' },
    { call: 'get_weather', id: 'call_a1', arguments: '{"city":"Oslo"}' },
    { call: 'get_weather', id: 'call_b2', arguments: '{"city":"Łódź"}' },
  ],
  usage: USAGE,
};
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

/** The counts of input and output that each client reads. */
const COUNTED: Readonly<Record<FormatName, object>> = {
  chat: { prompt_tokens: USAGE.input, completion_tokens: USAGE.output },
  responses: { input_tokens: USAGE.input, output_tokens: USAGE.output },
  messages: { input_tokens: USAGE.input - USAGE.cached!, cache_read_input_tokens: USAGE.cached },
  gemini: { promptTokenCount: USAGE.input, cachedContentTokenCount: USAGE.cached },
};

/** Each feature of the matrix once, for each format of clients and of the cloud's models. */
describe.each(CLOUDS)('models in %s', (cloud: CloudName) => {
  const gateway = gatewayDaemon((url) => {
    const { models } = gatewayConfig(url) as { models: Readonly<Record<string, object>> };
    const { 'to-chat': chat, 'to-messages': messages } = models;
    const converse = { provider: 'anthropic', model: 'upstream-converse', dialect: 'converse' };
    const more = cloud === 'bedrock' && { 'to-converse': { ...messages, routes: [converse] } };
    return { models: { 'to-chat': chat, 'to-messages': messages, ...more } };
  }, cloud);

  describe.each(
    UPSTREAMS[cloud].flatMap((upstream) => CLIENTS.map((client) => [client, upstream] as const)),
  )('a client of %s, an upstream of %s', (client, upstream) => {
    const start = (settings: Partial<Settings> = {}) => {
      const { daemon } = gateway();
      const all = { model: `to-${upstream}`, ...settings };
      return client === 'gemini'
        ? geminiTalk({ url: daemon.url, key: OWNER_KEY }, all)
        : talk(client, daemon, all);
    };

    it.each(['whole', 'events'] as const)('text, an image, limits and usage: %s', async (mode) => {
      const { upstream: mock } = gateway();
      mock.play(HELLO);
      const conversation = start({ system: 'Be brief.', maxTokens: 900, temperature: 0.5 });
      conversation.user([{ text: 'Hello' }, { image: DATA_URL }]);
      const answer = await conversation.ask(mode);
      expect(answer).toMatchObject({ text: 'Good day ä€🙂', model: `to-${upstream}` });
      expect(answer.usage).toMatchObject(COUNTED[client]);
      expect(answer.stop).toBe(client === 'gemini' ? 'STOP' : STOPS.stop[client]);
      await conversation.user('And?').ask(mode);
      const { body, text } = mock.requests[1]!;
      expect(body.max_tokens ?? body.max_completion_tokens).toBe(900);
      for (const part of ['Be brief.', 'Hello', PIXEL, 'Good day ä€🙂', 'And?']) {
        expect(text).toContain(part);
      }
    });

    it.each(['whole', 'events'] as const)('reasoning, calls and results: %s', async (mode) => {
      const { upstream: mock } = gateway();
      mock.play(CALLS, HELLO);
      const include = { include: ['reasoning.encrypted_content'] };
      const more = client === 'responses' ? include : {};
      const conversation = start({ tools: [WEATHER], effort: 'high', more }).user('Weather?');
      const { reasoning, calls } = await conversation.ask(mode);
      expect(reasoning).toBe('They want two cities.');
      expect(calls.map((call) => call.arguments)).toEqual([{ city: 'Oslo' }, { city: 'Łódź' }]);
      const results = calls.map(({ id }, at) => ({ id, content: ['snow', 'rain'][at]! }));
      expect((await conversation.results(...results).ask(mode)).text).toBe('Good day ä€🙂');
      const { text } = mock.requests[1]!;
      for (const part of ['call_a1', 'call_b2', 'snow', 'rain', 'They want two cities.']) {
        expect(text).toContain(part);
      }
      expect(text.includes('c2lnbmVk')).toBe(upstream !== 'chat');
    });

    it('a schema, a choice of tools and an end by length', async () => {
      const { upstream: mock } = gateway();
      mock.play({ steps: [{ text: '{"city":' }], stop: 'length', usage: USAGE });
      const { text, stop } = await start({ schema: SCHEMA, maxTokens: 900 }).user('Where?').ask();
      expect(text).toBe('{"city":');
      expect(stop).toBe(client === 'gemini' ? 'MAX_TOKENS' : STOPS.length[client]);
      mock.play(CALLS);
      const named = { tools: [WEATHER], toolChoice: { name: WEATHER.name } };
      expect((await start(named).user('Weather?').ask()).calls).toHaveLength(2);
    });

    it('an error and a cut stream, without a secret', async () => {
      const { upstream: mock } = gateway();
      const message = `the request of ${CLOUD_SECRETS[cloud]} is too large`;
      mock.play({ refuse: { status: 400, body: { error: { message } } } });
      const failure: unknown = await start()
        .user('Hello')
        .ask()
        .catch((error: unknown) => error);
      const refused = client === 'gemini' ? 'INVALID_ARGUMENT' : 400;
      expect(failure).toMatchObject({ status: refused });
      expect(String(failure)).toContain('is too large');
      expect(String(failure)).not.toContain(CLOUD_SECRETS[cloud]);
      mock.play({ ...HELLO, fault: { after: 2, how: 'end' } });
      await expect(start().user('Hello').ask('events')).rejects.toThrow();
    });
  });
});
