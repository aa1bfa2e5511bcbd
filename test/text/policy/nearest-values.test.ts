import { expect, it } from 'vitest';
import { ask } from '../ask.ts';
import { gatewayConfig, sharedGateway } from '../gateway-daemon.ts';
import type { FormatName } from '../mock-upstream.ts';

const gateway = sharedGateway((url) => {
  const { models } = gatewayConfig(url) as { models: Record<string, object> };
  return { models: { ...models, strict: { ...models['to-messages'], onUnsupported: 'refuse' } } };
});

/** Sends a request, and returns what the upstream got of it beside what the headers name. */
async function outcome(client: FormatName, model: string, more: object) {
  const { status, error, sent, dropped, ignored } = await ask(gateway(), client, model, more);
  return { status, param: error?.param, sent, dropped, ignored };
}

const thinking = (budget: number) => ({ thinking: { type: 'enabled', budget_tokens: budget } });
const thoughts = (budget: number, more: object = {}) => ({
  generationConfig: { thinkingConfig: { thinkingBudget: budget }, ...more },
});

it.each([
  ['chat', thinking(900_000), 'thinking', 59_904],
  ['gemini', thoughts(900_000), 'generationConfig.thinkingConfig', 59_904],
  ['chat', { ...thinking(5000), max_tokens: 4000 }, 'thinking', 2000],
  ['gemini', thoughts(5000, { maxOutputTokens: 4000 }), 'generationConfig.thinkingConfig', 2000],
] as const)(
  'a budget beyond the limit of an answer, which Anthropic refuses, is lowered: %s, %j',
  async (client, more, path, budget) => {
    const { status, sent, dropped } = await outcome(client, 'to-messages', more);
    expect(status).toBe(200);
    expect(sent.thinking).toEqual({ type: 'enabled', budget_tokens: budget });
    expect(sent.max_tokens).toBeGreaterThan(budget);
    expect(dropped).toBe(path);
    expect(await outcome(client, 'strict', more)).toMatchObject({ status: 400, param: path });
  },
);

const FORCED = { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required' };

it.each([
  ['thinking', { ...thinking(5000), max_tokens: 500 }],
  ['reasoning_effort', { reasoning_effort: 'medium', max_tokens: 500 }],
  ['reasoning_effort', { reasoning_effort: 'medium', ...FORCED }],
])('reasoning for which an answer has no room is dropped and named: %s, %j', async (path, more) => {
  const { status, sent, dropped } = await outcome('chat', 'to-messages', more);
  expect([status, dropped]).toEqual([200, path]);
  expect(sent.thinking).toBeUndefined();
});

it('top_k beside reasoning, which Anthropic refuses, is dropped and named', async () => {
  const more = thoughts(2000, { topK: 64, temperature: 1, topP: 0.95 });
  const { status, sent, dropped } = await outcome('gemini', 'to-messages', more);
  expect([status, dropped]).toEqual([200, 'generationConfig.topK']);
  expect(sent).not.toHaveProperty('top_k');
  expect(sent).toMatchObject({ temperature: 1, top_p: 0.95 });
});

it('a value that two limits change is named once', async () => {
  const more = { reasoning: { effort: 'max' }, max_output_tokens: 500 };
  expect(await outcome('responses', 'to-messages', more)).toMatchObject({
    status: 200,
    dropped: 'reasoning.effort',
  });
});

it.each(['chat', 'gemini'] as const)(
  'store: true of %s is named where it is not sent',
  async (client) => {
    const { status, sent, ignored } = await outcome(client, 'to-responses', { store: true });
    expect([status, sent.store, ignored]).toEqual([200, false, 'store']);
  },
);

it.each([
  [{ type: 'adaptive' }, { type: 'adaptive' }],
  [undefined, undefined],
])('an effort in its own format is lowered in place: thinking %j', async (thought, kept) => {
  const format = { type: 'json_schema', schema: { type: 'object' } };
  const more = { thinking: thought, output_config: { effort: 'max', format } };
  const { status, sent, dropped } = await outcome('messages', 'to-messages', more);
  expect([status, dropped]).toEqual([200, thought ? 'thinking' : 'output_config.effort']);
  expect(sent.output_config).toEqual({ effort: 'xhigh', format });
  expect(sent.thinking).toEqual(kept);
  expect(sent.max_tokens).toBe(500);
});

it('a budget in its own format is lowered in place', async () => {
  const thought = { type: 'enabled', budget_tokens: 90_000, display: 'omitted' };
  const more = { max_tokens: 100_000, thinking: thought, temperature: 1 };
  const { sent, dropped } = await outcome('messages', 'to-messages', more);
  expect(dropped).toBe('max_tokens, thinking');
  expect(sent).toMatchObject({ max_tokens: 64_000, temperature: 1 });
  expect(sent.thinking).toEqual({ ...thought, budget_tokens: 59_904 });
});

it.each([
  [{ thinkingLevel: 'MINIMAL' }, { thinkingLevel: 'LOW' }],
  [{ thinkingBudget: 900_000 }, { thinkingBudget: 59_904 }],
])('depths of gemini are changed for its own upstreams: %j', async (depth, nearest) => {
  const more = { generationConfig: { thinkingConfig: depth } };
  const { status, sent, dropped } = await outcome('gemini', 'to-gemini', more);
  expect([status, dropped]).toEqual([200, 'generationConfig.thinkingConfig']);
  expect(sent.generationConfig.thinkingConfig).toMatchObject(nearest);
});

it('a file of the provider reaches models with fixed reasoning from clients of messages', async () => {
  const content = [
    { type: 'text', text: 'Look' },
    { type: 'image', source: { type: 'url', url: 'ms://file-1' } },
  ];
  const { status, sent } = await outcome('messages', 'always-reasons', {
    messages: [{ role: 'user', content }],
  });
  expect(status).toBe(200);
  expect(sent.messages[0].content[1]).toEqual({
    type: 'image_url',
    image_url: { url: 'ms://file-1' },
  });
});

it.each(['', []])('an empty message of a user, %j, stays a message', async (content) => {
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello.' },
    { role: 'user', content },
  ];
  const { status, sent } = await outcome('messages', 'to-chat', { messages });
  expect(status).toBe(200);
  expect(sent.messages.at(-1)).toEqual({ role: 'user', content: '' });
  expect(sent.messages).toHaveLength(3);
});
