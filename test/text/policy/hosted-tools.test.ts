import { describe, expect, it } from 'vitest';
import { gatewayConfig, gatewayDaemon, modelTo } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { plainBody, send } from '../raw.ts';
import { USAGE } from '../script.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies and settings of several formats
type Loose = any;

const gateway = gatewayDaemon((url) => {
  const { providers, models } = gatewayConfig(url) as Loose;
  const dropping = (model: object) => ({ ...model, tools: { hosted: 'drop' } });
  const sandbox = { type: 'text', routes: [{ provider: 'sandbox', model: 'chat' }] };
  return {
    providers: { ...providers, sandbox: { kind: 'sandbox' } },
    models: {
      ...models,
      'drops-chat': dropping(models['to-chat']),
      'drops-responses': dropping(models['to-responses']),
      'drops-messages': dropping(models['to-messages']),
      sandbox,
      'drops-sandbox': dropping(sandbox),
    },
  };
});

const FUNCTION = { type: 'function', name: 'find', parameters: { type: 'object' }, strict: false };
const MCP = { type: 'mcp', server_label: 'wiki', server_url: 'https://mcp.example/' };
const SEARCH = { type: 'web_search' };
const FILES = { type: 'file_search', vector_store_ids: ['vs_other'] };

async function ask(client: DialectName, model: string, more: object) {
  const { daemon, upstream } = gateway();
  upstream.play({ steps: [{ text: 'Hello' }], usage: USAGE });
  const response = await send(daemon, client, plainBody(client, model, more));
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
    [allowed('auto', forced, SEARCH), 'tools[0]'],
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
    [undefined, ['find'], 'tools[0], tools[2], tools[3]'],
    ['required', ['find'], 'tools[0], tools[2], tools[3]'],
    [allowed('auto', forced, SEARCH), ['find'], 'tools[2], tools[3], tools[0]'],
  ])('are dropped for tool_choice %j where the model says so', async (choice, names, paths) => {
    const body = { tools, ...(choice && { tool_choice: choice }) };
    const { status, headers } = await ask('responses', `drops-${to}`, body);
    expect(status).toBe(200);
    expect(headers.get('x-oriel-ignored')).toBe(paths);
    const sent = gateway().upstream.only().body;
    expect(namesOf(sent)).toEqual(names);
    expect(JSON.stringify(sent)).not.toMatch(/web_search|mcp|vs_other/);
  });

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
  expect((await ask('chat', 'drops-chat', body)).headers.get('x-oriel-ignored')).toBe(
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
  expect((await ask('responses', 'sandbox', body)).status).toBe(400);
  const { status, headers } = await ask('responses', 'drops-sandbox', body);
  expect(status).toBe(200);
  expect(headers.get('x-oriel-ignored')).toBe('tools[0]');
});
