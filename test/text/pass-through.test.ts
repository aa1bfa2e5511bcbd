import { beforeAll, describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../daemon.ts';
import { ask } from './ask.ts';
import {
  DIALECTS,
  FOREIGN,
  gatewayConfig,
  modelTo,
  newKey,
  PAIRS,
  sharedGateway,
} from './gateway-daemon.ts';
import type { DialectName } from './mock-upstream.ts';
import { plainBody } from './raw.ts';
import { requestsIn } from './requests.ts';

const own = (dialect: DialectName, provider: string) => ({
  type: 'text',
  routes: [{ provider, model: 'up', dialect }],
});

const gateway = sharedGateway((url) => {
  const { providers, models } = gatewayConfig(url) as { providers: object; models: object };
  return {
    // Without a store of its own, the server leaves earlier responses to providers.
    responses: { retention: '0s' },
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

const asked = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const given = (...content: object[]) => ({ input: [{ role: 'user', content }] });

/** Fields that cost or reach more than the gateway charges for, and the path that the error names. */
const UNMETERED =
  requestsIn<Readonly<Record<DialectName, readonly { param: string; body: object }[]>>>(
    'unmetered',
  );

const cases = DIALECTS.flatMap((dialect) =>
  UNMETERED[dialect].map(({ body, param }) => [dialect, body, param] as const),
);

/** The key of an account that does not pay the providers. */
let tenant: string;

beforeAll(async () => {
  tenant = await newKey(gateway().daemon, 'passing', { credits: '100000' });
});

/** Sends a request with the tenant's key. */
const send = (client: DialectName, model: string, more: object, key = tenant) =>
  ask(gateway(), client, model, more, { key });

describe('a field that is not metered', () => {
  it.each(cases)(
    '%s %j: is refused, and passed with models.<id>.allow',
    async (dialect, body, param) => {
      const { status, error, requests } = await send(dialect, modelTo(dialect), body);
      const isEarlier = param === 'previous_response_id' || param === 'conversation';
      expect([status, requests.length]).toEqual([isEarlier ? 404 : 400, 0]);
      expect(error).toMatchObject({
        code: isEarlier ? 'document_not_found' : 'not_allowed',
        param,
      });
      if (!isEarlier) expect(error.message).toContain(`models.${modelTo(dialect)}.allow`);
      const allowed = await send(dialect, `allows-${dialect}`, body);
      expect(allowed.text).not.toContain('not_allowed');
      expect([allowed.status, allowed.requests.length]).toEqual([200, 1]);
      expect(allowed.sent).toMatchObject(body);
    },
  );

  it.each(DIALECTS)('%s: is passed with the allow list of a key', async (dialect) => {
    const key = await newKey(gateway().daemon, `tier-${dialect}`, { allow: 'service_tier' });
    const statusOf = async (more: object) =>
      (await send(dialect, modelTo(dialect), more, key)).status;
    expect(await statusOf({ service_tier: 'flex' })).toBe(200);
    expect(await statusOf({ tools: [{ type: 'web_search', name: 'w' }] })).toBe(400);
  });

  it.each(FOREIGN)('of %s is not sent to an upstream of %s', async (client, upstream) => {
    for (const { body, param } of UNMETERED[client]) {
      const { status, wire } = await send(client, modelTo(upstream), body);
      // Some have no translation and are refused, some only advise and are left out.
      if (status === 200) expect(['service_tier', 'speed']).toContain(param);
      expect(wire).not.toMatch(/priority|flex|fast|file-1|file_1|ms:|web_search/);
    }
  });
});

describe('an id of a file or response that the provider stores', () => {
  const question = { role: 'user', content: 'And?' };
  const foreign: Readonly<Record<DialectName, object>> = {
    chat: asked({ type: 'file', file: { file_id: 'file-1' } }),
    responses: { previous_response_id: 'resp_of_mine', conversation: 'conv_1' },
    messages: asked({ type: 'image', source: { type: 'file', file_id: 'file_1' } }),
  };

  it.each(DIALECTS)(
    '%s: is passed to a provider account that is the client’s own',
    async (dialect) => {
      const { status, sent } = await send(dialect, `own-${dialect}`, foreign[dialect], OWNER_KEY);
      expect(status).toBe(200);
      expect(sent).toMatchObject(foreign[dialect]);
      const tools = [{ type: 'mcp', name: 'm' }];
      expect((await send(dialect, `own-${dialect}`, { tools })).status).toBe(400);
    },
  );

  it.each([false, true])(
    'is passed for the account that received it, to no other: stream %s',
    async (stream) => {
      const [ours, theirs] = await Promise.all([
        // The hold assumes a million input tokens for an earlier response.
        newKey(gateway().daemon, `ours-${stream}`, { credits: '10000' }),
        newKey(gateway().daemon, `theirs-${stream}`, { credits: '10000' }),
      ]);
      const { text } = await send('responses', 'to-responses', { stream }, ours);
      const response = /"id":"(resp_[^"]+)"/.exec(text)![1]!;
      const message = /"id":"(msg_[^"]+)"/.exec(text)![1]!;
      const reference = { type: 'item_reference', id: message };
      for (const more of [{ previous_response_id: response }, { input: [reference, question] }]) {
        const own = await send('responses', 'to-responses', more, ours);
        expect(own.status).toBe(200);
        expect(own.sent).toMatchObject(more);
        const other = await send('responses', 'to-responses', more, theirs);
        const isItem = 'input' in more;
        expect([other.status, other.ignored, other.requests.length]).toEqual(
          isItem ? [200, 'input[0]', 1] : [404, null, 0],
        );
        expect(other.wire).not.toContain(message);
      }
    },
  );

  const summary = [{ type: 'summary_text', text: 'Hm.' }];

  it.each([
    [{ type: 'reasoning', id: 'rs_elsewhere', summary }, 'input[0].id'],
    [{ type: 'reasoning', id: 'rs_elsewhere', summary: [] }, 'input[0]'],
    [{ type: 'item_reference', id: 'rs_elsewhere' }, 'input[0]'],
    [{ id: 'rs_elsewhere' }, 'input[0]'],
  ])('of another server is left out of %j and named', async (item, path) => {
    const more = { input: [item, question] };
    const { status, ignored, sent } = await send('responses', 'to-responses', more);
    expect([status, ignored]).toEqual([200, path]);
    const { id: _, ...rest } = item;
    expect(sent.input).toMatchObject(path.endsWith('.id') ? [rest, question] : [question]);
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
      const { status, ignored, sent } = await send('responses', 'to-responses', { input }, key);
      expect([status, ignored]).toEqual([200, `${path}, input[1].id, input[3].id`]);
      const kept = some.length > 0 ? [{ type: 'reasoning', summary: some }] : [];
      const later = [output, { ...said, id: 'msg_later' }, question];
      expect(sent.input).toEqual([...kept, said, shell, call, ...later]);
    },
  );

  it.each(['chat', 'messages'] as const)('has no meaning for upstreams of %s', async (to) => {
    const input = [{ type: 'item_reference', id: 'msg_elsewhere' }, question];
    for (const key of [tenant, OWNER_KEY]) {
      const { status, ignored, wire } = await send('responses', modelTo(to), { input }, key);
      expect([status, ignored]).toEqual([200, 'input[0]']);
      expect(wire).not.toContain('elsewhere');
    }
  });

  it('is passed for the account that pays the provider, as hosted tools and service tiers are', async () => {
    const more = {
      ...{ previous_response_id: 'resp_elsewhere', service_tier: 'flex' },
      ...{ tools: [{ type: 'web_search' }], include: ['web_search_call.action.sources'] },
      input: [
        { type: 'item_reference', id: 'msg_elsewhere' },
        { type: 'reasoning', id: 'rs_elsewhere', summary: [] },
        question,
      ],
    };
    const { status, sent } = await send('responses', 'to-responses', more, OWNER_KEY);
    expect(status).toBe(200);
    expect(sent).toMatchObject(more);
  });

  it('is refused if the client sent store: false', async () => {
    const key = await newKey(gateway().daemon, 'unstored', { credits: '10000' });
    const first = await send('responses', 'to-responses', { store: false }, key);
    const more = { previous_response_id: first.body.id };
    const { status, error } = await send('responses', 'to-responses', more, key);
    expect([status, error.code]).toEqual([404, 'document_not_found']);
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
      for (const url of PRIVATE) {
        for (const model of DIALECTS.map(modelTo)) {
          const { status, error, requests } = await send(dialect, model, withUrl[dialect](url));
          expect([url, status, error?.code]).toEqual([url, 400, 'private_address']);
          expect(requests).toHaveLength(0);
        }
      }
      const url = 'https://images.example/a.png';
      const { status, wire } = await send(dialect, modelTo(dialect), withUrl[dialect](url));
      expect([status, wire]).toEqual([200, expect.stringContaining(url)]);
    },
  );

  it.each(['file:///etc/passwd', '/etc/passwd', 'gopher://a.example/', 's3://b/c'])(
    'with schemes other than http and https are refused: %s',
    async (url) => {
      const { status, requests } = await send('messages', 'to-messages', withUrl.messages(url));
      expect([status, requests.length]).toEqual([400, 0]);
    },
  );
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

  const GONE = /of_tomorrow|best_of|"new"|"x"/;

  it.each(PAIRS)('%s to %s: is left out and named', async (client, upstream) => {
    const more = { ...WITHIN[client], ...TOP };
    const { status, wire, ignored } = await send(client, modelTo(upstream), more);
    expect(status).toBe(200);
    expect(wire).not.toMatch(GONE);
    expect(wire).toContain('Hi');
    for (const name of ['of_tomorrow', 'best_of', '[0].x', '[0].content[0].new', 'tools[0].']) {
      expect(ignored).toContain(name);
    }
  });

  it.each(PAIRS)('%s to %s: is refused with unknownFields: refuse', async (client, upstream) => {
    const model = `refuses-${upstream}`;
    const { status, error, requests } = await send(client, model, TOP);
    expect([status, requests.length]).toEqual([400, 0]);
    expect(error).toMatchObject({ code: 'unknown_parameter', param: 'of_tomorrow' });
    expect(error.message).toContain(`models.${model}.unknownFields`);
  });

  it.each(PAIRS)(
    '%s to %s: is passed to its own format with allow: [unknown]',
    async (client, to) => {
      const more = { ...WITHIN[client], ...TOP };
      const { status, sent, wire, ignored } = await send(client, `allows-${to}`, more);
      expect(status).toBe(200);
      if (client === to) return expect(sent).toMatchObject(more);
      expect(wire).not.toMatch(GONE);
      expect(ignored).toContain('of_tomorrow');
    },
  );
});

/** Requests of coding agents and official clients. */
const AGENTS = requestsIn<readonly { client: DialectName; name: string; body: object }[]>('agents');

it.each(AGENTS)('the request of $name is passed on unchanged', async ({ client, body }) => {
  const { error, ignored, sent } = await ask(gateway(), client, modelTo(client), body);
  expect([error, ignored]).toEqual([undefined, null]);
  expect(sent).toEqual(plainBody(client, `upstream-${client}`, body));
});
