import { beforeAll, describe, expect, it } from 'vitest';
import { gatewayConfig, gatewayDaemon, modelTo, newKey } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { plainBody, send } from '../raw.ts';
import { USAGE } from '../script.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies and settings of several formats
type Loose = any;

const gateway = gatewayDaemon((url) => {
  const { providers, models } = gatewayConfig(url) as Loose;
  const dropping = (model: object) => ({ ...model, tools: { hosted: 'drop' } });
  const refusing = (model: object) => ({ ...model, tools: { hosted: 'refuse' } });
  const sandbox = { type: 'text', routes: [{ provider: 'sandbox', model: 'chat' }] };
  const gemini = {
    ...models['to-chat'],
    routes: [{ provider: 'gemini', model: 'gemini-3-pro' }],
  };
  return {
    providers: {
      ...providers,
      sandbox: { kind: 'sandbox' },
      gemini: { kind: 'gemini', baseUrl: url.replace(/v1$/, 'v1beta'), apiKey: 'AIza-5ecre7' },
    },
    models: {
      ...models,
      'refuses-chat': refusing(models['to-chat']),
      'refuses-responses': refusing(models['to-responses']),
      'refuses-messages': refusing(models['to-messages']),
      'drops-chat': dropping(models['to-chat']),
      'drops-responses': dropping(models['to-responses']),
      'drops-messages': dropping(models['to-messages']),
      'to-gemini': gemini,
      'drops-gemini': dropping(gemini),
      'allows-gemini': { ...gemini, allow: ['web_search', 'web_fetch', 'code_interpreter'] },
      sandbox,
      'drops-sandbox': dropping(sandbox),
    },
  };
});

/** The key of an account that does not pay the providers. */
let key: string;

beforeAll(async () => {
  key = await newKey(gateway().daemon, 'tenant', { credits: '100000' });
});

const FUNCTION = { type: 'function', name: 'find', parameters: { type: 'object' }, strict: false };
const MCP = { type: 'mcp', server_label: 'wiki', server_url: 'https://mcp.example/' };
const SEARCH = { type: 'web_search' };
const FILES = { type: 'file_search', vector_store_ids: ['vs_other'] };

async function ask(client: DialectName | 'gemini', model: string, more: object) {
  const { daemon, upstream } = gateway();
  upstream.play({ steps: [{ text: 'Hello' }], usage: USAGE });
  const response =
    client === 'gemini'
      ? await fetch(`${daemon.url}/v1beta/models/${model}:generateContent`, {
          method: 'POST',
          headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
          body: JSON.stringify({
            contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
            ...more,
          }),
        })
      : await send(daemon, client, plainBody(client, model, more), { key });
  const body = (await response.json()) as Loose;
  return { status: response.status, error: body.error, headers: response.headers };
}

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
    const { status, headers } = await ask('responses', modelTo(to), body);
    expect(status).toBe(200);
    expect(headers.get('x-oriel-ignored')).toBe('tools[0], tools[2], tools[3]');
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
    const { status, error } = await ask('responses', modelTo(to), body);
    expect(status).toBe(400);
    expect(error.param).toBe(param);
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
      const { status, headers } = await ask('responses', `drops-${to}`, body);
      expect(status).toBe(200);
      expect(headers.get('x-oriel-dropped')).toBe(paths);
      expect(headers.get('x-oriel-ignored')).toBe(not);
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
    const { status } = await ask('responses', `drops-${to}`, { tools: only, tool_choice: choice });
    expect(status).toBe(400);
  });

  it('leave no choice behind where no tool is left', async () => {
    const body = { tools: [SEARCH], tool_choice: 'auto', parallel_tool_calls: true };
    expect((await ask('responses', `drops-${to}`, body)).status).toBe(200);
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
    expect((await ask('messages', modelTo(to), none)).status).toBe(200);
    expect(JSON.stringify(gateway().upstream.only().body)).not.toMatch(/mcp|web_search/);
    expect((await ask('messages', modelTo(to), { tools, ...servers })).status).toBe(400);
    expect((await ask('messages', `drops-${to}`, { tools, ...servers })).status).toBe(200);
    expect(JSON.stringify(gateway().upstream.only().body)).not.toMatch(/mcp|web_search/);
  }
});

it('of chat, also those that are properties, are dropped', async () => {
  const body = { web_search_options: {} };
  expect((await ask('chat', 'drops-chat', body)).headers.get('x-oriel-dropped')).toBe(
    'web_search_options',
  );
  expect(gateway().upstream.only().body).not.toHaveProperty('web_search_options');
  expect((await ask('chat', modelTo('chat'), body)).error.param).toBe('web_search_options');
});

it('stay where the model allows them, for upstreams of their own format', async () => {
  const body = { tools: [SEARCH, FUNCTION], tool_choice: 'none' };
  const { headers } = await ask('responses', 'allows-responses', body);
  expect(headers.get('x-oriel-ignored')).toBeNull();
  expect(namesOf(gateway().upstream.only().body)).toEqual(['web_search', 'find']);
  expect((await ask('responses', 'allows-chat', body)).status).toBe(200);
  expect(namesOf(gateway().upstream.only().body)).toEqual(['find']);
});

it('the sandbox does without them', async () => {
  const body = { tools: [SEARCH, FUNCTION] };
  expect((await ask('responses', 'sandbox', { ...body, tool_choice: 'none' })).status).toBe(200);
  const required = { tools: [SEARCH], tool_choice: 'required' };
  expect((await ask('responses', 'drops-sandbox', required)).status).toBe(400);
  expect((await ask('responses', 'sandbox', { tools: [SEARCH] })).status).toBe(400);
  for (const model of ['sandbox', 'drops-sandbox']) {
    const { status, headers } = await ask('responses', model, body);
    expect(status).toBe(200);
    expect(headers.get('x-oriel-dropped')).toBe('tools[0]');
  }
});

describe('a web search beside the tools of the client, as agents offer it', () => {
  it.each(['chat', 'messages', 'gemini'])('is dropped and named, upstream %s', async (to) => {
    const { status, headers } = await ask('responses', `to-${to}`, { tools: [SEARCH, FUNCTION] });
    expect(status).toBe(200);
    expect(headers.get('x-oriel-dropped')).toBe('tools[0]');
    expect(gateway().upstream.only().text).not.toContain('web_search');
  });

  it('is refused where the model says so, or where it must be called', async () => {
    const body = { tools: [SEARCH, FUNCTION] };
    expect((await ask('responses', 'refuses-chat', body)).error.param).toBe('tools[0]');
    const forced = { ...body, tool_choice: SEARCH };
    expect((await ask('responses', 'to-chat', forced)).status).toBe(400);
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
      const { status, headers } = await ask(to, modelTo(to), body);
      expect([status, headers.get('x-oriel-dropped')]).toEqual([200, 'tools[0]']);
      const { tools } = gateway().upstream.only().body;
      expect(tools).toEqual([find]);
      const forced = to === 'messages' ? { type: 'tool', name: 'web_search' } : SEARCH;
      for (const [model, more] of [
        [modelTo(to), { tool_choice: forced }],
        [modelTo(to), { tools: [search] }],
        [`refuses-${to}`, {}],
      ] as const) {
        const { error } = await ask(to, model, { ...body, ...more });
        expect(error).toMatchObject({ code: 'not_allowed', param: 'tools[0]' });
      }
    },
  );
});

/** Conversations in which a provider ran tools, and the paths of what it ran. */
const RAN: Readonly<Record<'responses' | 'messages' | 'gemini', [object, readonly string[]]>> = {
  responses: [
    {
      input: [
        { role: 'user', content: 'Weather?' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'enc' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } },
        { type: 'code_interpreter_call', id: 'ci_1', code: '1', container_id: 'c', outputs: [] },
        { type: 'file_search_call', id: 'fs_1', queries: ['q'], results: null },
        { type: 'program', id: 'p_1', call_id: 'call_p', code: 'find()' },
        {
          type: 'function_call',
          call_id: 'call_f',
          name: 'find',
          arguments: '{}',
          caller: { type: 'program', caller_id: 'call_p' },
        },
        { type: 'function_call_output', call_id: 'call_f', output: 'found' },
        { type: 'program_output', call_id: 'call_p', result: 'found' },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'It snows.' }],
        },
        { role: 'user', content: 'And now?' },
      ],
    },
    ['input[2]', 'input[3]', 'input[4]', 'input[5]', 'input[8]'],
  ],
  messages: [
    {
      messages: [
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
            { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
            { type: 'text', text: 'It snows.' },
          ],
        },
        { role: 'user', content: 'Look again.' },
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 'srvtoolu_2', name: 'code_execution', input: {} },
            { type: 'code_execution_tool_result', tool_use_id: 'srvtoolu_2', content: {} },
          ],
        },
        { role: 'user', content: 'And now?' },
      ],
    },
    [
      'messages[1].content[0]',
      'messages[1].content[1]',
      'messages[3].content[0]',
      'messages[3].content[1]',
    ],
  ],
  gemini: [
    {
      contents: [
        { role: 'user', parts: [{ text: 'Weather?' }] },
        {
          role: 'model',
          parts: [
            { toolCall: { toolType: 'GOOGLE_SEARCH_WEB', args: {}, id: 'a' } },
            { toolResponse: { toolType: 'GOOGLE_SEARCH_WEB', response: {}, id: 'a' } },
            { executableCode: { language: 'PYTHON', code: 'print(1)' } },
            { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
            { text: 'It snows.' },
          ],
        },
        { role: 'user', parts: [{ text: 'And now?' }] },
      ],
    },
    ['toolCall', 'toolResponse', 'executableCode', 'codeExecutionResult'].map(
      (name, index) => `contents[1].parts[${index}].${name}`,
    ),
  ],
};

const HISTORIES = (['responses', 'messages', 'gemini'] as const).flatMap((client) =>
  (['chat', 'responses', 'messages', 'gemini'] as const).map((to) => [client, to] as const),
);

describe.each(HISTORIES)('calls that a provider ran, client %s, upstream %s', (client, to) => {
  const [body, paths] = RAN[client];

  it('are refused by path, reason and remedy', async () => {
    const { status, error } = await ask(client, modelTo(to as DialectName), body);
    expect(status).toBe(400);
    expect(error.param).toBe(paths[0]);
    expect(error.message).toContain(
      `models.to-${to}.${client === to ? 'allow' : 'tools.hosted: drop'}`,
    );
  });

  it('are dropped and named where the model says so, with the text that followed', async () => {
    const { status, headers, error } = await ask(client, `drops-${to}`, body);
    expect(error ?? null).toBeNull();
    expect(status).toBe(200);
    expect(headers.get('x-oriel-dropped')).toBe(paths.join(', '));
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
    const [body] = RAN[client];
    const { error, headers } = await ask(client, `allows-${client}`, body);
    expect(error ?? null).toBeNull();
    expect(headers.get('x-oriel-dropped')).toBeNull();
    expect(gateway().upstream.only().body).toMatchObject(body);
  },
);

it('calls that a provider ran are dropped for the sandbox too', async () => {
  const [body, paths] = RAN.messages;
  expect((await ask('messages', 'sandbox', body)).error.message).toContain('tools.hosted: drop');
  const { status, headers } = await ask('messages', 'drops-sandbox', body);
  expect(status).toBe(200);
  expect(headers.get('x-oriel-dropped')).toBe(paths.join(', '));
});

const GOOGLE = ['googleSearch', 'codeExecution', 'urlContext'] as const;

describe.each(GOOGLE)('%s of a gemini client', (name) => {
  const declared = { functionDeclarations: [{ name: 'find' }] };
  const toolConfig = { functionCallingConfig: { mode: 'NONE' } };

  it('is sent to upstreams of gemini where it is allowed', async () => {
    const tools = [{ ...declared, [name]: {} }];
    expect((await ask('gemini', 'allows-gemini', { tools })).status).toBe(200);
    expect(gateway().upstream.only().body.tools).toEqual(tools);
  });

  it.each(['chat', 'responses', 'messages', 'gemini'])(
    'is refused or dropped alone, upstream %s',
    async (to) => {
      // The mode of function calling does not rule out what Google runs.
      const body = { tools: [{ ...declared, [name]: {} }], toolConfig };
      const { status, error } = await ask('gemini', `to-${to}`, body);
      expect(status).toBe(400);
      expect(error.param).toBe(`tools[0].${name}`);
      const { headers } = await ask('gemini', `drops-${to}`, body);
      expect(headers.get('x-oriel-dropped')).toBe(`tools[0].${name}`);
      const { body: sent, text } = gateway().upstream.only();
      expect(text).not.toContain(name);
      const [first] = sent.tools;
      expect(first.functionDeclarations?.[0].name ?? first.function?.name ?? first.name).toBe(
        'find',
      );
    },
  );

  it('leaves no settings of tools behind where it was the only one', async () => {
    await ask('gemini', 'drops-gemini', { tools: [{ [name]: {} }], toolConfig });
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
      const { status, error } = await ask('gemini', `to-${to}`, body);
      expect([status, error.param]).toEqual([400, param]);
      expect(gateway().upstream.requests).toHaveLength(0);
    });

    it('unknown fields beside known ones are left out and named', async () => {
      const tools = [{ functionDeclarations: [{ name: 'find' }], note: 'x' }];
      const contents = [{ role: 'user', parts: [{ text: 'Look', extra: { a: 1 } }] }];
      const { status, headers } = await ask('gemini', `to-${to}`, { contents, tools });
      expect(status).toBe(200);
      expect(headers.get('x-oriel-ignored')).toBe('contents[0].parts[0].extra, tools[0].note');
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
    const refused = await ask('responses', `to-${to}`, { tools: [group] });
    expect(refused.error.param).toBe('tools[0].tools[0]');
    const { headers } = await ask('responses', `drops-${to}`, { tools: [group] });
    expect(headers.get('x-oriel-dropped')).toBe('tools[0].tools[0]');
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
    const refused = await ask('chat', `to-${to}`, { messages });
    expect(refused.error.param).toBe('messages[0].tools[1]');
    const { status, headers } = await ask('chat', `drops-${to}`, { messages });
    expect(status).toBe(200);
    expect(headers.get('x-oriel-dropped')).toBe('messages[0].tools[1], messages[2].tools[0]');
    const { text } = gateway().upstream.only();
    expect(text).not.toContain('web_search');
    expect(text).toContain('"find"');
  });
});
