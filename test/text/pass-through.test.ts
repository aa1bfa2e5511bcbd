import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../daemon.ts';
import { DATA_URL } from './conversation.ts';
import {
  DIALECTS,
  gatewayConfig,
  gatewayDaemon,
  modelTo,
  newKey,
  PAIRS,
} from './gateway-daemon.ts';
import type { DialectName } from './mock-upstream.ts';
import { plainBody, send } from './raw.ts';
import { type Script, USAGE } from './script.ts';

const own = (dialect: DialectName, provider: string) => ({
  type: 'text',
  routes: [{ provider, model: 'up', dialect }],
});

const gateway = gatewayDaemon((url) => {
  const { providers, models } = gatewayConfig(url) as { providers: object; models: object };
  return {
    providers: {
      ...providers,
      mine: { kind: 'openai', baseUrl: url, shared: false },
      'mine-messages': { kind: 'anthropic', baseUrl: url, shared: false },
    },
    models: {
      ...models,
      ...Object.fromEntries(
        DIALECTS.map((dialect) => [
          `refuses-${dialect}`,
          { ...(models as Record<string, object>)[modelTo(dialect)], unknownFields: 'refuse' },
        ]),
      ),
      'own-chat': own('chat', 'mine'),
      'own-responses': own('responses', 'mine'),
      'own-messages': own('messages', 'mine-messages'),
    },
  };
});

const DONE: Script = { steps: [{ text: 'Done.' }], usage: USAGE };

interface Refusal {
  readonly error: { readonly param: string; readonly code: string; readonly message: string };
}

const asked = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const given = (...content: object[]) => ({ input: [{ role: 'user', content }] });

/** Fields that cost or reach more than the gateway charges for, and the path that the error names. */
const UNMETERED: Readonly<
  Record<DialectName, readonly (readonly [body: object, param: string])[]>
> = {
  chat: [
    [{ service_tier: 'priority' }, 'service_tier'],
    [{ web_search_options: {} }, 'web_search_options'],
    [{ search_parameters: { mode: 'on' } }, 'search_parameters'],
    [{ plugins: [{ id: 'web' }] }, 'plugins'],
    [{ models: ['dearer'] }, 'models'],
    [{ route: 'fallback' }, 'route'],
    [{ provider: { order: ['mine'] } }, 'provider'],
    [{ api_base: 'http://127.0.0.1:1/v1' }, 'api_base'],
    [{ extra_body: { api_base: 'http://127.0.0.1:1/v1' } }, 'extra_body'],
    [{ fallbacks: ['dearer'] }, 'fallbacks'],
    [{ modalities: ['text', 'audio'], audio: { voice: 'v', format: 'wav' } }, 'modalities'],
    [{ modalities: ['image'] }, 'modalities'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0]'],
    [{ tools: [{ type: 'mcp', server_url: 'https://a.example' }] }, 'tools[0]'],
    [{ tools: [{ type: 'of_tomorrow' }] }, 'tools[0]'],
    [{ tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] }, 'tools[0]'],
    [{ tool_choice: { type: 'mcp', server_label: 'a' } }, 'tool_choice'],
    [
      {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'system', tools: [{ type: 'code_interpreter' }] },
        ],
      },
      'messages[1].tools[0]',
    ],
    [asked({ type: 'file', file: { file_id: 'file-1' } }), 'messages[0].content[0].file.file_id'],
    [
      asked({ type: 'file', file: { file_data: DATA_URL, file_id: 'file-1' } }),
      'messages[0].content[0].file.file_id',
    ],
    [
      asked({ type: 'image_url', image_url: { url: 'ms://file' } }),
      'messages[0].content[0].image_url.url',
    ],
    [
      {
        messages: [
          { role: 'assistant', content: 'Hi', audio: { id: 'audio_1' } },
          { role: 'user', content: 'Hi' },
        ],
      },
      'messages[0].audio',
    ],
  ],
  responses: [
    [{ background: true }, 'background'],
    [{ service_tier: 'flex' }, 'service_tier'],
    [{ reasoning: { mode: 'pro' } }, 'reasoning.mode'],
    [{ models: ['dearer'] }, 'models'],
    [{ previous_response_id: 'resp_foreign' }, 'previous_response_id'],
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ conversation: { id: 'conv_1' } }, 'conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0]'],
    [{ tools: [{ type: 'web_search_preview_2025_03_11' }] }, 'tools[0]'],
    [{ tools: [{ type: 'image_generation' }] }, 'tools[0]'],
    [{ tools: [{ type: 'computer_use_preview' }] }, 'tools[0]'],
    [{ tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://a.example' }] }, 'tools[0]'],
    [{ tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }, 'tools[0]'],
    [{ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'tools[0]'],
    [
      { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
      'tools[0].environment',
    ],
    [
      {
        tools: [{ type: 'shell', environment: { type: 'container_reference', container_id: 'c' } }],
      },
      'tools[0].environment.container_id',
    ],
    [
      { tools: [{ type: 'namespace', name: 'n', description: '', tools: [{ type: 'mcp' }] }] },
      'tools[0].tools[0]',
    ],
    [{ tool_choice: { type: 'mcp', server_label: 'a' } }, 'tool_choice'],
    [
      { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] } },
      'tool_choice.tools[0]',
    ],
    [{ input: [{ type: 'item_reference', id: 'msg_foreign' }] }, 'input[0].id'],
    [{ input: [{ id: 'msg_foreign' }] }, 'input[0].id'],
    [{ input: [{ type: 'reasoning', id: 'rs_foreign', summary: [] }] }, 'input[0].id'],
    [{ input: [{ type: 'image_generation_call', id: 'ig_foreign' }] }, 'input[0]'],
    [
      { input: [{ type: 'tool_search_output', tools: [{ type: 'web_search' }] }] },
      'input[0].tools[0]',
    ],
    [
      { input: [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'mcp' }] }] },
      'input[0].tools[0]',
    ],
    [{ input: [{ type: 'of_tomorrow' }] }, 'input[0]'],
    [given({ type: 'input_file', file_id: 'file-1' }), 'input[0].content[0].file_id'],
    [
      given({ type: 'input_image', image_url: DATA_URL, file_id: 'file-1' }),
      'input[0].content[0].file_id',
    ],
    [
      {
        input: [
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          {
            type: 'function_call_output',
            call_id: 'c',
            output: [{ type: 'input_image', file_id: 'file-1' }],
          },
        ],
      },
      'input[1].output[0].file_id',
    ],
  ],
  messages: [
    [{ service_tier: 'priority' }, 'service_tier'],
    [{ speed: 'fast' }, 'speed'],
    [{ inference_geo: 'us' }, 'inference_geo'],
    [{ mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] }, 'mcp_servers'],
    [{ container: 'container_1' }, 'container'],
    [{ container: { skills: [{ type: 'custom', skill_id: 's' }] } }, 'container.skills'],
    [{ fallbacks: [{ model: 'dearer' }] }, 'fallbacks'],
    [{ billing_policy: { type: 'billing_policy' } }, 'billing_policy'],
    [
      { context_management: { edits: [{ type: 'compact_20260112' }] } },
      'context_management.edits[0]',
    ],
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0]'],
    [{ tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }, 'tools[0]'],
    [{ tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }, 'tools[0]'],
    [{ tools: [{ type: 'computer_20250124', name: 'computer' }] }, 'tools[0]'],
    [{ tools: [{ type: 'mcp_toolset', mcp_server_name: 'a' }] }, 'tools[0]'],
    [{ tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'dearer' }] }, 'tools[0]'],
    [
      asked({ type: 'image', source: { type: 'file', file_id: 'file_1' } }),
      'messages[0].content[0].source.file_id',
    ],
    [
      asked({ type: 'document', source: { type: 'file', file_id: 'file_1' } }),
      'messages[0].content[0].source.file_id',
    ],
    [
      asked({
        type: 'document',
        source: {
          type: 'content',
          content: [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }],
        },
      }),
      'messages[0].content[0].source.content[0].source.file_id',
    ],
    [
      asked({
        type: 'tool_result',
        tool_use_id: 'c',
        content: [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }],
      }),
      'messages[0].content[0].content[0].source.file_id',
    ],
    [
      asked({ type: 'tool_addition', tool: { type: 'mcp_tool_reference', name: 'a' } }),
      'messages[0].content[0].tool',
    ],
    [asked({ type: 'container_upload', file_id: 'file_1' }), 'messages[0].content[0].file_id'],
    [asked({ type: 'of_tomorrow' }), 'messages[0].content[0]'],
  ],
};

const cases = DIALECTS.flatMap((dialect) =>
  UNMETERED[dialect].map(([body, param]) => [dialect, body, param] as const),
);

/** The key of an account that does not pay the providers. */
let tenant: string;

beforeAll(async () => {
  tenant = await newKey(gateway().daemon, 'tenant', { credits: '100000' });
});

describe('a field that is not metered', () => {
  it.each(cases)(
    '%s %j: is refused with not_allowed, and passed with models.<id>.allow',
    async (dialect, body, param) => {
      const { daemon, upstream: mock } = gateway();
      mock.play(DONE);
      const own = plainBody(dialect, modelTo(dialect), body);
      const response = await send(daemon, dialect, own, { key: tenant });
      const { error } = (await response.json()) as Refusal;
      expect(error).toMatchObject({ code: 'not_allowed', param });
      expect(response.status).toBe(400);
      expect(error.message).toContain(`models.${modelTo(dialect)}.allow`);
      expect(mock.requests).toHaveLength(0);
      const more = plainBody(dialect, `allows-${dialect}`, body);
      const allowed = await send(daemon, dialect, more, { key: tenant });
      expect(await allowed.text()).not.toContain('not_allowed');
      expect(allowed.status).toBe(200);
      expect(mock.only().body).toMatchObject(body);
    },
  );

  it.each(DIALECTS)('%s: is passed with the allow list of a key', async (dialect) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const key = await newKey(daemon, `tier-${dialect}`, { allow: 'service_tier' });
    const ask = (more: object) =>
      send(daemon, dialect, plainBody(dialect, modelTo(dialect), more), { key });
    expect((await ask({ service_tier: 'flex' })).status).toBe(200);
    expect((await ask({ tools: [{ type: 'web_search', name: 'w' }] })).status).toBe(400);
  });

  it('is not sent to an upstream of another dialect', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    for (const client of DIALECTS) {
      for (const upstream of DIALECTS) {
        if (client === upstream) continue;
        for (const [body, param] of UNMETERED[client]) {
          const sent = plainBody(client, modelTo(upstream), body);
          const response = await send(daemon, client, sent, { key: tenant });
          // Some have no translation and are refused, some only advise and are left out.
          if (response.status === 200) expect(['service_tier', 'speed']).toContain(param);
          await response.text();
        }
      }
    }
    const sent = mock.requests.map(({ text }) => text).join();
    expect(sent).not.toMatch(/priority|flex|fast|file-1|file_1|ms:|web_search/);
  });
});

describe('an id of a file or response that the provider stores', () => {
  const foreign: Readonly<Record<DialectName, object>> = {
    chat: asked({ type: 'file', file: { file_id: 'file-1' } }),
    responses: { previous_response_id: 'resp_of_mine', conversation: 'conv_1' },
    messages: asked({ type: 'image', source: { type: 'file', file_id: 'file_1' } }),
  };

  it.each(DIALECTS)(
    '%s: is passed to a provider account that is the client’s own',
    async (dialect) => {
      const { daemon, upstream: mock } = gateway();
      mock.play(DONE);
      const body = plainBody(dialect, `own-${dialect}`, foreign[dialect]);
      expect((await send(daemon, dialect, body)).status).toBe(200);
      expect(mock.only().body).toMatchObject(foreign[dialect]);
      const tool = plainBody(dialect, `own-${dialect}`, { tools: [{ type: 'mcp', name: 'm' }] });
      expect((await send(daemon, dialect, tool, { key: tenant })).status).toBe(400);
    },
  );

  it.each([false, true])(
    'is passed for the account that received it, to no other: stream %s',
    async (stream) => {
      const { daemon, upstream: mock } = gateway();
      const [ours, theirs] = await Promise.all([
        // The hold assumes a million input tokens for an earlier response.
        newKey(daemon, `ours-${stream}`, { credits: '10000' }),
        newKey(daemon, `theirs-${stream}`, { credits: '10000' }),
      ]);
      mock.play(DONE);
      const first = await send(
        daemon,
        'responses',
        plainBody('responses', 'to-responses', { stream }),
        {
          key: ours,
        },
      );
      const text = await first.text();
      const response = /"id":"(resp_[^"]+)"/.exec(text)![1]!;
      const message = /"id":"(msg_[^"]+)"/.exec(text)![1]!;
      for (const more of [
        { previous_response_id: response },
        {
          input: [
            { type: 'item_reference', id: message },
            { role: 'user', content: 'And?' },
          ],
        },
      ]) {
        const body = plainBody('responses', 'to-responses', more);
        mock.play(DONE);
        expect((await send(daemon, 'responses', body, { key: ours })).status).toBe(200);
        expect(mock.only().body).toMatchObject(more);
        mock.play(DONE);
        const refused = await send(daemon, 'responses', body, { key: theirs });
        const isItem = 'input' in more;
        expect(refused.status).toBe(isItem ? 200 : 400);
        expect(refused.headers.get('x-oriel-ignored')).toBe(isItem ? 'input[0]' : null);
        expect(mock.requests.map(({ text: sent }) => sent).join()).not.toContain(message);
        expect(mock.requests).toHaveLength(isItem ? 1 : 0);
      }
    },
  );

  const summary = [{ type: 'summary_text', text: 'Hm.' }];
  const question = { role: 'user', content: 'And?' };

  it.each([
    [{ type: 'reasoning', id: 'rs_elsewhere', summary }, 'input[0].id'],
    [{ type: 'reasoning', id: 'rs_elsewhere', summary: [] }, 'input[0]'],
    [{ type: 'item_reference', id: 'rs_elsewhere' }, 'input[0]'],
    [{ id: 'rs_elsewhere' }, 'input[0]'],
  ])('of another server is left out of %j and named', async (item, path) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const body = plainBody('responses', 'to-responses', { input: [item, question] });
    const response = await send(daemon, 'responses', body, { key: tenant });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-oriel-ignored')).toBe(path);
    const { id: _, ...rest } = item;
    const left = path.endsWith('.id') ? [rest, question] : [question];
    expect(mock.only().body).toMatchObject({ input: left });
  });

  it.each([
    ['a tenant', 'input[0]'],
    ['a tenant', 'input[0].id'],
    ['the owner', 'input[0].id'],
  ])(
    'takes those of the same answer with it, which OpenAI refuses alone: %s, %s',
    async (who, path) => {
      const some = path === 'input[0]' ? [] : summary;
      const key = who === 'the owner' ? OWNER_KEY : tenant;
      const { daemon, upstream: mock } = gateway();
      mock.play(DONE);
      const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
      const said = { type: 'message', role: 'assistant', content: 'Hi' };
      const output = { type: 'function_call_output', call_id: 'c', output: '1', id: 'fco_1' };
      // Without its identifier OpenAI refuses this one.
      const action = { type: 'exec', command: ['ls'], env: {} };
      const shell = {
        type: 'local_shell_call',
        id: 'lsh_1',
        call_id: 'l',
        action,
        status: 'completed',
      };
      const input = [
        { type: 'reasoning', id: 'rs_elsewhere', summary: some },
        { ...said, id: 'msg_elsewhere' },
        shell,
        { ...call, id: 'fc_elsewhere' },
        output,
        { ...said, id: 'msg_later' },
        question,
      ];
      const body = plainBody('responses', 'to-responses', { input });
      const response = await send(daemon, 'responses', body, { key });
      expect(response.status).toBe(200);
      expect(response.headers.get('x-oriel-ignored')).toBe(`${path}, input[1].id, input[3].id`);
      const kept = some.length > 0 ? [{ type: 'reasoning', summary: some }] : [];
      const { input: sent } = mock.only().body;
      expect(sent).toEqual([
        ...kept,
        said,
        shell,
        call,
        output,
        { ...said, id: 'msg_later' },
        question,
      ]);
    },
  );

  it.each(['chat', 'messages'] as const)('has no meaning for upstreams of %s', async (to) => {
    const { daemon, upstream: mock } = gateway();
    for (const key of [tenant, OWNER_KEY]) {
      mock.play(DONE);
      const input = [{ type: 'item_reference', id: 'msg_elsewhere' }, question];
      const body = plainBody('responses', modelTo(to), { input });
      const response = await send(daemon, 'responses', body, { key });
      expect(response.status).toBe(200);
      expect(response.headers.get('x-oriel-ignored')).toBe('input[0]');
      expect(mock.only().text).not.toContain('elsewhere');
    }
  });

  it('is passed for the account that pays the provider, as hosted tools and service tiers are', async () => {
    const { daemon, upstream: mock } = gateway();
    const more = {
      ...{ previous_response_id: 'resp_elsewhere', service_tier: 'flex' },
      ...{ tools: [{ type: 'web_search' }], include: ['web_search_call.action.sources'] },
      input: [
        { type: 'item_reference', id: 'msg_elsewhere' },
        { type: 'reasoning', id: 'rs_elsewhere', summary: [] },
        question,
      ],
    };
    mock.play(DONE);
    const body = plainBody('responses', 'to-responses', more);
    expect((await send(daemon, 'responses', body)).status).toBe(200);
    expect(mock.only().body).toMatchObject(more);
  });

  it('is refused if the client sent store: false', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const client = new OpenAI({
      apiKey: await newKey(daemon, 'unstored'),
      baseURL: `${daemon.url}/v1`,
      maxRetries: 0,
    });
    const model = 'to-responses';
    const { id } = await client.responses.create({ model, input: 'Hi', store: false });
    await expect(
      client.responses.create({ model, input: 'And?', previous_response_id: id }),
    ).rejects.toMatchObject({ status: 400, code: 'not_allowed' });
  });
});

describe('URLs of media', () => {
  const withUrl: Readonly<Record<DialectName, (url: string) => object>> = {
    chat: (url) => asked({ type: 'image_url', image_url: { url } }),
    responses: (url) => given({ type: 'input_file', file_url: url }),
    messages: (url) =>
      asked({
        type: 'tool_result',
        tool_use_id: 'c',
        content: [{ type: 'image', source: { type: 'url', url } }],
      }),
  };
  const PRIVATE = [
    'http://127.0.0.1:9000/a.png',
    'http://169.254.169.254/latest/meta-data',
    'http://2130706433/',
    'https://[::ffff:10.0.0.1]/',
    'https://[fd00::1]/',
    'http://localhost./a.png',
    'http://vault:8200/v1/secret',
    'https://metadata.google.internal/',
    'https://printer.local/a.png',
  ];

  it.each(DIALECTS)(
    '%s: with private addresses are refused with private_address',
    async (dialect) => {
      const { daemon, upstream: mock } = gateway();
      mock.play(DONE);
      for (const url of PRIVATE) {
        for (const model of DIALECTS.map(modelTo)) {
          const response = await send(
            daemon,
            dialect,
            plainBody(dialect, model, withUrl[dialect](url)),
          );
          expect([url, response.status]).toEqual([url, 400]);
          expect(await response.json()).toMatchObject({ error: { code: 'private_address' } });
        }
      }
      expect(mock.requests).toHaveLength(0);
      const url = 'https://images.example/a.png';
      const body = plainBody(dialect, modelTo(dialect), withUrl[dialect](url));
      expect((await send(daemon, dialect, body)).status).toBe(200);
      expect(mock.only().text).toContain(url);
    },
  );

  it('with schemes other than http and https are refused', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    for (const url of ['file:///etc/passwd', '/etc/passwd', 'gopher://a.example/', 's3://b/c']) {
      const body = plainBody('messages', 'to-messages', withUrl.messages(url));
      expect((await send(daemon, 'messages', body)).status).toBe(400);
    }
    expect(mock.requests).toHaveLength(0);
  });
});

describe('an unknown field', () => {
  const WITHIN: Readonly<Record<DialectName, object>> = {
    chat: {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', new: { a: 1 } }], x: 2 }],
      tools: [{ type: 'function', function: { name: 'f', new: 1 } }],
    },
    responses: {
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi', new: 1 }], x: 2 }],
      tools: [{ type: 'function', name: 'f', parameters: {}, strict: false, new: 1 }],
    },
    messages: {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', new: [1] }], x: 2 }],
      tools: [{ name: 'f', input_schema: { type: 'object' }, new: 1 }],
    },
  };
  const TOP = { of_tomorrow: 1, best_of: 9 };

  it.each(PAIRS)('%s to %s: is left out and named', async (client, upstream) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const body = { ...WITHIN[client], ...TOP };
    const response = await send(daemon, client, plainBody(client, modelTo(upstream), body));
    expect(response.status).toBe(200);
    expect(mock.only().text).not.toMatch(/of_tomorrow|best_of|"new"|"x"/);
    expect(mock.only().text).toContain('Hi');
    const ignored = response.headers.get('x-oriel-ignored');
    for (const name of ['of_tomorrow', 'best_of', '[0].x', '[0].content[0].new', 'tools[0].']) {
      expect(ignored).toContain(name);
    }
  });

  it.each(PAIRS)('%s to %s: is refused with unknownFields: refuse', async (client, upstream) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const model = `refuses-${upstream}`;
    const response = await send(daemon, client, plainBody(client, model, TOP));
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as Refusal;
    expect(error).toMatchObject({ code: 'unknown_parameter', param: 'of_tomorrow' });
    expect(error.message).toContain(`models.${model}.unknownFields`);
    expect(mock.requests).toHaveLength(0);
  });

  it.each(PAIRS)(
    '%s to %s: is passed to its own format with allow: [unknown]',
    async (client, to) => {
      const { daemon, upstream: mock } = gateway();
      mock.play(DONE);
      const body = { ...WITHIN[client], ...TOP };
      const response = await send(daemon, client, plainBody(client, `allows-${to}`, body));
      expect(response.status).toBe(200);
      if (client === to) return expect(mock.only().body).toMatchObject(body);
      expect(mock.only().text).not.toMatch(/of_tomorrow|best_of|"new"|"x"/);
      expect(response.headers.get('x-oriel-ignored')).toContain('of_tomorrow');
    },
  );
});

/** Requests of coding agents and official clients. */
const AGENTS: readonly (readonly [DialectName, string, object])[] = [
  [
    'messages',
    'Claude Code',
    {
      max_tokens: 32_000,
      stream: false,
      temperature: 1,
      metadata: { user_id: 'user_1_account__session_2' },
      thinking: { type: 'enabled', budget_tokens: 8000, display: 'summarized' },
      output_config: { effort: 'high', task_budget: { type: 'tokens', total: 20_000 } },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      system: [
        { type: 'text', text: 'You write code.', cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Fix it.' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
            { type: 'text', text: 'I look.', citations: [] },
            {
              type: 'server_tool_use',
              id: 'srvtoolu_1',
              name: 'tool_search_tool_regex',
              input: {},
            },
            {
              type: 'tool_search_tool_result',
              tool_use_id: 'srvtoolu_1',
              content: {
                type: 'tool_search_tool_search_result',
                tool_references: [{ type: 'tool_reference', tool_name: 'Read' }],
              },
            },
            { type: 'tool_use', id: 'toolu_1', name: 'Read', input: { path: 'a' } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              is_error: false,
              content: [
                { type: 'text', text: 'x' },
                { type: 'tool_reference', tool_name: 'Edit' },
                {
                  type: 'search_result',
                  source: 'a',
                  title: 'b',
                  content: [{ type: 'text', text: 'c' }],
                },
              ],
              cache_control: { type: 'ephemeral' },
            },
          ],
        },
      ],
      tools: [
        {
          name: 'Read',
          description: 'Reads.',
          input_schema: { type: 'object', properties: {} },
          defer_loading: true,
          input_examples: [{ path: 'a' }],
          eager_input_streaming: true,
        },
        { type: 'bash_20250124', name: 'bash' },
        { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 9 },
        { type: 'memory_20250818', name: 'memory' },
        { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
      ],
    },
  ],
  [
    'responses',
    'Codex',
    {
      instructions: 'You write code.',
      stream: false,
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      parallel_tool_calls: true,
      tool_choice: 'auto',
      reasoning: { effort: 'medium', summary: 'auto' },
      text: { verbosity: 'low' },
      service_tier: 'auto',
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Rules' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Fix it.' }] },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'enc' },
        {
          type: 'custom_tool_call',
          id: 'ctc_1',
          call_id: 'c1',
          name: 'apply_patch',
          input: '*** Begin Patch',
          status: 'completed',
        },
        { type: 'custom_tool_call_output', call_id: 'c1', output: 'ok' },
        { type: 'local_shell_call', call_id: 'c2', status: 'completed', action: { type: 'exec' } },
        { type: 'local_shell_call_output', call_id: 'c2', id: 'c2', output: 'ok' },
        {
          type: 'message',
          role: 'assistant',
          id: 'msg_1',
          phase: 'final_answer',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Done', annotations: [], logprobs: [] }],
        },
        { type: 'compaction', encrypted_content: 'enc' },
        { role: 'user', content: 'More.' },
      ],
      tools: [
        { type: 'function', name: 'shell', strict: false, parameters: { type: 'object' } },
        { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark' } },
        { type: 'local_shell' },
        { type: 'tool_search', execution: 'client' },
      ],
    },
  ],
  [
    'chat',
    'a chat client',
    {
      messages: [
        {
          role: 'system',
          content: [{ type: 'text', text: 'Rules', cache_control: { type: 'x' } }],
        },
        { role: 'user', name: 'a', content: 'Hi' },
        {
          role: 'assistant',
          content: null,
          refusal: null,
          annotations: [],
          tool_calls: [
            {
              id: 'c1',
              index: 0,
              type: 'function',
              function: { name: 'f', arguments: '{}' },
              extra_content: { google: { thought_signature: 's' } },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'ok' },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: {}, strict: false } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      response_format: { type: 'json_object' },
      top_k: 5,
      min_p: 0.1,
      repetition_penalty: 1,
      guided_json: {},
      chat_template_kwargs: { enable_thinking: false },
      prediction: { type: 'content', content: 'x' },
      user: 'u',
      store: true,
      metadata: { a: 'b' },
      service_tier: 'auto',
      logprobs: true,
      top_logprobs: 2,
      seed: 1,
      prompt_cache_key: 'k',
    },
  ],
];

it.each(AGENTS)('%s: the request of %s is passed on unchanged', async (dialect, _, body) => {
  const { daemon, upstream: mock } = gateway();
  mock.play(DONE);
  const response = await send(daemon, dialect, plainBody(dialect, modelTo(dialect), body));
  expect(await response.json()).not.toHaveProperty('error.message');
  expect(response.headers.get('x-oriel-ignored')).toBeNull();
  expect(mock.only().body).toEqual({
    ...plainBody(dialect, `upstream-${dialect}`, body),
  });
});
