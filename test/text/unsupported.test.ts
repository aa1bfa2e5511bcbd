import { describe, expect, it } from 'vitest';
import { DIALECTS, FOREIGN, gatewayConfig, gatewayDaemon, modelTo } from './gateway-daemon.ts';
import type { DialectName } from './mock-upstream.ts';
import { plainBody, send } from './raw.ts';
import { type Script, USAGE } from './script.ts';

const gateway = gatewayDaemon((url) => {
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

const DONE: Script = { steps: [{ text: 'Done.' }], usage: USAGE };
const LOST = { seed: 7, temperature: 1.5, logit_bias: { 5: 1 }, verbosity: 'low' };

interface Refusal {
  readonly error: { readonly param: string; readonly code: string; readonly message: string };
}

describe('onUnsupported', () => {
  it('drop: leaves out what the format lacks, and names it in x-oriel-dropped', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const messages = [
      { role: 'user', name: 'ann', content: 'Hi' },
      { role: 'user', name: 'bob', content: 'Ho' },
    ];
    const response = await send(daemon, 'chat', plainBody('chat', 'drops', { ...LOST, messages }));
    expect(response.status).toBe(200);
    const dropped = response.headers.get('x-oriel-dropped')!.split(', ').sort();
    expect(dropped).toEqual([...Object.keys(LOST), 'messages[0].name', 'messages[1].name'].sort());
    expect(mock.only().body).toHaveProperty('temperature', 1);
    expect(mock.only().text).not.toMatch(/seed|bias|verbosity|ann|bob/);
  });

  it('a list: drops the fields on it, and refuses others by path and remedy', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE, DONE);
    const messages = [{ role: 'user', name: 'ann', content: 'Hi' }];
    const { seed, temperature } = LOST;
    const some = plainBody('chat', 'drops-some', { seed, temperature, messages });
    const response = await send(daemon, 'chat', some);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-oriel-dropped')).toContain('messages[0].name');
    const refused = await send(daemon, 'chat', plainBody('chat', 'drops-some', LOST));
    expect(refused.status).toBe(400);
    const { error } = (await refused.json()) as Refusal;
    expect(error).toMatchObject({ code: 'not_supported_by_model' });
    expect(error.message).toContain("the messages format of this model's upstream has no");
    expect(error.message).toContain(`models.drops-some.onUnsupported: [${error.param}]`);
    expect(mock.requests).toHaveLength(1);
  });

  it('a route overrides its model', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const response = await send(daemon, 'chat', plainBody('chat', 'route-refuses', LOST));
    expect(response.status).toBe(400);
    expect(mock.requests).toHaveLength(0);
  });

  it('a further route that can express the fields gets them, and no header names them', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ refuse: { status: 500 } }, DONE);
    const body = plainBody('chat', 'falls-back', LOST);
    const response = await send(daemon, 'chat', body);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-oriel-dropped')).toBeNull();
    expect(mock.requests).toHaveLength(2);
    expect(mock.requests[0]!.text).not.toContain('seed');
    expect(mock.requests[1]!.body).toMatchObject(LOST);
  });

  it('a route that refuses lets the next one have the request whole', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const response = await send(daemon, 'chat', plainBody('chat', 'prefers-whole', LOST));
    expect(response.status).toBe(200);
    expect(mock.only().body).toMatchObject(LOST);
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
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const body = plainBody(client, modelTo(upstream), NEUTRAL[client]);
    const response = await send(daemon, client, body);
    expect(await response.json()).not.toHaveProperty('error.message');
    expect(response.headers.get('x-oriel-dropped')).toBeNull();
    expect(response.headers.get('x-oriel-ignored')).toBeNull();
  });

  it('advice without a word in the format is left out and named in x-oriel-ignored', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const body = plainBody(client, modelTo(upstream), ADVICE[client]);
    const response = await send(daemon, client, body);
    expect(response.status).toBe(200);
    const named = (response.headers.get('x-oriel-ignored') ?? '').split(', ');
    for (const name of Object.keys(ADVICE[client])) {
      expect([...named, ...Object.keys(mock.only().body)]).toContain(name);
    }
  });
});

it('of a field in every item of a long conversation, x-oriel-ignored still names the others', async () => {
  const { daemon, upstream: mock } = gateway();
  mock.play(DONE);
  const item = { role: 'user', content: 'Go on', internal_chat_message_metadata_passthrough: {} };
  const more = { input: Array.from({ length: 60 }, () => item), client_metadata: { a: 'b' } };
  const response = await send(daemon, 'responses', plainBody('responses', modelTo('chat'), more));
  expect(response.status).toBe(200);
  const named = (response.headers.get('x-oriel-ignored') ?? '').split(', ');
  const repeated = (index: number) => `input[${index}].internal_chat_message_metadata_passthrough`;
  expect(named.slice(0, 3)).toEqual([repeated(0), 'client_metadata', repeated(1)]);
  // No path is cut.
  expect(named).toEqual([
    repeated(0),
    'client_metadata',
    ...named.slice(2).map((_, i) => repeated(i + 1)),
  ]);
});

const LONG = `user_${'a'.repeat(300)}_session_b`;

describe.each([
  ['chat', 'messages', { user: 'u1' }, { metadata: { user_id: 'u1' } }],
  ['chat', 'messages', { user: 'u1', safety_identifier: 's1' }, { metadata: { user_id: 's1' } }],
  ['responses', 'messages', { safety_identifier: 's1' }, { metadata: { user_id: 's1' } }],
  [
    'chat',
    'responses',
    { user: 'u1', safety_identifier: 's1' },
    { user: 'u1', safety_identifier: 's1' },
  ],
  ['messages', 'chat', { metadata: { user_id: 'u1' } }, { user: 'u1' }],
  ['messages', 'responses', { metadata: { user_id: 'u1' } }, { user: 'u1' }],
] as const)('the end user of %s for an upstream of %s: %j', (client, upstream, given, sent) => {
  it('is carried and not named as left out', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const response = await send(daemon, client, plainBody(client, modelTo(upstream), given));
    expect(response.status).toBe(200);
    expect(mock.only().body).toMatchObject(sent);
    const isOnly = Object.keys(given).length === 1 || upstream === 'responses';
    expect(response.headers.get('x-oriel-ignored')).toBe(isOnly ? null : 'user');
  });
});

it.each([
  ['messages', 'chat', { metadata: { user_id: LONG } }],
  ['chat', 'messages', { user: LONG }],
] as const)(
  'an end user of %s that %s would refuse as too long is a hash',
  async (client, to, given) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    expect((await send(daemon, client, plainBody(client, modelTo(to), given))).status).toBe(200);
    const { user, metadata } = mock.only().body;
    expect(user ?? metadata.user_id).toMatch(/^[0-9a-f]{64}$/);
  },
);

/** Fields within lists. */
const NESTED: Readonly<Record<DialectName, Readonly<Record<string, object>>>> = {
  chat: {
    'messages[].name': { class: 'meaning', upstreams: 'all' },
    'messages[].content[].image_url.detail': { class: 'meaning' },
    'messages[].content[].cache_control': { class: 'advice' },
    'tools[].function.strict': { class: 'meaning', upstreams: 'all' },
    'tools[]': { upstreams: 'same format', types: expect.arrayContaining(['web_search', 'mcp']) },
  },
  responses: {
    'input[].content[].file_url': { types: ['input_file'], upstreams: 'all' },
    'input[].caller': { class: 'advice' },
    'input[].operation': { types: ['apply_patch_call'], upstreams: 'same format' },
    'tools[].output_schema': { types: ['function'], upstreams: 'same format' },
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
  const path = {
    chat: '/v1/chat/completions',
    responses: '/v1/responses',
    messages: '/v1/messages',
  };
  const fields = paths[path[dialect]]?.post?.['x-oriel-fields'] ?? [];
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
