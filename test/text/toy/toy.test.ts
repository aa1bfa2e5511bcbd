import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../../src/app/daemon.ts';
import { loadConfig } from '../../../src/config/loading/load.ts';
import { registerDialect } from '../../../src/text/dialects/registry.ts';
import { OWNER_KEY } from '../../daemon.ts';
import { type Settings, STOPS, type Talk, WEATHER } from '../conversation.ts';
import { DIALECTS, gatewayConfig } from '../gateway-daemon.ts';
import { type MockUpstream, type Play, startMockUpstream } from '../mock-upstream.ts';
import { type Script, USAGE } from '../script.ts';
import { talk } from '../talk.ts';
import { toy } from './toy.ts';
import { toyTalk } from './toy-talk.ts';

// A dialect that no file of the program names.
registerDialect(toy);

let mock: MockUpstream;
/** An upstream that speaks only the toy format. */
let toyUpstream: MockUpstream;
/** The path of its last request, which says whether to stream. */
let toyPath = '';
let daemon: Daemon;

function configOf(dialect: string) {
  const { providers, models, ...rest } = gatewayConfig(mock.url) as Record<string, object>;
  return {
    ...rest,
    server: { port: 0 },
    log: { level: 'error' },
    // The tests share the daemon's event loop, which is late on a machine under load.
    overload: { eventLoopDelay: '1h' },
    providers: {
      ...providers,
      toy: {
        kind: 'oriel',
        baseUrl: toyUpstream.url.replace(/\/v1$/, ''),
        apiKey: 'sk-toy-upstream-5ecre7',
      },
    },
    models: {
      ...models,
      'to-toy': {
        ...(models as Record<string, object>)['to-chat'],
        routes: [{ provider: 'toy', model: 'upstream-toy', dialect }],
      },
    },
  };
}

const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));

function load(dialect: string) {
  const file = join(folder, 'oriel.yaml');
  writeFileSync(file, JSON.stringify({ ...configOf(dialect), dataDir: join(folder, 'data') }));
  return loadConfig({ file, env: {}, cwd: '/' });
}

beforeAll(async () => {
  mock = await startMockUpstream();
  toyUpstream = await startMockUpstream(({ url = '' }) => {
    toyPath = url;
    return 'chat';
  });
  const loaded = load('toy');
  const options = { version: '0.0.0', loaded, bootstrapKey: OWNER_KEY };
  daemon = await startDaemon(loaded.config, options);
});

afterAll(async () => {
  await daemon?.close();
  await toyUpstream?.close();
  await mock?.close();
  rmSync(folder, { recursive: true, force: true });
});

const NAMES = [...DIALECTS, 'toy'] as const;
type Name = (typeof NAMES)[number];

/** Each pair of client and upstream in which one speaks the toy format. */
const PAIRS = NAMES.flatMap((client) =>
  NAMES.map((upstream) => [client, upstream] as const),
).filter((pair) => pair.includes('toy'));

const MODES = ['whole', 'events'] as const;

const stopOf = (client: Name, stop: 'stop' | 'tool-calls') =>
  client === 'toy' ? { stop: 'done', 'tool-calls': 'calls' }[stop] : STOPS[stop][client];

function start(client: Name, settings: Settings): Talk {
  const access = { url: daemon.url, key: OWNER_KEY };
  return client === 'toy' ? toyTalk(access, settings) : talk(client, access, settings);
}

/** One answer in neutral terms, for either upstream. */
interface Turn {
  readonly reasoning?: string;
  readonly text?: string;
  readonly call?: { readonly id: string; readonly input: object };
}

function play(upstream: Name, ...turns: Turn[]): void {
  if (upstream === 'toy') toyUpstream.play(...turns.map(toyAnswer));
  else mock.play(...turns.map(script));
}

function toyAnswer({ reasoning, text, call }: Turn): Play {
  const pieces = [
    ...(reasoning === undefined ? [] : [{ thoughts: reasoning }]),
    ...(text === undefined ? [] : text.split(/(?<= )/).map((words) => ({ words }))),
    ...(call ? [{ call: { id: call.id, name: WEATHER.name, input: call.input } }] : []),
  ];
  const end = { why: call ? 'calls' : 'done', count: { read: 23, written: 11 } };
  return () => {
    if (!toyPath.endsWith('/whole')) return streamed(...pieces, end);
    const body = JSON.stringify({ said: pieces, by: 'toy-2026', ...end });
    return { raw: { type: 'application/json', body } };
  };
}

const streamed = (...pieces: object[]): Script => {
  const frames = pieces.map((piece) => `data: ${JSON.stringify({ by: 'toy-2026', ...piece })}\n\n`);
  return { raw: { type: 'text/event-stream', body: frames.join('') } };
};

function script({ reasoning, text, call }: Turn): Script {
  return {
    steps: [
      ...(reasoning === undefined ? [] : [{ reasoning }]),
      ...(text === undefined ? [] : [{ text }]),
      ...(call ? [{ call: WEATHER.name, id: call.id, arguments: JSON.stringify(call.input) }] : []),
    ],
    usage: USAGE,
  };
}

/** The bodies that an upstream received. */
function received(upstream: Name) {
  return (upstream === 'toy' ? toyUpstream : mock).requests.map(({ body }) => body);
}

describe.each(PAIRS)('a client of %s, an upstream of %s', (client, upstream) => {
  const settings = {
    model: `to-${upstream}`,
    system: 'Be brief.',
    maxTokens: 900,
    temperature: 0.5,
  };

  it.each(MODES)('translates a conversation: %s', async (mode) => {
    play(upstream, { text: 'Good day ä€🙂' }, { text: 'That is all.' });
    const conversation = start(client, settings).user('Hello');
    expect(await conversation.ask(mode)).toMatchObject({
      text: 'Good day ä€🙂',
      stop: stopOf(client, 'stop'),
      model: `to-${upstream}`,
    });
    expect((await conversation.user('And?').ask(mode)).text).toBe('That is all.');
    const [, body] = received(upstream);
    const sent = JSON.stringify(body);
    for (const text of ['Be brief.', 'Hello', 'Good day ä€🙂', 'And?'])
      expect(sent).toContain(text);
    expect(sent).toMatch(/"(limit|max_\w+)":900/);
    expect(sent).toMatch(/"(warmth|temperature)":0.5/);
  });

  it.each(MODES)('translates a tool call and its result: %s', async (mode) => {
    const call = { id: 'call_a1', input: { city: 'Łódź' } };
    play(upstream, { text: 'I shall look.', call }, { text: 'It rains.' });
    const conversation = start(client, { ...settings, tools: [WEATHER] }).user('Weather?');
    expect(await conversation.ask(mode)).toMatchObject({
      text: 'I shall look.',
      calls: [{ id: 'call_a1', name: 'get_weather', arguments: { city: 'Łódź' } }],
      stop: stopOf(client, 'tool-calls'),
    });
    const answered = await conversation.results({ id: 'call_a1', content: 'rain' }).ask(mode);
    expect(answered).toMatchObject({ text: 'It rains.', calls: [] });
    const [first, second] = received(upstream).map((body) => JSON.stringify(body));
    expect(first).toContain('"name":"get_weather"');
    expect(first).toContain('"city":{"type":"string"}');
    expect(second).toMatch(/call_a1.*call_a1/);
    expect(second).toContain('"rain"');
  });

  it.each(MODES)('passes reasoning to the client: %s', async (mode) => {
    play(upstream, { reasoning: 'They want to know.', text: 'Yes.' });
    const conversation = start(client, settings).user('Do you know?');
    const answer = await conversation.ask(mode);
    expect(answer).toMatchObject({ reasoning: 'They want to know.', text: 'Yes.' });
  });

  it('passes usage to the client', async () => {
    play(upstream, { text: 'Yes.' });
    const { usage } = await start(client, settings).user('Hello').ask('events');
    const counts =
      client === 'toy' ? usage.written : (usage.output_tokens ?? usage.completion_tokens);
    expect(counts).toBe(11);
  });
});

describe('an upstream of the toy format', () => {
  it('receives the paths and headers of its format', async () => {
    for (const client of NAMES) {
      for (const mode of MODES) {
        play('toy', { text: 'Yes.' });
        await start(client, { model: 'to-toy' }).user('Hello').ask(mode);
        const { path, headers, body } = toyUpstream.only();
        expect(path).toBe(`/toy/upstream-toy/${mode === 'whole' ? 'whole' : 'stream'}`);
        expect(headers).toMatchObject({
          'toy-version': '7',
          authorization: 'Bearer sk-toy-upstream-5ecre7',
        });
        expect(body).not.toHaveProperty('model');
        expect(body).not.toHaveProperty('stream');
      }
    }
  });

  it.each(NAMES)('that breaks off makes a client of %s throw', async (client) => {
    toyUpstream.play(streamed({ words: 'Once ' }));
    await expect(start(client, { model: 'to-toy' }).user('Hello').ask('events')).rejects.toThrow();
  });

  it('refuses settings that its format has not, by the path in the client’s format', async () => {
    const schema = { type: 'json_schema', json_schema: { name: 'a', schema: {} } };
    const more = { response_format: schema };
    const asked = start('chat', { model: 'to-toy', more }).user('Hello').ask();
    await expect(asked).rejects.toMatchObject({
      status: 400,
      param: 'response_format',
      message: expect.stringContaining("the toy format of this model's upstream has no"),
    });
  });
});

describe('a client of the toy format', () => {
  it('gets error responses in the shape of its format', async () => {
    const response = await fetch(`${daemon.url}/toy/to-chat/whole`, { method: 'POST' });
    expect(response.status).toBe(401);
    const id = response.headers.get('toy-request');
    expect(id).toBe(response.headers.get('x-request-id'));
    expect(await response.json()).toMatchObject({ error: { type: 'auth_error' }, request: id });
  });

  it('finds its endpoints in the catalog', async () => {
    const headers = { authorization: `Bearer ${OWNER_KEY}` };
    const response = await fetch(`${daemon.url}/v1/models/to-toy`, { headers });
    const { endpoints } = (await response.json()) as { endpoints: string[] };
    expect(endpoints.slice(-2)).toEqual(['/toy/:model/whole', '/toy/:model/stream']);
  });
});

it('a configuration names registered dialects only', () => {
  expect(() => load('klingon')).toThrow(
    'expected one of chat, responses, messages, gemini, converse, toy, received "klingon"',
  );
});
