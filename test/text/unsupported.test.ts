import { describe, expect, it } from 'vitest';
import { ask, DONE } from './ask.ts';
import { DIALECTS, FOREIGN, gatewayConfig, modelTo, sharedGateway } from './gateway-daemon.ts';
import type { DialectName } from './mock-upstream.ts';
import { PATHS } from './raw.ts';
import { requestsIn } from './requests.ts';
import type { Script } from './script.ts';

const gateway = sharedGateway((url) => {
  const { models } = gatewayConfig(url) as { models: Record<string, object> };
  const routeTo = (dialect: DialectName, more: object = {}) => ({
    provider: dialect === 'messages' ? 'anthropic' : 'openai',
    model: `upstream-${dialect}`,
    dialect,
    ...more,
  });
  return {
    models: {
      ...models,
      drops: { ...models[modelTo('messages')], onUnsupported: 'drop' },
      'drops-some': {
        ...models[modelTo('messages')],
        onUnsupported: ['seed', 'temperature', 'messages[].name'],
      },
      'route-refuses': {
        ...models[modelTo('messages')],
        onUnsupported: 'drop',
        routes: [routeTo('messages', { onUnsupported: 'refuse' })],
      },
      'falls-back': {
        ...models[modelTo('messages')],
        onUnsupported: 'drop',
        routes: [routeTo('messages'), routeTo('chat')],
      },
      'prefers-whole': {
        ...models[modelTo('messages')],
        onUnsupported: 'drop',
        routes: [routeTo('messages', { onUnsupported: 'refuse' }), routeTo('chat')],
      },
    },
  };
});

const LOST = { seed: 7, temperature: 1.5, logit_bias: { 5: 1 }, verbosity: 'low' };

const chat = (model: string, more: object, ...play: Script[]) =>
  ask(gateway(), 'chat', model, more, play.length > 0 ? { play } : {});

it.each(['chat', 'messages'] as const)('the schema of a result is described to %s', async (to) => {
  const tool = { type: 'function', name: 'f', output_schema: { type: 'string' } };
  const { sent } = await ask(gateway(), 'responses', modelTo(to), { tools: [tool] });
  const described = 'Schema of the result: {"type":"string"}';
  expect(sent).toMatchObject({
    tools: [expect.toSatisfy((one) => JSON.stringify(one).includes(JSON.stringify(described)))],
  });
});

type Written = { readonly more: object; readonly dropped?: string; readonly sent?: object };

it.each(Object.entries(requestsIn<Record<string, Written>>('compatible-servers')))(
  '%s reaches a provider, or is dropped and named',
  async (_, { more, dropped = null, sent = {} }) => {
    const answer = await chat(modelTo('responses'), more);
    expect([answer.status, answer.error, answer.dropped]).toEqual([200, undefined, dropped]);
    expect(answer.sent).toMatchObject(sent);
  },
);

describe('onUnsupported', () => {
  const user = (name: string) => ({ role: 'user', name, content: 'Hi' });

  it('drop: leaves out what the format lacks, and names it in x-oriel-dropped', async () => {
    const messages = [user('ann'), user('bob')];
    const { status, dropped, sent, wire } = await chat('drops', { ...LOST, messages });
    expect(status).toBe(200);
    expect(dropped!.split(', ').sort()).toEqual(
      [...Object.keys(LOST), 'messages[0].name', 'messages[1].name'].sort(),
    );
    expect(sent).toHaveProperty('temperature', 1);
    expect(wire).not.toMatch(/seed|bias|verbosity|ann|bob/);
  });

  it('a list: drops the fields on it, and refuses others by path and remedy', async () => {
    const { seed, temperature } = LOST;
    const some = { seed, temperature, messages: [user('ann')] };
    const { status, dropped } = await chat('drops-some', some);
    expect([status, dropped]).toEqual([200, expect.stringContaining('messages[0].name')]);
    const refused = await chat('drops-some', LOST);
    expect([refused.status, refused.requests.length]).toEqual([400, 0]);
    const { code, message, param } = refused.error;
    expect(code).toBe('not_supported_by_model');
    expect(message).toContain("the messages format of this model's upstream has no");
    expect(message).toContain(`models.drops-some.onUnsupported: [${param}]`);
  });

  it('a route overrides its model', async () => {
    const { status, requests } = await chat('route-refuses', LOST);
    expect([status, requests.length]).toEqual([400, 0]);
  });

  it('a further route that can express the fields gets them, and no header names them', async () => {
    const down: Script = { refuse: { status: 500 } };
    const { status, dropped, requests, sent } = await chat('falls-back', LOST, down, DONE);
    expect([status, dropped, requests.length]).toEqual([200, null, 2]);
    expect(requests[0]!.text).not.toContain('seed');
    expect(sent).toMatchObject(LOST);
  });

  it('a route that refuses lets the next one have the request whole', async () => {
    const { status, requests, sent } = await chat('prefers-whole', LOST);
    expect([status, requests.length]).toEqual([200, 1]);
    expect(sent).toMatchObject(LOST);
  });
});

/** Fields that ask for what happens anyway. */
const NEUTRAL: Readonly<Record<DialectName, object>> = {
  chat: {
    ...{ n: 1, top_p: 1, frequency_penalty: 0, presence_penalty: 0, logprobs: false, seed: null },
    ...{ top_logprobs: 0, logit_bias: {}, verbosity: 'medium', modalities: ['text'], top_k: -1 },
    ...{ parallel_tool_calls: true, service_tier: 'auto', store: false, repetition_penalty: 1 },
    ...{ prediction: null, audio: null, web_search_options: null, min_p: 0, transforms: [] },
  },
  responses: {
    ...{ truncation: 'disabled', background: false, service_tier: 'default', max_tool_calls: 5 },
    ...{ text: { verbosity: 'medium' }, include: ['reasoning.encrypted_content'], store: false },
    ...{ conversation: null, prompt: null, context_management: [], top_logprobs: 0 },
    ...{ stream_options: { include_obfuscation: false }, reasoning: { context: 'auto' } },
  },
  messages: {
    ...{ mcp_servers: [], container: null, inference_geo: 'global', speed: 'standard', betas: [] },
    ...{ service_tier: 'auto', fallbacks: [], diagnostics: null, top_p: 1 },
    context_management: {
      edits: [
        { type: 'clear_thinking_20251015', keep: 'all' },
        { type: 'clear_tool_uses_20250919', trigger: { type: 'input_tokens', value: 9000 } },
      ],
    },
  },
};

/** Advice of each format. */
const ADVICE: Readonly<Record<DialectName, object>> = {
  chat: { metadata: { a: 'b' }, prediction: { type: 'content', content: 'x' } },
  responses: { truncation: 'auto', client_metadata: { session: 'x' } },
  messages: { diagnostics: {} },
};

describe.each(FOREIGN)('a client of %s, an upstream of %s', (client, upstream) => {
  it('neutral values are accepted and not named', async () => {
    const asked = await ask(gateway(), client, modelTo(upstream), NEUTRAL[client]);
    expect(asked).toMatchObject({ error: undefined, dropped: null, ignored: null });
  });

  it('advice without a word in the format is left out and named in x-oriel-ignored', async () => {
    const { status, ignored, sent } = await ask(
      ...([gateway(), client, modelTo(upstream), ADVICE[client]] as const),
    );
    expect(status).toBe(200);
    const named = [...(ignored ?? '').split(', '), ...Object.keys(sent)];
    expect(named).toEqual(expect.arrayContaining(Object.keys(ADVICE[client])));
  });
});

it('of a field in every item of a long conversation, x-oriel-ignored still names the others', async () => {
  const item = { role: 'user', content: 'Go on', internal_chat_message_metadata_passthrough: {} };
  const more = { input: Array.from({ length: 60 }, () => item), client_metadata: { a: 'b' } };
  const { status, ignored } = await ask(gateway(), 'responses', modelTo('chat'), more);
  expect(status).toBe(200);
  const repeated = (index: number) => `input[${index}].internal_chat_message_metadata_passthrough`;
  const [first, second, ...further] = (ignored ?? '').split(', ');
  expect([first, second]).toEqual([repeated(0), 'client_metadata']);
  // No path is cut.
  expect(further.length).toBeGreaterThan(0);
  expect(further).toEqual(further.map((_, index) => repeated(index + 1)));
});

const LONG = `user_${'a'.repeat(300)}_session_b`;

it.each([
  ['chat', 'messages', { user: 'u1' }, { metadata: { user_id: 'u1' } }, null],
  [
    ...(['chat', 'messages', { user: 'u1', safety_identifier: 's1' }] as const),
    { metadata: { user_id: 's1' } },
    'user',
  ],
  ['responses', 'messages', { safety_identifier: 's1' }, { metadata: { user_id: 's1' } }, null],
  [
    ...(['chat', 'responses', { user: 'u1', safety_identifier: 's1' }] as const),
    { user: 'u1', safety_identifier: 's1' },
    null,
  ],
  ['messages', 'chat', { metadata: { user_id: 'u1' } }, { user: 'u1' }, null],
  ['messages', 'responses', { metadata: { user_id: 'u1' } }, { user: 'u1' }, null],
] as const)(
  'the end user of %s reaches an upstream of %s and is not named as ignored: %j',
  async (client, upstream, given, expected, named) => {
    const { status, sent, ignored } = await ask(gateway(), client, modelTo(upstream), given);
    expect([status, ignored]).toEqual([200, named]);
    expect(sent).toMatchObject(expected);
  },
);

it.each([
  ['messages', 'chat', { metadata: { user_id: LONG } }],
  ['chat', 'messages', { user: LONG }],
] as const)(
  'an end user of %s that %s would refuse as too long is a hash',
  async (client, to, given) => {
    const { status, sent } = await ask(gateway(), client, modelTo(to), given);
    expect(status).toBe(200);
    expect(sent.user ?? sent.metadata.user_id).toMatch(/^[0-9a-f]{64}$/);
  },
);

/** Fields within lists. */
const NESTED: Readonly<Record<DialectName, Readonly<Record<string, object>>>> = {
  chat: {
    'messages[].name': { class: 'hint', upstreams: 'all' },
    'messages[].content[].image_url.detail': { class: 'meaning' },
    'messages[].content[].cache_control': { class: 'advice' },
    'tools[].function.strict': { class: 'meaning', upstreams: 'all' },
    'tools[]': { upstreams: 'same format', types: expect.arrayContaining(['web_search', 'mcp']) },
  },
  responses: {
    'input[].content[].file_url': { types: ['input_file'], upstreams: 'all' },
    'input[].caller': { class: 'advice' },
    'input[].operation': { types: ['apply_patch_call'], upstreams: 'same format' },
    'tools[].output_schema': { types: ['function'], upstreams: 'all' },
    'tools[].vector_store_ids': { types: ['file_search'], upstreams: 'same format' },
  },
  messages: {
    'messages[].content[].source.media_type': { types: ['base64', 'text'] },
    'messages[].content[].is_error': { types: ['tool_result'], upstreams: 'all' },
    'messages[].content[].context': { types: ['document'], upstreams: 'same format' },
    'tools[].input_examples': { upstreams: 'same format' },
  },
};

it.each(DIALECTS)('/openapi.json has the fields of %s by class', async (dialect) => {
  const { daemon } = gateway();
  const { paths } = (await (await fetch(`${daemon.url}/openapi.json`)).json()) as {
    paths: Record<string, { post?: { 'x-oriel-fields'?: readonly { path: string }[] } }>;
  };
  const fields = paths[PATHS[dialect]]?.post?.['x-oriel-fields'] ?? [];
  const names = new Map(fields.map((field) => [field.path, field]));
  for (const name of Object.keys({ ...NEUTRAL[dialect], ...ADVICE[dialect] })) {
    expect(names.get(name), name).toMatchObject({
      class: expect.stringMatching(/^(meaning|hint|advice)$/),
    });
  }
  for (const [path, about] of Object.entries(NESTED[dialect])) {
    expect(names.get(path), path).toMatchObject(about);
  }
});
