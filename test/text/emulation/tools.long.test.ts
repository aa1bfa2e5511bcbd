import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { ask as asked } from '../ask.ts';
import { MODES, type Mode } from '../conversation.ts';
import { modelTo, sharedGateway } from '../gateway-daemon.ts';
import { type Script, USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

// biome-ignore lint/suspicious/noExplicitAny: bodies and answers of several formats
type Loose = any;

const PATCH = '*** Begin Patch\n*** Add File: "a\\b".txt\n+Grüße 😀\n*** End Patch';
const ARGUMENTS = JSON.stringify({ input: PATCH });
const GRAMMAR = 'start: "*** Begin Patch" LF';

/** The tools of a request that an upstream received: names and schemas, in one shape. */
function toolsOf({ tools = [] }: Loose): Loose[] {
  return tools.map(
    ({ function: own, input_schema, parameters, name, description, type }: Loose) => ({
      name: own?.name ?? name,
      description: own?.description ?? description,
      schema: own?.parameters ?? parameters ?? input_schema,
      isFunction: type === undefined || type === 'function',
    }),
  );
}

const INPUT_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string', description: expect.any(String) } },
  required: ['input'],
  additionalProperties: false,
};

const CUSTOM = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'lark', definition: GRAMMAR },
};

const SHELL = {
  type: 'function',
  name: 'shell',
  description: 'Runs a command.',
  parameters: { type: 'object', properties: { command: { type: 'string' } } },
  strict: null,
};

const calling = (name: string, json: string): Script => ({
  steps: [
    { text: 'I edit.' },
    { call: name, id: 'call_a', arguments: json, pieces: json.match(/.{1,5}/gs)! },
  ],
  usage: USAGE,
});

describe.each(['chat', 'messages'] as const)('a custom tool of responses, upstream %s', (to) => {
  const start = (more: object = {}) =>
    talk('responses', gateway().daemon, {
      model: modelTo(to),
      more: { tools: [SHELL, CUSTOM], ...more },
    }).user('Edit');

  it.each(MODES)('is a function upstream and a custom call for the client: %s', async (mode) => {
    const { upstream: mock } = gateway();
    mock.play(calling('apply_patch', ARGUMENTS), { steps: [{ text: 'Done.' }], usage: USAGE });
    const conversation = start({ tool_choice: { type: 'custom', name: 'apply_patch' } });
    const answer = await conversation.ask(mode);
    const call = answer.raw.output.at(-1);
    expect(call).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: PATCH });
    expect(call).not.toHaveProperty('arguments');
    const [shell, custom] = toolsOf(mock.only().body);
    expect(shell).toMatchObject({ name: 'shell', isFunction: true });
    expect(custom).toMatchObject({
      name: 'apply_patch',
      description: 'Edits files.',
      schema: INPUT_SCHEMA,
      isFunction: true,
    });
    expect(custom.schema.properties.input.description).toContain(GRAMMAR);
    if (mode === 'events') {
      const deltas = answer.events.filter(({ type }) => type.endsWith('_input.delta'));
      expect(deltas.map(({ delta }) => delta).join('')).toBe(PATCH);
      expect(deltas.length).toBeGreaterThan(5);
    }
    const result = { type: 'custom_tool_call_output', call_id: call.call_id, output: 'ok' };
    const next = await conversation.push(result).ask(mode, { more: { tools: [SHELL, CUSTOM] } });
    expect(next.text).toBe('Done.');
    const sent = JSON.stringify(mock.requests[1]!.body.messages);
    expect(sent).toContain(to === 'chat' ? JSON.stringify(ARGUMENTS) : ARGUMENTS);
    expect(sent).toContain('"ok"');
  });

  it('names its grammar as ignored', async () => {
    const more = { tools: [CUSTOM] };
    const { status, ignored } = await asked(gateway(), 'responses', modelTo(to), more);
    expect([status, ignored]).toEqual([200, expect.stringContaining('tools[0].format')]);
  });
});

describe.each(MODES)('a custom tool of chat, upstream responses: %s', (mode) => {
  it('is a custom tool there, and its calls come back', async () => {
    const { daemon, upstream: mock } = gateway();
    const item = {
      id: 'ctc_1',
      type: 'custom_tool_call',
      call_id: 'call_c',
      name: 'apply_patch',
      input: PATCH,
    };
    const at = { item_id: 'ctc_1', output_index: 0 };
    const event = 'response.custom_tool_call_input';
    const frames = [
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, input: '' },
      },
      ...PATCH.match(/.{1,9}/gs)!.map((delta) => ({ type: `${event}.delta`, ...at, delta })),
      { type: `${event}.done`, ...at, input: PATCH },
      { type: 'response.output_item.done', output_index: 0, item },
    ];
    mock.play({ steps: [{ frames, block: item }], usage: USAGE });
    const {
      format: { type, ...grammar },
    } = CUSTOM;
    const tool = {
      type: 'custom',
      custom: { name: 'apply_patch', format: { type, grammar } },
    };
    const previous = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_b', type: 'custom', custom: { name: 'apply_patch', input: 'x' } }],
    };
    const found = await askChat(daemon.url, mode, {
      model: modelTo('responses'),
      messages: [
        { role: 'user', content: 'Edit' },
        previous,
        { role: 'tool', tool_call_id: 'call_b', content: 'bad patch' },
      ],
      tools: [tool],
      tool_choice: { type: 'custom', custom: { name: 'apply_patch' } },
    });
    expect(found).toEqual({
      calls: [{ id: 'call_c', type: 'custom', custom: { name: 'apply_patch', input: PATCH } }],
      reason: 'tool_calls',
    });
    const { body } = mock.only();
    expect(body.tools).toEqual([{ type: 'custom', name: 'apply_patch', format: CUSTOM.format }]);
    expect(body.tool_choice).toEqual({ type: 'custom', name: 'apply_patch' });
    expect(body.input.slice(1)).toEqual([
      { type: 'custom_tool_call', call_id: 'call_b', name: 'apply_patch', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'call_b', output: 'bad patch' },
    ]);
  });
});

async function askChat(url: string, mode: Mode, body: Loose) {
  const client = new OpenAI({ apiKey: OWNER_KEY, baseURL: `${url}/v1`, maxRetries: 0 });
  if (mode === 'whole') {
    const { choices } = await client.chat.completions.create({ ...body, stream: false });
    return { calls: choices[0]!.message.tool_calls, reason: choices[0]!.finish_reason };
  }
  const calls: Loose[] = [];
  let reason: string | null = null;
  const stream: Loose = await client.chat.completions.create({ ...body, stream: true });
  for await (const { choices } of stream as AsyncIterable<Loose>) {
    for (const { index, ...call } of choices[0].delta.tool_calls ?? []) {
      if (calls[index] === undefined) calls[index] = call;
      else calls[index].custom.input += call.custom.input;
    }
    reason = choices[0].finish_reason ?? reason;
  }
  return { calls, reason };
}

describe.each(['chat', 'messages'] as const)('namespaces of responses, upstream %s', (to) => {
  const inner = (name: string) => ({ ...SHELL, name, description: `The ${name}.` });
  const tools = [
    { ...SHELL, name: 'crm__find' },
    { type: 'namespace', name: 'crm', description: 'Customers.', tools: [inner('find')] },
    {
      type: 'namespace',
      name: 'files',
      description: 'Files.',
      tools: [inner('find'), { ...CUSTOM, format: { type: 'text' } }],
    },
  ];

  it.each(MODES)('are prefixes upstream, and calls name their namespace: %s', async (mode) => {
    const { upstream: mock } = gateway();
    mock.play(
      calling('files__apply_patch', ARGUMENTS),
      calling('crm__find_', '{"command":"x"}'),
      calling('crm__find', '{"command":"y"}'),
    );
    const conversation = talk('responses', gateway().daemon, {
      model: modelTo(to),
      more: { tools },
    }).user('Edit');
    const ask = async () => (await conversation.ask(mode)).raw.output.at(-1);
    const patch = await ask();
    expect(patch).toMatchObject({ namespace: 'files', name: 'apply_patch', input: PATCH });
    expect(patch.type).toBe('custom_tool_call');
    const sent = toolsOf(mock.only().body);
    expect(sent.map(({ name }) => name)).toEqual([
      'crm__find',
      'crm__find_',
      'files__find',
      'files__apply_patch',
    ]);
    expect(sent.map(({ description }) => description)).toEqual([
      'Runs a command.',
      'The find.\n\nTools of crm: Customers.',
      'The find.\n\nTools of files: Files.',
      'Edits files.',
    ]);
    conversation.push({ type: 'custom_tool_call_output', call_id: patch.call_id, output: 'ok' });
    const found = await ask();
    expect(found).toMatchObject({ type: 'function_call', namespace: 'crm', name: 'find' });
    expect(JSON.stringify(mock.requests[1]!.body.messages)).toContain('"files__apply_patch"');
    conversation.push({ type: 'function_call_output', call_id: found.call_id, output: 'ok' });
    const plain = await ask();
    expect(plain).toMatchObject({ type: 'function_call', name: 'crm__find' });
    expect(plain).not.toHaveProperty('namespace');
  });
});

describe.each(['chat', 'messages'] as const)('tool_search of responses, upstream %s', (to) => {
  const SEARCH = {
    type: 'tool_search',
    execution: 'client',
    description: 'Finds tools.',
    parameters: { type: 'object', properties: { query: { type: 'string' } } },
  };
  const found = {
    type: 'namespace',
    name: 'mail',
    description: 'Mail.',
    tools: [{ ...SHELL, name: 'send', defer_loading: true }],
  };

  it.each(MODES)('is a function upstream, and what it finds are tools: %s', async (mode) => {
    const { upstream: mock } = gateway();
    mock.play(calling('tool_search', '{"query":"mail"}'), calling('mail__send', '{}'));
    const conversation = talk('responses', gateway().daemon, {
      model: modelTo(to),
      more: { tools: [SHELL, SEARCH] },
    }).user('Send');
    const search = (await conversation.ask(mode)).raw.output.at(-1);
    expect(search).toMatchObject({
      type: 'tool_search_call',
      execution: 'client',
      arguments: { query: 'mail' },
      status: 'completed',
    });
    const { call_id } = search;
    const output = { type: 'tool_search_output', call_id, execution: 'client', tools: [found] };
    const call = (
      await conversation.push(output, { ...output, call_id: 'call_none' }).ask(mode)
    ).raw.output.at(-1);
    expect(call).toMatchObject({ type: 'function_call', namespace: 'mail', name: 'send' });
    const [first, second] = mock.requests;
    expect(toolsOf(first!.body).map(({ name }) => name)).toEqual(['shell', 'tool_search']);
    expect(toolsOf(second!.body)).toMatchObject([
      { name: 'shell' },
      { name: 'tool_search', description: 'Finds tools.', schema: SEARCH.parameters },
      { name: 'mail__send', isFunction: true },
    ]);
    expect(JSON.stringify(second!.body.messages)).toContain('can be called now: mail__send');
  });

  it('of the provider is left out, and all tools are loaded', async () => {
    const more = { tools: [{ ...SHELL, defer_loading: true }, { type: 'tool_search' }] };
    const { status, ignored, sent } = await asked(gateway(), 'responses', modelTo(to), more);
    expect([status, ignored]).toEqual([200, 'tools[0].defer_loading, tools[1]']);
    expect(toolsOf(sent)).toMatchObject([{ name: 'shell' }]);
  });
});

const FUNCTION = (name: string) => ({ type: 'function', function: { name, parameters: {} } });
const ALLOWED_CHAT = {
  type: 'allowed_tools',
  allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'b' } }] },
};
const ALLOWED_RESPONSES = {
  type: 'allowed_tools',
  mode: 'required',
  tools: [{ type: 'function', name: 'b' }],
};

describe.each([
  ['chat', 'responses', ALLOWED_RESPONSES],
  ['chat', 'messages', { type: 'any' }],
  ['responses', 'chat', 'required'],
  ['responses', 'messages', { type: 'any' }],
] as const)('allowed_tools of %s, upstream %s', (client, to, choice) => {
  const isChat = client === 'chat';
  const named = (name: string) => (isChat ? FUNCTION(name) : { ...SHELL, name });
  const ask = (tools?: object[]) => {
    const own = structuredClone(isChat ? ALLOWED_CHAT : ALLOWED_RESPONSES) as Loose;
    if (tools !== undefined) (own.allowed_tools ?? own).tools = tools;
    const more = { tools: [named('a'), named('b')], tool_choice: own };
    return asked(gateway(), client, modelTo(to), more);
  };

  it('sends the allowed tools alone, or the same choice', async () => {
    const { status, sent } = await ask();
    expect(status).toBe(200);
    const names = toolsOf(sent).map(({ name }) => name);
    expect(names).toEqual(to === 'responses' ? ['a', 'b'] : ['b']);
    expect(sent.tool_choice).toEqual(choice);
  });

  // An upstream of responses decides by itself.
  it.runIf(to !== 'responses').each([
    ['nothing is allowed', []],
    ['a name is not there', [{ type: 'function', name: 'c', function: { name: 'c' } }]],
  ])('refuses a required call where %s', async (_, tools) => {
    const { status, error } = await ask(tools);
    expect([status, error.param]).toEqual([400, 'tool_choice']);
  });
});

it('a choice among more than 512 tools is refused', async () => {
  const tools = Array.from({ length: 600 }, (_, index) => ({
    type: 'function',
    name: `f${index}`,
  }));
  const more = { tools: [SHELL], tool_choice: { type: 'allowed_tools', mode: 'auto', tools } };
  const { status, error } = await asked(gateway(), 'responses', modelTo('chat'), more);
  expect([status, error.param]).toEqual([400, 'tool_choice']);
});

it('a tool that messages of chat add twice is one tool of the request', async () => {
  const tools = [{ type: 'function', function: { name: 'find', parameters: { type: 'object' } } }];
  const user = { role: 'user', content: 'Hi' };
  const messages = [{ role: 'system', tools }, user, { role: 'system', tools }];
  const { status, sent } = await asked(gateway(), 'chat', modelTo('messages'), { messages });
  expect(status).toBe(200);
  expect(toolsOf(sent).map(({ name }) => name)).toEqual(['find']);
  expect(sent.messages).toEqual([user]);
});

it('the sandbox calls custom and namespaced tools', async () => {
  const { daemon } = gateway();
  const tools = [{ type: 'namespace', name: 'files', description: 'Files.', tools: [CUSTOM] }];
  const { raw } = await talk('responses', daemon, {
    model: 'sandbox-chat',
    more: { tools, tool_choice: { type: 'custom', name: 'apply_patch' } },
  })
    .user('Edit')
    .ask('events');
  expect(raw.output.at(-1)).toMatchObject({
    type: 'custom_tool_call',
    namespace: 'files',
    name: 'apply_patch',
    input: expect.any(String),
  });
});
