import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY, startDaemon, type TestDaemon } from '../../daemon.ts';
import { gate } from '../../gate.ts';
import { runs } from '../../runs.ts';
import {
  administer,
  DIALECTS,
  gatewayConfig,
  gatewayDaemon,
  modelTo,
  newKey,
  PAIRS,
} from '../../text/gateway-daemon.ts';
import { BODIES, FORGED, thought } from '../../text/hostile-bodies.ts';
import {
  type DialectName,
  type MockUpstream,
  startMockUpstream,
} from '../../text/mock-upstream.ts';
import { mutated, mutations } from '../../text/mutations.ts';
import { PATHS, plainBody, send } from '../../text/raw.ts';
import { type Script, USAGE } from '../../text/script.ts';
import { answerTo, RawClient } from '../raw-client.ts';

const sandbox = (model: string, more: object) => ({
  type: 'text',
  routes: [{ provider: 'sandbox', model }],
  price: { input: 1, output: 1 },
  ...more,
});

const REASONS = { supported_efforts: ['low', 'high'], default_effort: 'low', can_disable: false };

const gateway = gatewayDaemon((url) => {
  const { models } = gatewayConfig(url) as { models: object };
  return {
    // Providers that fall silent are not waited for.
    billing: { drainTimeout: '100ms' },
    // What is as large as this keeps the daemon busy; it is to answer all the same.
    overload: { eventLoopDelay: '1h' },
    models: {
      ...models,
      'sandbox-chat': sandbox('chat', {}),
      'sandbox-rerank': { ...sandbox('rerank', { price: {} }), type: 'rerank' },
      'sandbox-reasoner': sandbox('reasoner', { reasoning: REASONS }),
    },
  };
});

const GOOD: Script = { steps: [{ text: 'Hello there' }], usage: USAGE };
const TYPE = { 'content-type': 'application/json' };

interface TextResponse {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function post(
  dialect: DialectName,
  body: string | Buffer,
  headers: Record<string, string> = TYPE,
): Promise<TextResponse> {
  const response = await fetch(gateway().daemon.url + PATHS[dialect], {
    method: 'POST',
    headers: { authorization: `Bearer ${OWNER_KEY}`, ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** The error in an answer. */
function errorOf({ text }: Pick<TextResponse, 'text'>) {
  const { error } = JSON.parse(text) as {
    error: Record<'type' | 'message' | 'param' | 'code', string>;
  };
  expect(error).toEqual({
    type: expect.any(String),
    message: expect.any(String),
    param: error.param === null ? null : expect.any(String),
    code: error.code === null ? null : expect.any(String),
  });
  return error;
}

/** Whether a path leads to a place in a body, or to one that could be added there. */
function leadsSomewhere(body: unknown, path: string): boolean {
  const steps = path.match(/[^.[\]"]+|"(?:[^"\\]|\\.)*"/g) ?? [];
  let at = body;
  for (const step of steps.slice(0, -1)) {
    const key = step.startsWith('"') ? (JSON.parse(step) as string) : step;
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return false;
    at = (at as Record<string, unknown>)[key];
  }
  return true;
}

/** Where words of the user go, as JSON: a request around them, and further properties. */
function around(dialect: DialectName, model: string, content: string, more = ''): string {
  const head = `{"model":"${model}",${dialect === 'messages' ? '"max_tokens":9,' : ''}`;
  const name = dialect === 'responses' ? 'input' : 'messages';
  return `${head}"${name}":[{"role":"user","content":${content}}]${more}}`;
}

const MODELS = [...DIALECTS.map(modelTo), 'always-reasons', 'sandbox-chat', 'sandbox-reasoner'];

describe('malformed text requests', () => {
  it.each(DIALECTS)(
    'in the format %s are answered, or refused with the way to the fault',
    async (dialect) => {
      gateway().upstream.play(GOOD);
      await fc.assert(
        fc.asyncProperty(
          mutations,
          fc.constantFrom(...BODIES[dialect]),
          fc.constantFrom(...MODELS),
          fc.boolean(),
          async (wounds, base, model, stream) => {
            const body = { model, ...mutated(base, wounds), ...(stream && { stream }) };
            const response = await post(dialect, JSON.stringify(body));
            if (response.status === 200) return;
            expect([400, 404]).toContain(response.status);
            const { type, param, message } = errorOf(response);
            expect(type).toBe('invalid_request');
            if (param !== null) {
              expect(message.startsWith(param), message).toBe(true);
              expect(leadsSomewhere(body, param), `${param} in ${JSON.stringify(body)}`).toBe(true);
            }
          },
        ),
        { numRuns: runs(400), seed: 5 },
      );
    },
  );

  it.each(DIALECTS)('in the format %s of any JSON type, or that are no JSON', async (dialect) => {
    for (const body of ['null', '1', '"x"', '[]', '{}', 'true', '1e999', '[[[]]]']) {
      const response = await post(dialect, body);
      expect([response.status, errorOf(response).type]).toEqual([400, 'invalid_request']);
    }
    for (const body of ['', 'NaN', '{"model":NaN}', '[1,2', '{"a":1}}', '{"__proto__":{"a":1}}']) {
      const response = await post(dialect, body);
      expect([response.status, errorOf(response).code]).toEqual([400, 'invalid_json']);
    }
  });

  it.each(DIALECTS)(
    'in the format %s with invalid numbers get an error that names the parameter',
    async (dialect) => {
      const limit = dialect === 'responses' ? 'max_output_tokens' : 'max_tokens';
      const wrong = ['1e999', '-1', '"5"', '[5]', '{}', 'true', '1e300'];
      for (const [name, values] of [
        [limit, [...wrong, '0', '0.5']],
        ['temperature', wrong],
        ['stream', ['"true"', '1']],
        ['model', ['["to-chat"]', '{"toString":1}']],
      ] as const) {
        for (const value of values) {
          const body = around(dialect, modelTo('chat'), '"x"', `,"${name}":${value}`);
          const response = await post(dialect, body);
          expect([response.status, errorOf(response).param]).toEqual([400, name]);
        }
      }
    },
  );

  it('with n beyond the limit are refused', async () => {
    const { upstream } = gateway();
    for (const n of ['129', '1000000000', '1e999', '0', '-1', '1.5']) {
      upstream.play(GOOD);
      const response = await post('chat', around('chat', modelTo('messages'), '"x"', `,"n":${n}`));
      expect([response.status, errorOf(response).param]).toEqual([400, 'n']);
      expect(upstream.requests).toHaveLength(0);
    }
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'x\r\nX-Evil: 1', '\ud800'])(
    'for the model %j find none',
    async (model) => {
      for (const dialect of DIALECTS) {
        const response = await post(dialect, JSON.stringify(plainBody(dialect, model)));
        expect([response.status, errorOf(response).code]).toEqual([404, 'model_not_found']);
      }
    },
  );
});

const DEEP = 100_000;
const NESTED = [
  `${'['.repeat(DEEP)}${']'.repeat(DEEP)}`,
  `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`,
] as const;

describe('deeply nested text requests', () => {
  const parts = { chat: 'text', responses: 'input_text', messages: 'text' };
  const tools = (dialect: DialectName, schema: string) =>
    ({
      chat: `{"type":"function","function":{"name":"f","parameters":{"a":${schema}}}}`,
      responses: `{"type":"function","name":"f","parameters":{"a":${schema}}}`,
      messages: `{"name":"f","input_schema":{"type":"object","a":${schema}}}`,
    })[dialect];
  /** A turn in which a tool was called. */
  const called = (dialect: DialectName, value: string) => {
    const text = JSON.stringify(`{"a":${value}}`);
    return {
      chat: `{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${text}}}]},{"role":"tool","tool_call_id":"c","content":"x"}`,
      responses: `{"type":"function_call","call_id":"c","name":"f","arguments":${text}},{"type":"function_call_output","call_id":"c","output":"x"}`,
      messages: `{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"a":${value}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}`,
    }[dialect];
  };

  it.each(PAIRS)(
    'client %s, upstream %s: is refused wherever it stands',
    async (client, upstream) => {
      gateway().upstream.play(GOOD);
      const model = modelTo(upstream);
      const content = client === 'responses' ? 'input' : 'messages';
      for (const deep of NESTED) {
        const part = `[{"type":"${parts[client]}","text":"x","own":${deep}}]`;
        const turns = around(client, model, '"x"').replace(/\]\}$/, `,${called(client, deep)}]}`);
        // Arguments of calls are read for the upstream, all else for the client.
        const others = [
          [deep, null],
          [around(client, model, deep), content],
          [around(client, model, part), content],
          [around(client, model, '"x"', `,"metadata":{"a":${deep}}`), 'metadata'],
          [around(client, model, '"x"', `,"own":${deep}`), 'own'],
          [around(client, model, '"x"', `,"tools":[${tools(client, deep)}]`), 'tools'],
        ] as const;
        const all = [[turns, content] as const, ...(client === upstream ? others : [])];
        for (const [body, param] of all) {
          const response = await post(client, body);
          expect(response.status).toBe(400);
          const error = errorOf(response);
          if (param !== null) expect(error.param).toMatch(new RegExp(`^${param}`));
        }
      }
    },
  );

  it.each(PAIRS)(
    'client %s, upstream %s: is taken to a depth that schemas have',
    async (client, upstream) => {
      gateway().upstream.play(GOOD);
      const schema = `${'{"properties":{"a":'.repeat(200)}{}${'}}'.repeat(200)}`;
      const tool = tools(client, schema);
      const response = await post(
        client,
        around(client, modelTo(upstream), '"x"', `,"tools":[${tool}]`),
      );
      expect(response.status).toBe(200);
      expect(gateway().upstream.only().text).toContain(schema);
    },
  );
});

describe('text requests beyond a limit', () => {
  const many = (one: string, count: number) => Array<string>(count).fill(one).join(',');
  const name = (dialect: DialectName) => (dialect === 'responses' ? 'input' : 'messages');
  const turns = (dialect: DialectName, list: string) =>
    `{"model":"${modelTo('chat')}","max_tokens":9,"${name(dialect)}":[${list}]}`;

  it.each(DIALECTS)('in the format %s are accepted up to the limit', async (dialect) => {
    const { upstream } = gateway();
    const said = dialect === 'responses' ? 'output_text' : 'text';
    const part = `{"type":"${said}","text":"x"}`;
    const user = '{"role":"user","content":"x"}';
    for (const list of [
      many(user, 20_000),
      `${user},{"role":"assistant","content":[${many(part, 30_000)}]},${user}`,
    ]) {
      upstream.play(GOOD);
      const own = turns(dialect, list);
      const body = dialect === 'responses' ? own.replace('"max_tokens":9,', '') : own;
      expect((await post(dialect, body)).status).toBe(200);
    }
  });

  it.each(DIALECTS)(
    'in the format %s are refused by their first fault, at once',
    async (dialect) => {
      // With an error for each fault this took half a minute.
      for (const wrong of ['null', '{"role":"user","content":5}']) {
        const response = await post(dialect, turns(dialect, many(wrong, 30_000)));
        expect(response.status).toBe(400);
        expect(errorOf(response).param).toMatch(new RegExp(`^${name(dialect)}\\[0\\]`));
      }
    },
  );

  it.each(DIALECTS)('in the format %s are refused beyond the limit of values', async (dialect) => {
    for (const list of [many('[]', 200_000), many('{"role":"user","content":"x"}', 350_000)]) {
      const response = await post(dialect, turns(dialect, list.slice(0, 9_000_000)));
      expect(response.status).toBe(400);
      expect(errorOf(response)).toMatchObject({ code: 'too_many_values', param: name(dialect) });
    }
  });

  const images = (count: number, host: string) => {
    const part = (_: unknown, index: number) =>
      `{"type":"image_url","image_url":{"url":"http://${host}${index}.de/a.png"}}`;
    return around('chat', modelTo('chat'), `[${Array.from({ length: count }, part).join(',')}]`);
  };
  const han = String.fromCharCode(...Array.from({ length: 7900 }, (_, at) => 0x4e00 + at));
  // Each of them took minutes.
  it.each([
    ['hosts of dots', images(1300, `a${'.'.repeat(7000)}`)],
    ['hosts of Chinese letters', images(400, han)],
    ['many hosts of Chinese letters', images(12_000, han.slice(0, 240))],
    ['colons', around('chat', modelTo('chat'), '"x"', `,"temperature":"${':'.repeat(10 ** 6)}"`)],
  ])('with %s are refused at once', async (_case, body) => {
    expect((await post('chat', body)).status).toBe(400);
  });

  it('with long runs of letters are kept at once', async () => {
    const { daemon, upstream } = gateway();
    upstream.play(GOOD);
    const key = await newKey(daemon, 'keeps', { bodies: 'all', credits: '1000000' });
    const content = `${'a'.repeat(1999)} `.repeat(4500);
    const body = { model: modelTo('chat'), messages: [{ role: 'user', content }] };
    expect((await send(daemon, 'chat', body, { key })).status).toBe(200);
    // It is kept after it was answered, which took half a minute.
    const signal = AbortSignal.timeout(15_000);
    expect((await fetch(`${daemon.url}/healthz`, { signal })).status).toBe(200);
  });

  it.each(DIALECTS)('in the format %s are refused beyond the limit of bytes', async (dialect) => {
    const response = await post(
      dialect,
      around(dialect, modelTo('chat'), `"${'x'.repeat(11_000_000)}"`),
    );
    expect([response.status, errorOf(response)]).toMatchObject([
      413,
      { code: 'request_too_large', message: 'the request is larger than 10 MB (10000000 bytes)' },
    ]);
  });
});

const NAMES = ['a\nb\r\nX-Evil: 1', 'n'.repeat(10_000), '\ud800', '__proto__', 'toString', ' '];
const IDS = ['a\nb\r\nX: 1', 'i'.repeat(10_000), '\ud800', '__proto__', '…', ' ', 'oriel_%%%'];

describe('forged names and signatures', () => {
  it.each(PAIRS)(
    'client %s, upstream %s: tools are called by any name',
    async (client, upstream) => {
      const { upstream: mock } = gateway();
      for (const name of NAMES) {
        mock.play(GOOD);
        const own = { name, parameters: { type: 'object' } };
        const tool = {
          chat: { type: 'function', function: own },
          responses: { type: 'function', ...own },
          messages: { name, input_schema: { type: 'object' } },
        }[client];
        const body = plainBody(client, modelTo(upstream), { tools: [tool] });
        expect((await post(client, JSON.stringify(body))).status).toBe(200);
        const [sent] = mock.only().body.tools;
        expect(sent.name ?? sent.function.name).toMatch(/^[\w-]{1,64}$/);
      }
    },
  );

  it.each(PAIRS)(
    'client %s, upstream %s: calls are known by any identifier',
    async (client, upstream) => {
      const { upstream: mock } = gateway();
      for (const id of IDS) {
        mock.play(GOOD);
        const turns = {
          chat: [
            {
              role: 'assistant',
              tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }],
            },
            { role: 'tool', tool_call_id: id, content: 'x' },
          ],
          responses: [
            { type: 'function_call', call_id: id, name: 'f', arguments: '{}' },
            { type: 'function_call_output', call_id: id, output: 'x' },
          ],
          messages: [
            { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: {} }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'x' }] },
          ],
        }[client];
        const user = { role: 'user', content: 'Hello' };
        const said = { [client === 'responses' ? 'input' : 'messages']: [user, ...turns] };
        const body = plainBody(client, modelTo(upstream), said);
        expect((await post(client, JSON.stringify(body))).status).toBe(200);
      }
    },
  );

  it.each(PAIRS)(
    'client %s, upstream %s: forged reasoning signatures are not accepted',
    async (client, upstream) => {
      const { upstream: mock } = gateway();
      for (const seal of FORGED) {
        mock.play(GOOD);
        const body = { model: modelTo(upstream), ...thought(client, seal) };
        const response = await post(client, JSON.stringify(body));
        expect(response.status).toBe(200);
      }
    },
  );

  it('chat: a signature may be anything', async () => {
    gateway().upstream.play(GOOD);
    for (const signature of [{ toString: 1 }, [], 5, null, true]) {
      const body = JSON.stringify({
        model: modelTo('chat'),
        ...thought('chat', signature as unknown as string),
      });
      for (const said of [
        body,
        body
          .replace('"text":"Hm",', '')
          .replace('"content":"Hi"', '"content":"Hi","reasoning_content":"Hm"'),
      ]) {
        expect((await post('chat', said)).status).toBe(200);
      }
    }
  });

  it('response headers have no line breaks from the request', async () => {
    gateway().upstream.play(GOOD);
    const options = { 'a\r\nX-Evil: 1': 1, '\ud800': 2, 'ü\0': 3, ['x'.repeat(5000)]: 4 };
    const more = { stream: true, stream_options: options };
    const response = await post('chat', JSON.stringify(plainBody('chat', modelTo('chat'), more)));
    expect(response.status).toBe(200);
    expect(response.headers.get('x-evil')).toBeNull();
    expect(response.headers.get('x-oriel-ignored')).toMatch(/^[\x20-\x7e]{1,1000}$/);
  });
});

describe('unusual use of HTTP', () => {
  const plain = () => JSON.stringify(plainBody('chat', modelTo('chat')));

  it('with invalid headers gets an error that names the header', async () => {
    gateway().upstream.play(GOOD);
    for (const type of ['text/plain', 'application/jsonx', 'multipart/form-data; boundary=x', '']) {
      const response = await post('chat', plain(), { 'content-type': type });
      expect([response.status, errorOf(response).code]).toEqual([415, 'unsupported_media_type']);
    }
    const zipped = await post('chat', gzipSync(plain()), { ...TYPE, 'content-encoding': 'gzip' });
    expect([400, 415]).toContain(zipped.status);
    expect(errorOf(zipped).type).toBe('invalid_request');
  });

  it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
    'with method %s is refused',
    async (method) => {
      for (const dialect of DIALECTS) {
        const response = await gateway().daemon.request(PATHS[dialect], { method });
        const isSocket = dialect === 'responses' && ['GET', 'HEAD'].includes(method);
        expect(response.status).toBe(isSocket ? 426 : 405);
        const text = await response.text();
        if (method !== 'HEAD') errorOf({ text });
      }
    },
  );

  it('with Authorization and x-api-key uses Authorization', async () => {
    gateway().upstream.play(GOOD);
    const body = JSON.stringify(plainBody('messages', modelTo('messages')));
    expect((await post('messages', body, { ...TYPE, 'x-api-key': 'nonsense' })).status).toBe(200);
    const both = { ...TYPE, 'x-api-key': OWNER_KEY, authorization: 'Bearer nonsense' };
    expect((await post('messages', body, both)).status).toBe(401);
  });

  const wire = (body: string, version = '1.1', more = '') =>
    `POST ${PATHS.chat} HTTP/${version}\r\nHost: x\r\nAuthorization: Bearer ${OWNER_KEY}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`;

  const dial = () => new RawClient(gateway().daemon);

  it('over HTTP/1.0 gets complete responses and streams', async () => {
    gateway().upstream.play(GOOD);
    const { daemon } = gateway();
    const whole = await answerTo(daemon, wire(plain(), '1.0'));
    expect(whole).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*"Hello there"/);
    const streamed = plainBody('chat', modelTo('messages'), { stream: true });
    const text = await answerTo(daemon, wire(JSON.stringify(streamed), '1.0'));
    expect(text).not.toMatch(/transfer-encoding: chunked/i);
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  });

  it('with pipelined requests gets the responses in order', async () => {
    const { upstream } = gateway();
    upstream.play(
      ...['one', 'two', 'three'].map((text): Script => ({ steps: [{ text, pieces: [text] }] })),
    );
    const stream = JSON.stringify(plainBody('chat', modelTo('chat'), { stream: true }));
    const last = wire(plain(), '1.1', 'Connection: close\r\n');
    const text = await answerTo(gateway().daemon, wire(plain()) + wire(stream) + last);
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
    // Upstream may have got them in another order: each is answered once.
    for (const word of ['one', 'two', 'three']) expect(text.split(`"${word}"`)).toHaveLength(2);
  });

  it('keeps its connection after a stream that ended early', async () => {
    const { upstream } = gateway();
    const client = dial();
    let answers = 0;
    for (const how of ['reset', 'end', 'error-event', 'half-event'] as const) {
      for (const model of [modelTo('chat'), modelTo('messages')]) {
        upstream.play({ ...GOOD, fault: { after: 3, how } });
        await client.write(wire(JSON.stringify(plainBody('chat', model, { stream: true }))));
        answers += 1;
        await client.receive(new RegExp(`^(?:[^]*?"error"[^]*?\\r\\n0\\r\\n\\r\\n){${answers}}$`));
      }
    }
    expect(client.received).not.toContain('[DONE]');
    upstream.play(GOOD);
    await client.write(wire(plain(), '1.1', 'Connection: close\r\n'));
    expect(await client.whole()).toContain('Hello there');
  });

  it('is charged for a chunked body as for any other', async () => {
    const { daemon, upstream } = gateway();
    upstream.play({ steps: [{ text: 'Hi' }], usage: null });
    const body = around('chat', modelTo('chat'), `"${'x'.repeat(40_000)}"`);
    const spent = async (account: string, headers: string, written: string) => {
      const key = await newKey(daemon, account);
      const answer = await answerTo(
        daemon,
        `POST ${PATHS.chat} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
          `Content-Type: application/json\r\nConnection: close\r\n${headers}\r\n\r\n${written}`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 200/);
      // A charge that is being written is no longer reserved, and not yet shown as spent.
      await expect.poll(async () => (await creditsOf(daemon, key)).spent).toBeGreaterThan(0);
      return (await creditsOf(daemon, key)).spent;
    };
    const length = body.length;
    const chunk = `${length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const withLength = await spent('with-length', `Content-Length: ${length}`, body);
    const chunked = await spent('chunked', 'Transfer-Encoding: chunked', chunk);
    expect(withLength).toBeGreaterThan(10);
    expect(chunked).toBe(withLength);
  });

  it.each(PAIRS)('client %s, upstream %s: disconnects at any moment', async (client, dialect) => {
    const { daemon, upstream } = gateway();
    const body = JSON.stringify(plainBody(client, modelTo(dialect), { stream: true }));
    const request = wire(body).replace(PATHS.chat, PATHS[client]);
    // Before the request, in its middle, and right after it.
    for (const length of [
      0,
      20,
      request.length - body.length,
      request.length - 1,
      request.length,
    ]) {
      upstream.play({ before: 'silence' });
      const { socket } = dial();
      await once(socket, 'connect');
      socket.write(request.slice(0, length));
      socket.destroy();
    }
    // While the upstream is silent, between chunks, and while the client does not read. The responses
    // format has no text in its first three events.
    const after = dialect === 'responses' ? 6 : 3;
    for (const script of [
      { before: 'silence' },
      { ...GOOD, fault: { after: 1, how: 'silence' } },
      { ...GOOD, fault: { after, how: 'silence' } },
      { ...GOOD, fault: { after, how: 'endless' } },
    ] satisfies Script[]) {
      upstream.play(script);
      const client = dial();
      await client.write(request);
      const received = await upstream.received();
      if (script.before === undefined && script.fault.after > 1) await client.receive(/./);
      client.socket.destroy();
      expect(await received.closed).toBe('cut');
    }
    await expect.poll(() => reserved(daemon)).toBe(0);
  });
});

interface Credits {
  readonly reserved: number;
  readonly spent: number;
}

async function creditsOf(daemon: TestDaemon, key: string): Promise<Credits> {
  const response = await daemon.request('/v1/account', {
    headers: { authorization: `Bearer ${key}` },
  });
  return ((await response.json()) as { credits: Credits }).credits;
}

async function reserved(daemon: TestDaemon, key = OWNER_KEY): Promise<number> {
  return (await creditsOf(daemon, key)).reserved;
}

/** A stream that pauses in its middle until the test continues it. */
function halting() {
  const { passed: wait, open: go } = gate();
  const script: Script = {
    steps: [{ text: 'Hello', pieces: ['Hello'] }, { wait }, { text: ' there', pieces: [' there'] }],
    usage: USAGE,
  };
  return { script, go };
}

/** What ends each format's stream where it was cut short. */
const CUT: Readonly<Record<DialectName, RegExp>> = {
  chat: /data: \{"error":\{.*\}\}\n\n$/,
  responses: /event: response\.failed\ndata: \{.*\}\n\n$/,
  messages: /event: error\ndata: \{.*\}\n\n$/,
};

describe('while streams are open', () => {
  it('a revoked key ends no open stream and starts no other', async () => {
    const { daemon, upstream } = gateway();
    const key = await newKey(daemon, 'soon-gone');
    const { script, go } = halting();
    upstream.play(script);
    const body = plainBody('chat', modelTo('messages'), { stream: true });
    const response = await send(daemon, 'chat', body, { key });
    await administer(daemon, 'keys/revoke', { id: key });
    expect((await send(daemon, 'chat', body, { key })).status).toBe(401);
    go();
    expect(await response.text()).toMatch(/data: \[DONE\]\n\n$/);
  });

  async function own(): Promise<{ daemon: TestDaemon; upstream: MockUpstream }> {
    const upstream = await startMockUpstream();
    const config = gatewayConfig(upstream.url, { server: { grace: '500ms' } });
    return { upstream, daemon: await startDaemon({ config }) };
  }

  it('a changed configuration does not change an open stream', async () => {
    const { daemon, upstream } = await own();
    const { script, go } = halting();
    upstream.play(script);
    const streams = await Promise.all(
      PAIRS.map(([client, dialect]) =>
        send(daemon, client, plainBody(client, modelTo(dialect), { stream: true })),
      ),
    );
    writeFileSync(
      join(daemon.data, 'oriel.yaml'),
      JSON.stringify({ models: {}, server: { grace: '500ms' } }),
    );
    daemon.child.kill('SIGHUP');
    await daemon.logged('the configuration was read again');
    const gone = await send(daemon, 'chat', plainBody('chat', modelTo('chat')));
    expect(gone.status).toBe(404);
    go();
    for (const [index, response] of streams.entries()) {
      const text = await response.text();
      expect(text).not.toMatch(CUT[PAIRS[index]![0]]);
      expect(text).toContain(' there');
    }
    expect((await daemon.stop()).code).toBe(0);
    expect(daemon.log.filter(({ level }) => level === 'error')).toEqual([]);
    await upstream.close();
  });

  it('a shutdown ends each stream with an error event', async () => {
    const { daemon, upstream } = await own();
    const { script } = halting();
    upstream.play(script);
    const streams = await Promise.all(
      PAIRS.map(([client, dialect]) =>
        send(daemon, client, plainBody(client, modelTo(dialect), { stream: true })),
      ),
    );
    // One waits for an answer that is not streamed, and one never reads what it asked for.
    const whole = send(daemon, 'chat', plainBody('chat', modelTo('chat'))).then(
      ({ status }) => status,
      () => 0,
    );
    const deaf = new RawClient(daemon).socket.pause();
    const body = JSON.stringify(plainBody('chat', modelTo('messages'), { stream: true }));
    upstream.play({ ...GOOD, fault: { after: 3, how: 'endless' } });
    deaf.write(
      `POST ${PATHS.chat} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${OWNER_KEY}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await upstream.received();
    daemon.child.kill('SIGTERM');
    for (const [index, response] of streams.entries()) {
      expect(await response.text()).toMatch(CUT[PAIRS[index]![0]]);
    }
    expect([0, 200, 503]).toContain(await whole);
    expect((await daemon.ended).code).toBe(0);
    expect(daemon.log.filter(({ level }) => level === 'error')).toEqual([]);
    await upstream.close();
  });
});

describe('little text that asks for much work', () => {
  const many = <Value>(count: number, make: (index: number) => Value) =>
    Array.from({ length: count }, (_, index) => make(index));
  // biome-ignore lint/suspicious/noExplicitAny: answers of several endpoints
  const ask = async (body: object, path = '/v1/responses'): Promise<any> =>
    (await gateway().daemon.send(path, { model: 'sandbox-chat', ...body })).json();

  it('of thousands of items of reasoning with one call after the other loses all identifiers', async () => {
    const { daemon, upstream } = gateway();
    upstream.play(GOOD);
    const reasoning = { type: 'reasoning', role: 'assistant', summary: [] };
    const call = { type: 'function_call', name: 'f', arguments: '{}' };
    const input = [
      ...many(5000, (id) => ({ ...reasoning, id: `rs_${id}` })),
      ...many(5000, (id) => ({ ...call, id: `fc_${id}`, call_id: `c${id}` })),
      ...many(5000, (id) => ({ type: 'function_call_output', call_id: `c${id}`, output: 'x' })),
    ];
    const key = await newKey(daemon, 'thinks', { credits: '100000' });
    await send(daemon, 'responses', { model: modelTo('responses'), input }, { key });
    expect(upstream.only().text).not.toMatch(/rs_|fc_/);
  });

  it('reads a long query once for all documents', async () => {
    const body = { model: 'sandbox-rerank', query: 'word '.repeat(200_000), top_n: 1 };
    const ranked = await ask({ ...body, documents: many(1000, String) }, '/v1/rerank');
    // A word and its space are one token; a document is another.
    expect(ranked.usage.total_tokens).toBe(1000 * 200_001);
  });

  it('chooses among at most millions of pairs of tools', async () => {
    const tools = many(512, (id) => ({ type: 'mcp', server_label: `s${id}` }));
    const tool_choice = { type: 'allowed_tools', mode: 'auto', tools };
    const among = async (count: number) =>
      ask({ input: 'x', tools: many(count, () => ({ type: 'web_search' })), tool_choice });
    const { error } = await among(40_000);
    expect(error.message).toContain('at most 100 allowed tools, received 512');
    expect((await among(128)).error).toBeNull();
  });

  it('gets items at most as often as a body may have them, and from at most 1000 responses', async () => {
    const large = { id: 'msg_large', role: 'user', content: 'x'.repeat(4_000_000) };
    await ask({ items: [large] }, '/v1/conversations');
    const [one, other] = [await ask({ input: 'one' }), await ask({ input: 'two' })];
    const named = async (nameOf: (index: number) => string) =>
      (await ask({ input: many(1001, (at) => ({ type: 'item_reference', id: nameOf(at) })) }))
        .error;
    expect(await named(() => 'msg_large')).toMatchObject({ code: 'context_length_exceeded' });
    const inTurns = await named((at) => (at % 2 ? one : other).output[0].id);
    expect(inTurns.message).toContain('at most 1000 responses, grouped by response');
    expect(await named((at) => (at > 500 ? one : other).output[0].id)).toBeNull();
  });

  it('runs in the background at most 100 times, also where all requests come at once', async () => {
    const { daemon, upstream } = gateway();
    const held = gate();
    upstream.play({ ...GOOD, before: held.passed });
    const key = await newKey(daemon, 'background', { credits: '1000000' });
    const body = { model: modelTo('responses'), input: 'Hello', background: true };
    const all = await Promise.all(many(150, () => send(daemon, 'responses', body, { key })));
    held.open();
    expect(all.filter(({ status }) => status === 200)).toHaveLength(100);
  });
});

it('these tests caused no defect and left no credits reserved', async () => {
  const { daemon } = gateway();
  expect(daemon.log.filter(({ level }) => level === 'error')).toEqual([]);
  await expect.poll(() => reserved(daemon)).toBe(0);
});
