import { beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../ask.ts';
import { gatewayConfig, modelTo, newKey, sharedGateway } from '../gateway-daemon.ts';
import type { DialectName, FormatName } from '../mock-upstream.ts';
import { requestsIn } from '../requests.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies and settings of several formats
type Loose = any;

const gateway = sharedGateway((url) => {
  const { models } = gatewayConfig(url) as Loose;
  const dropping = (model: object) => ({ ...model, tools: { hosted: 'drop' } });
  const refusing = (model: object) => ({ ...model, tools: { hosted: 'refuse' } });
  const { 'to-gemini': gemini, 'sandbox-chat': sandbox } = models;
  return {
    models: {
      ...models,
      'refuses-chat': refusing(models['to-chat']),
      'refuses-responses': refusing(models['to-responses']),
      'refuses-messages': refusing(models['to-messages']),
      'drops-chat': dropping(models['to-chat']),
      'drops-responses': dropping(models['to-responses']),
      'drops-messages': dropping(models['to-messages']),
      'drops-gemini': dropping(gemini),
      'allows-gemini': { ...gemini, allow: ['web_search', 'web_fetch', 'code_interpreter'] },
      'drops-sandbox': dropping(sandbox),
    },
  };
});

/** The key of an account that does not pay the providers. */
let key: string;

beforeAll(async () => {
  key = await newKey(gateway().daemon, 'hosting', { credits: '100000' });
});

const FUNCTION = { type: 'function', name: 'find', parameters: { type: 'object' }, strict: false };
const MCP = { type: 'mcp', server_label: 'wiki', server_url: 'https://mcp.example/' };
const SEARCH = { type: 'web_search' };
const FILES = { type: 'file_search', vector_store_ids: ['vs_other'] };

const send = (client: FormatName, model: string, more: object) =>
  ask(gateway(), client, model, more, { key });

const namesOf = ({ tools = [] }: Loose) =>
  tools.map((tool: Loose) => tool.function?.name ?? tool.name ?? tool.type);

describe.each(['chat', 'responses', 'messages'] as const)('hosted tools, upstream %s', (to) => {
  const tools = [SEARCH, FUNCTION, MCP, FILES];
  const forced = { type: 'function', name: 'find' };
  const allowed = (mode: string, ...names: object[]) => ({
    type: 'allowed_tools',
    mode,
    tools: names,
  });

  it.each([
    ['none', ['find']],
    [forced, ['find']],
    [allowed('auto', forced), ['find']],
  ])('that tool_choice %j rules out are left out and named', async (choice, names) => {
    const body = { tools, tool_choice: choice };
    const { status, ignored } = await send('responses', modelTo(to), body);
    expect([status, ignored]).toEqual([200, 'tools[0], tools[2], tools[3]']);
    expect(namesOf(gateway().upstream.only().body)).toEqual(names);
  });

  it.each([
    [undefined, 'tools[0]'],
    ['auto', 'tools[0]'],
    ['required', 'tools[0]'],
    [allowed('auto', { type: 'mcp', server_label: 'wiki' }), 'tools[2]'],
    [SEARCH, 'tools[0]'],
  ])('that tool_choice %j lets the model call are refused', async (choice, param) => {
    const body = { tools, ...(choice && { tool_choice: choice }) };
    const { status, error } = await send('responses', modelTo(to), body);
    expect([status, error.param]).toEqual([400, param]);
    expect(gateway().upstream.requests).toEqual([]);
  });

  it.each([
    [undefined, ['find'], 'tools[0], tools[2], tools[3]', null],
    ['required', ['find'], 'tools[0], tools[2], tools[3]', null],
    [allowed('auto', forced, SEARCH), ['find'], 'tools[0]', 'tools[2], tools[3]'],
  ])(
    'are dropped for tool_choice %j where the model says so',
    async (choice, names, paths, not) => {
      const body = { tools, ...(choice && { tool_choice: choice }) };
      const { status, ignored, dropped } = await send('responses', `drops-${to}`, body);
      expect([status, dropped]).toEqual([200, paths]);
      expect(ignored).toBe(not);
      const sent = gateway().upstream.only().body;
      expect(namesOf(sent)).toEqual(names);
      expect(JSON.stringify(sent)).not.toMatch(/web_search|mcp|vs_other/);
    },
  );

  it.each([
    [[SEARCH], SEARCH],
    [[SEARCH], 'required'],
    [[SEARCH, FUNCTION], allowed('required', SEARCH)],
  ])('are refused where %j must be called by %j', async (only, choice) => {
    const { status } = await send('responses', `drops-${to}`, { tools: only, tool_choice: choice });
    expect(status).toBe(400);
  });

  it('leave no choice behind where no tool is left', async () => {
    const body = { tools: [SEARCH], tool_choice: 'auto', parallel_tool_calls: true };
    expect((await send('responses', `drops-${to}`, body)).status).toBe(200);
    const sent = gateway().upstream.only().body;
    expect(sent).not.toHaveProperty('tools');
    expect(sent).not.toHaveProperty('tool_choice');
    expect(sent).not.toHaveProperty('parallel_tool_calls');
  });
});

it('of messages are left out with their servers', async () => {
  const tools = [
    { type: 'web_search_20250305', name: 'web_search' },
    { type: 'mcp_toolset', mcp_server_name: 'wiki' },
  ];
  const servers = { mcp_servers: [{ type: 'url', name: 'wiki', url: 'https://mcp.example/' }] };
  for (const to of ['chat', 'messages'] as const) {
    const none = { tools, ...servers, tool_choice: { type: 'none' } };
    expect((await send('messages', modelTo(to), none)).status).toBe(200);
    expect(JSON.stringify(gateway().upstream.only().body)).not.toMatch(/mcp|web_search/);
    expect((await send('messages', modelTo(to), { tools, ...servers })).status).toBe(400);
    expect((await send('messages', `drops-${to}`, { tools, ...servers })).status).toBe(200);
    expect(JSON.stringify(gateway().upstream.only().body)).not.toMatch(/mcp|web_search/);
  }
});

it('of chat, also those that are properties, are dropped', async () => {
  const body = { web_search_options: {} };
  expect((await send('chat', 'drops-chat', body)).dropped).toBe('web_search_options');
  expect(gateway().upstream.only().body).not.toHaveProperty('web_search_options');
  expect((await send('chat', modelTo('chat'), body)).error.param).toBe('web_search_options');
});

it('stay where the model allows them, for upstreams of their own format', async () => {
  const body = { tools: [SEARCH, FUNCTION], tool_choice: 'none' };
  const { ignored } = await send('responses', 'allows-responses', body);
  expect(ignored).toBeNull();
  expect(namesOf(gateway().upstream.only().body)).toEqual(['web_search', 'find']);
  expect((await send('responses', 'allows-chat', body)).status).toBe(200);
  expect(namesOf(gateway().upstream.only().body)).toEqual(['find']);
});

it('the sandbox does without them, and without hints', async () => {
  const hints = { random_seed: 3, mirostat_tau: 2 };
  const { status, dropped } = await send('chat', 'sandbox-chat', hints);
  expect([status, dropped]).toEqual([200, 'random_seed, mirostat_tau']);
  const body = { tools: [SEARCH, FUNCTION] };
  expect((await send('responses', 'sandbox-chat', { ...body, tool_choice: 'none' })).status).toBe(
    200,
  );
  const required = { tools: [SEARCH], tool_choice: 'required' };
  expect((await send('responses', 'drops-sandbox', required)).status).toBe(400);
  expect((await send('responses', 'sandbox-chat', { tools: [SEARCH] })).status).toBe(400);
  for (const model of ['sandbox-chat', 'drops-sandbox']) {
    const { status, dropped } = await send('responses', model, body);
    expect([status, dropped]).toEqual([200, 'tools[0]']);
  }
});

describe('a web search beside the tools of the client, as agents offer it', () => {
  it.each(['chat', 'messages', 'gemini'])('is dropped and named, upstream %s', async (to) => {
    const { status, dropped } = await send('responses', `to-${to}`, { tools: [SEARCH, FUNCTION] });
    expect([status, dropped]).toEqual([200, 'tools[0]']);
    expect(gateway().upstream.only().text).not.toContain('web_search');
  });

  it('is refused where the model says so, or where it must be called', async () => {
    const body = { tools: [SEARCH, FUNCTION] };
    expect((await send('responses', 'refuses-chat', body)).error.param).toBe('tools[0]');
    const forced = { ...body, tool_choice: SEARCH };
    expect((await send('responses', 'to-chat', forced)).status).toBe(400);
  });

  it.each([
    ['responses', SEARCH, FUNCTION],
    [
      'messages',
      { type: 'web_search_20250305', name: 'web_search' },
      { name: 'find', input_schema: { type: 'object' } },
    ],
  ] as const)(
    'is dropped and named without the permission for it, upstream %s of the own format',
    async (to, search, find) => {
      const body = { tools: [search, find] };
      const { status, dropped } = await send(to, modelTo(to), body);
      expect([status, dropped]).toEqual([200, 'tools[0]']);
      const { tools } = gateway().upstream.only().body;
      expect(tools).toEqual([find]);
      const forced = to === 'messages' ? { type: 'tool', name: 'web_search' } : SEARCH;
      for (const [model, more] of [
        [modelTo(to), { tool_choice: forced }],
        [modelTo(to), { tools: [search] }],
        [`refuses-${to}`, {}],
      ] as const) {
        const { error } = await send(to, model, { ...body, ...more });
        expect(error).toMatchObject({ code: 'not_allowed', param: 'tools[0]' });
      }
    },
  );
});

interface Conversation {
  readonly body: object;
  readonly paths: readonly string[];
}

/** Conversations in which a provider ran tools, and the paths of what it ran. */
const RAN =
  requestsIn<Readonly<Record<'responses' | 'messages' | 'gemini', Conversation>>>('ran-tools');

const HISTORIES = (['responses', 'messages', 'gemini'] as const).flatMap((client) =>
  (['chat', 'responses', 'messages', 'gemini'] as const).map((to) => [client, to] as const),
);

describe.each(HISTORIES)('calls that a provider ran, client %s, upstream %s', (client, to) => {
  const { body, paths } = RAN[client];

  it('are refused by path, reason and remedy', async () => {
    const { status, error } = await send(client, modelTo(to as DialectName), body);
    expect([status, error.param]).toEqual([400, paths[0]]);
    expect(error.message).toContain(
      `models.to-${to}.${client === to ? 'allow' : 'tools.hosted: drop'}`,
    );
  });

  it('are dropped and named where the model says so, with the text that followed', async () => {
    const { status, dropped } = await send(client, `drops-${to}`, body);
    expect([status, dropped]).toEqual([200, paths.join(', ')]);
    const { text, body: sent } = gateway().upstream.only();
    expect(text).not.toMatch(/srvtoolu|web_search|ws_1|ci_1|fs_1|program"|toolCall|executableCode/);
    expect(text).toContain('It snows.');
    // OpenAI refuses reasoning without the item that it led to.
    if (client === to) expect(text).not.toMatch(/rs_1|caller/);
    expect(sent.messages?.every(({ content }: Loose) => content !== undefined) ?? true).toBe(true);
  });
});

it.each(['responses', 'messages', 'gemini'] as const)(
  'calls that a provider ran are sent to upstreams of %s, their own format, where they are allowed',
  async (client) => {
    const { body } = RAN[client];
    const { error, dropped } = await send(client, `allows-${client}`, body);
    expect(error ?? null).toBeNull();
    expect(dropped).toBeNull();
    expect(gateway().upstream.only().body).toMatchObject(body);
  },
);

it('calls that a provider ran are dropped for the sandbox too', async () => {
  const { body, paths } = RAN.messages;
  expect((await send('messages', 'sandbox-chat', body)).error.message).toContain(
    'tools.hosted: drop',
  );
  const { status, dropped } = await send('messages', 'drops-sandbox', body);
  expect([status, dropped]).toEqual([200, paths.join(', ')]);
});

const GOOGLE = ['googleSearch', 'codeExecution', 'urlContext'] as const;

describe.each(GOOGLE)('%s of a gemini client', (name) => {
  const declared = { functionDeclarations: [{ name: 'find' }] };
  const toolConfig = { functionCallingConfig: { mode: 'NONE' } };

  it('is sent to upstreams of gemini where it is allowed', async () => {
    const tools = [{ ...declared, [name]: {} }];
    expect((await send('gemini', 'allows-gemini', { tools })).status).toBe(200);
    expect(gateway().upstream.only().body.tools).toEqual(tools);
  });

  it.each(['chat', 'responses', 'messages', 'gemini'])(
    'is refused or dropped alone, upstream %s',
    async (to) => {
      // The mode of function calling does not rule out what Google runs.
      const body = { tools: [{ ...declared, [name]: {} }], toolConfig };
      const { status, error } = await send('gemini', `to-${to}`, body);
      expect([status, error.param]).toEqual([400, `tools[0].${name}`]);
      const { dropped } = await send('gemini', `drops-${to}`, body);
      expect(dropped).toBe(`tools[0].${name}`);
      const { body: sent, text } = gateway().upstream.only();
      expect(text).not.toContain(name);
      const [first] = sent.tools;
      expect(first.functionDeclarations?.[0].name ?? first.function?.name ?? first.name).toBe(
        'find',
      );
    },
  );

  it('leaves no settings of tools behind where it was the only one', async () => {
    await send('gemini', 'drops-gemini', { tools: [{ [name]: {} }], toolConfig });
    const { body: sent } = gateway().upstream.only();
    expect(sent).not.toHaveProperty('tools');
    expect(sent).not.toHaveProperty('toolConfig');
  });
});

describe.each(['chat', 'responses', 'messages', 'gemini'])(
  'gemini of tomorrow, upstream %s',
  (to) => {
    it.each([
      [{ tools: [{ functionDeclarations: [{ name: 'find' }], newTool: {} }] }, 'tools[0].newTool'],
      [
        { contents: [{ role: 'user', parts: [{ text: 'Look' }, { newData: { a: 1 } }] }] },
        'contents[0].parts[1].newData',
      ],
    ])('a tool or part of an unknown kind is refused: %j', async (body, param) => {
      const { status, error } = await send('gemini', `to-${to}`, body);
      expect([status, error.param]).toEqual([400, param]);
      expect(gateway().upstream.requests).toHaveLength(0);
    });

    it('unknown fields beside known ones are left out and named', async () => {
      const tools = [{ functionDeclarations: [{ name: 'find' }], note: 'x' }];
      const contents = [{ role: 'user', parts: [{ text: 'Look', extra: { a: 1 } }] }];
      const { status, ignored } = await send('gemini', `to-${to}`, { contents, tools });
      expect([status, ignored]).toEqual([200, 'contents[0].parts[0].extra, tools[0].note']);
    });
  },
);

describe.each(['chat', 'responses', 'messages', 'gemini'])('hosted tools, upstream %s', (to) => {
  it('within a namespace are dropped without its functions', async () => {
    const group = {
      type: 'namespace',
      name: 'crm',
      description: 'CRM.',
      tools: [SEARCH, FUNCTION],
    };
    const refused = await send('responses', `to-${to}`, { tools: [group] });
    expect(refused.error.param).toBe('tools[0].tools[0]');
    const { dropped } = await send('responses', `drops-${to}`, { tools: [group] });
    expect(dropped).toBe('tools[0].tools[0]');
    const { text } = gateway().upstream.only();
    expect(text).not.toContain('web_search');
    expect(text).toMatch(to === 'responses' ? /"namespace"/ : /crm__find/);
  });

  it('that a message of chat adds are dropped without its functions', async () => {
    const fn = { type: 'function', function: { name: 'find', parameters: { type: 'object' } } };
    const messages = [
      { role: 'system', tools: [fn, SEARCH] },
      { role: 'user', content: 'Hello' },
      { role: 'system', tools: [SEARCH] },
    ];
    const refused = await send('chat', `to-${to}`, { messages });
    expect(refused.error.param).toBe('messages[0].tools[1]');
    const { status, dropped } = await send('chat', `drops-${to}`, { messages });
    expect([status, dropped]).toEqual([200, 'messages[0].tools[1], messages[2].tools[0]']);
    const { text } = gateway().upstream.only();
    expect(text).not.toContain('web_search');
    expect(text).toContain('"find"');
  });
});
