import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { residentMegabytes } from '../daemon.ts';
import { runs } from '../runs.ts';
import {
  DIALECTS,
  gatewayDaemon,
  modelTo,
  newKey,
  PAIRS,
  UPSTREAM_KEYS,
} from './gateway-daemon.ts';
import type { DialectName } from './mock-upstream.ts';
import { type Mutation, mutated, mutations } from './mutations.ts';
import { eventsOf, plainBody, send, type WireEvent } from './raw.ts';
import { answering, endlessly, type Respond, rawUpstream } from './raw-upstream.ts';
import { chatAnswer, chatFrames } from './render-chat.ts';
import { messagesAnswer, messagesFrames } from './render-messages.ts';
import { responsesAnswer, responsesFrames } from './render-responses.ts';
import { type Frame, type Script, USAGE } from './script.ts';

const raw = rawUpstream();

/** Models whose upstream is a raw TCP server. */
const rawModelTo = (dialect: DialectName) => `raw-${dialect}`;

const gateway = gatewayDaemon((url) => {
  const key = { openai: UPSTREAM_KEYS.openai, anthropic: UPSTREAM_KEYS.anthropic };
  const text = (provider: string, dialect: DialectName) => ({
    type: 'text',
    routes: [{ provider, model: 'upstream', dialect }],
    price: { input: 1000, output: 10_000 },
  });
  return {
    // The floods of these tests would trip the overload check.
    overload: { eventLoopDelay: '1h' },
    routing: {
      retries: 0,
      cooldown: { after: 0 },
      timeouts: { firstByte: '2s', idle: '2s', total: '5s' },
    },
    providers: {
      openai: { kind: 'openai', baseUrl: url, apiKey: key.openai },
      anthropic: { kind: 'anthropic', baseUrl: url, apiKey: key.anthropic },
      raw: { kind: 'openai', baseUrl: raw().url, apiKey: key.openai },
      rawAnthropic: { kind: 'anthropic', baseUrl: raw().url, apiKey: key.anthropic },
    },
    models: Object.fromEntries(
      DIALECTS.flatMap((dialect) => {
        const [provider, other] =
          dialect === 'messages' ? ['anthropic', 'rawAnthropic'] : ['openai', 'raw'];
        return [
          [modelTo(dialect), text(provider!, dialect)],
          [rawModelTo(dialect), text(other!, dialect)],
        ];
      }),
    ),
  };
});

const SECRET = '5ecre7';

interface Account {
  readonly credits: { readonly available: number; readonly reserved: number };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function ask(client: DialectName, model: string, stream: boolean): Promise<Answer> {
  const body = plainBody(client, model, stream ? { stream } : {});
  const response = await send(gateway().daemon, client, body);
  return { status: response.status, text: await response.text() };
}

/** Statuses of upstream failures. */
const FAILED = [400, 402, 404, 413, 429, 502, 503, 504];

/** Checks what clients may rely on for any upstream. */
function check(
  { status, text }: Answer,
  client: DialectName,
  stream: boolean,
  strict: boolean,
): void {
  expect(text).not.toContain(SECRET);
  if (status !== 200) {
    expect(FAILED).toContain(status);
    const { error } = JSON.parse(text);
    expect(error).toMatchObject({ type: expect.any(String), message: expect.any(String) });
    return;
  }
  if (!stream) {
    expect(typeof JSON.parse(text)).toBe('object');
    return;
  }
  // A stream of the client's own format is passed on unchanged, but for its end.
  const events = strict ? eventsOf(text) : [];
  const last = strict ? events.at(-1)! : lastOf(text);
  expect(isEnd(client, last), `the end: ${text.slice(-300)}`).toBe(true);
}

function lastOf(text: string): WireEvent {
  const lines = text.trimEnd().split('\n\n').at(-1)!.split('\n');
  const fieldOf = (name: string) =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? null;
  const data = fieldOf('data');
  return { event: fieldOf('event'), data: data === '[DONE]' ? data : JSON.parse(data ?? 'null') };
}

/** Whether a client sees a failure: by the status or, after the comment of 15 s without an event, by the last event. */
function isFailure({ status, text }: Answer, client: DialectName): boolean {
  if (status !== 200) return true;
  if (!text.startsWith(':')) return false;
  const { data } = lastOf(text);
  return client === 'responses' ? data?.type === 'response.failed' : data?.error !== undefined;
}

function isEnd(client: DialectName, { data }: WireEvent): boolean {
  if (client === 'chat') return data === '[DONE]' || data?.error !== undefined;
  const ends = {
    responses: /^response\.(completed|incomplete|failed)$/,
    messages: /^(message_stop|error)$/,
  };
  return ends[client].test(data?.type);
}

const FRAMES = { chat: chatFrames, responses: responsesFrames, messages: messagesFrames };
const ANSWERS = { chat: chatAnswer, responses: responsesAnswer, messages: messagesAnswer };

const SCRIPTS: readonly Script[] = [
  {
    steps: [
      { reasoning: 'Let me think', signature: 'sig', encrypted: 'enc' },
      { text: 'Hello there' },
      { call: 'weather', id: 'call_1', arguments: '{"city":"Bonn"}' },
      { call: 'clock', id: 'x:1', arguments: '', late: true },
    ],
    usage: USAGE,
  },
  {
    steps: [
      { text: 'Hello', logprobs: [{ token: 'Hello', logprob: -1, bytes: null, top_logprobs: [] }] },
      { refusal: 'No' },
    ],
    usage: USAGE,
    stop: 'length',
  },
  {
    steps: [{ redacted: 'z' }, { text: 'a' }],
    usage: USAGE,
    stop: 'stop-sequence',
    stopSequence: 'x',
  },
];

const REQUEST = { model: 'm', stream: true, stream_options: { include_usage: true } };

function framesOf(dialect: DialectName, script: Script): Extract<Frame, { data: unknown }>[] {
  return FRAMES[dialect](script, REQUEST).flatMap((frame) => ('data' in frame ? [frame] : []));
}

function bytesOf(frames: readonly Extract<Frame, { data: unknown }>[]): string {
  const frame = ({ event, data }: Extract<Frame, { data: unknown }>) =>
    `${event === undefined ? '' : `event: ${event}\n`}data: ${data === '[DONE]' ? data : JSON.stringify(data)}\n\n`;
  return frames.map(frame).join('');
}

/** A fault in the order of frames, beside the mutations of their data. */
const frameFault = fc.record({
  how: fc.constantFrom('none', 'none', 'delete', 'repeat', 'swap', 'cut', 'half', 'open'),
  first: fc.nat(100),
  second: fc.nat(100),
});
type FrameFault = typeof frameFault extends fc.Arbitrary<infer Value> ? Value : never;

function hostileStream(
  dialect: DialectName,
  script: Script,
  changes: readonly Mutation[],
  { how, first, second }: FrameFault,
): string {
  const good = framesOf(dialect, script);
  const frames = mutated(
    good.map(({ data }) => data),
    changes,
  ).map((data, index) => ({ ...good[index], data }));
  const [here, there] = [first % frames.length, second % frames.length];
  if (how === 'delete') frames.splice(here, 1);
  if (how === 'repeat') frames.splice(there, 0, frames[here]!);
  if (how === 'swap') [frames[here], frames[there]] = [frames[there]!, frames[here]!];
  if (how === 'cut') frames.length = here;
  const text = bytesOf(frames);
  if (how === 'half') return text.slice(0, Math.floor((text.length * first) / 100));
  return how === 'open' ? text.slice(0, -2) : text;
}

describe('an upstream with malformed answers', () => {
  it.each(PAIRS)(
    'client %s, upstream %s: arbitrary mutations end in an error or a valid answer',
    async (client, dialect) => {
      const { upstream } = gateway();
      await fc.assert(
        fc.asyncProperty(
          mutations,
          frameFault,
          fc.constantFrom(...SCRIPTS),
          fc.boolean(),
          async (changes, fault, script, stream) => {
            const whole = JSON.stringify(mutated(ANSWERS[dialect](script, REQUEST), changes));
            const body = stream ? hostileStream(dialect, script, changes, fault) : whole;
            const type = stream ? 'text/event-stream' : 'application/json';
            upstream.play({ raw: { type, body } });
            const answer = await ask(client, modelTo(dialect), stream);
            check(answer, client, stream, client !== dialect);
          },
        ),
        { numRuns: runs(80), seed: 4 },
      );
    },
  );

  it.each(PAIRS)(
    'client %s, upstream %s: a stream cut after any event has an end or an error',
    async (client, dialect) => {
      const { upstream } = gateway();
      const frames = framesOf(dialect, SCRIPTS[0]!);
      for (let count = 0; count < frames.length; count += 1) {
        upstream.play({
          raw: { type: 'text/event-stream', body: bytesOf(frames.slice(0, count)) },
        });
        check(await ask(client, modelTo(dialect), true), client, true, client !== dialect);
      }
    },
  );
});

const MODES = PAIRS.flatMap(([client, dialect]) =>
  [false, true].map((stream) => ({ client, dialect, stream })),
);

/** Some of the pairs: these faults do not depend on the format. */
const SOME = MODES.filter(({ client, dialect }) => client === 'chat' || client === dialect);

/** A stream that passes through, and a whole answer that is translated. */
const FEW = SOME.filter(
  ({ client, dialect, stream }) => client === 'chat' && dialect === (stream ? 'chat' : 'messages'),
);

const OK = 'HTTP/1.1 200 OK\r\n';
const STREAM = `${OK}Content-Type: text/event-stream\r\n\r\n`;
const json = (body: string | Buffer, headers: Record<string, string> = {}, status = '200 OK') =>
  answering(status, { 'Content-Type': 'application/json', ...headers }, body);
const sse = (body: string | Buffer, headers: Record<string, string> = {}) =>
  answering('200 OK', { 'Content-Type': 'text/event-stream', ...headers }, body);
const BOMB = gzipSync(Buffer.alloc(80 * 1024 * 1024));

const RAW: Readonly<Record<string, Respond>> = {
  'a page': answering('200 OK', { 'Content-Type': 'text/html' }, '<html><h1>Welcome</h1></html>'),
  'no content': answering('204 No Content', {}),
  nothing: (socket) => socket.end(),
  'a reset': (socket) => socket.resetAndDestroy(),
  'no HTTP': (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
  'bytes of TLS': (socket) => socket.end(Buffer.from('160301020001000001fc0303', 'hex')),
  'an invalid status': (socket) => socket.end('HTTP/1.1 999999 Huh\r\n\r\n'),
  'an empty stream': sse(''),
  'a stream of comments': sse(':\n\n: x\n\n'),
  'a stream of blank data': sse('data:\n\ndata\n\ndata: \n\nevent: x\n\n'),
  'a stream of numbers': sse(
    'data: 1\n\ndata: null\n\ndata: "x"\n\ndata: []\n\ndata: [DONE\n\ndata: {\n\n',
  ),
  'bytes that are no UTF-8': sse(Buffer.from('646174613a20fffec328a0a10a0a', 'hex')),
  'JSON that is no object': json('[[[1]]]'),
  'JSON nested 100,000 levels deep': json(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
  'a body that is too short': json('{}', { 'Content-Length': '500' }),
  'a body that is too long': json('{}{}{}', { 'Content-Length': '1' }),
  'a negative length': json('{}', { 'Content-Length': '-1' }),
  'a length and chunks': json('2\r\n{}\r\n0\r\n\r\n', {
    'Content-Length': '2',
    'Transfer-Encoding': 'chunked',
  }),
  'invalid chunks': json('ZZ\r\n{}\r\n', { 'Transfer-Encoding': 'chunked' }),
  'a chunk size that overflows': json('fffffffffffffffff\r\n{}\r\n', {
    'Transfer-Encoding': 'chunked',
  }),
  trailers: json(
    `2\r\n{}\r\n0\r\nX-Key: ${UPSTREAM_KEYS.openai}\r\nContent-Type: text/html\r\n\r\n`,
    { 'Transfer-Encoding': 'chunked', Trailer: 'X-Key' },
  ),
  'another protocol': answering('101 Switching Protocols', { Upgrade: 'x', Connection: 'Upgrade' }),
  'an unknown encoding': json('{}', { 'Content-Encoding': 'zstd' }),
  'broken gzip': json('not gzip at all', { 'Content-Encoding': 'gzip' }),
  'half of a gzip': json(
    gzipSync(JSON.stringify(chatAnswer(SCRIPTS[0]!, REQUEST))).subarray(0, 40),
    { 'Content-Encoding': 'gzip' },
  ),
};

/** Answers of which the gateway reads tens of megabytes, up to a limit. */
const FLOODS: Readonly<Record<string, Respond>> = {
  'endless headers': endlessly(OK, 'X-More: more\r\n'),
  'one endless header': endlessly(`${OK}X-More: `, 'more'),
  'endless early hints': endlessly('', 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'),
  'a gzip bomb': json(BOMB, { 'Content-Encoding': 'gzip' }),
  'a gzip bomb in an event': sse(BOMB, { 'Content-Encoding': 'gzip' }),
  'a gzip bomb in an error': json(BOMB, { 'Content-Encoding': 'gzip' }, '400 Bad'),
  'an endless event': endlessly(`${STREAM}data: `, 'x'.repeat(65_536)),
};

describe('an upstream that answers with', () => {
  const cases = [
    ...Object.entries(RAW).map(([what, respond]) => ({ what, respond, modes: SOME })),
    ...Object.entries(FLOODS).map(([what, respond]) => ({ what, respond, modes: FEW })),
  ];

  it.each(cases)('$what gets an upstream failure status', async ({ respond, modes }) => {
    raw().respondWith(respond);
    const all = modes.map(async ({ client, dialect, stream }) => {
      const answer = await ask(client, rawModelTo(dialect), stream);
      check(answer, client, stream, false);
      // An answer of the client's own format may be passed on with 200.
      if (client !== dialect) expect(isFailure(answer, client), answer.text).toBe(true);
    });
    await Promise.all(all);
  });
});

it.each(['responses', 'messages'] as const)(
  "chat's [DONE] is not the end of a %s stream",
  async (dialect) => {
    raw().respondWith(sse('data: [DONE]\n\n'));
    check(await ask(dialect, rawModelTo(dialect), true), dialect, true, false);
  },
);

describe('an upstream that never ends', () => {
  it('is aborted at the total timeout', async () => {
    raw().respondWith(endlessly(STREAM, 'event: ping\ndata: {"type":"ping","choices":[]}\n\n'));
    const clients = ['chat', 'responses'] as const;
    const all = clients.map((client) => ask(client, rawModelTo('messages'), false));
    for (const { status } of await Promise.all(all)) expect([502, 504]).toContain(status);
  });

  it('keeps no more than the bytes of chunks, however long their extensions are', async () => {
    const before = residentMegabytes(gateway().daemon);
    const chunk = `1;${'x'.repeat(15_000)}\r\n \r\n`;
    raw().respondWith(endlessly(`${OK}Transfer-Encoding: chunked\r\n\r\n`, chunk));
    expect((await ask('chat', rawModelTo('chat'), false)).status).toBe(504);
    expect(residentMegabytes(gateway().daemon) - before).toBeLessThan(250);
  });

  it('is aborted when a whole answer exceeds the size limit', async () => {
    const chunk = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(30_000)}"}}]}\n\n`;
    raw().respondWith(endlessly(STREAM, chunk));
    const { status, text } = await ask('messages', rawModelTo('chat'), false);
    expect([status, JSON.parse(text).error.code]).toEqual([502, 'upstream_answer_too_large']);
  });
});

describe('an upstream redirect', () => {
  it.each([301, 302, 303, 307, 308])(
    '%d is not followed and gets 502 upstream_redirect',
    async (status) => {
      const { upstream } = gateway();
      for (const location of [
        `${upstream.url}/chat/completions`,
        'http://169.254.169.254/latest',
        '//x',
        '',
      ]) {
        upstream.play({ steps: [{ text: 'caught' }] });
        raw().respondWith(answering(`${status} Moved`, { Location: location }));
        const answer = await ask('chat', rawModelTo('chat'), false);
        expect(answer.status).toBe(502);
        expect(JSON.parse(answer.text).error.code).toBe('upstream_redirect');
        expect(answer.text).not.toContain('169.254');
        expect(upstream.requests).toHaveLength(0);
      }
    },
  );
});

/** Error texts in which upstreams quote the key. */
const echoes = (key: string) => [
  key,
  `Incorrect API key provided: ${key}. You can find yours at example.com`,
  `${key.slice(0, 5)}***${key.slice(-4)}`,
  `Bearer ${key}`,
  `{"authorization":"Bearer ${key}"}`,
  `a${key}b${key}`,
];

describe('the key of an upstream', () => {
  const TYPES = { chat: 'openai', responses: 'openai', messages: 'anthropic' } as const;

  it.each(MODES)(
    'client $client, upstream $dialect, stream $stream: is redacted in errors',
    async ({ client, dialect, stream }) => {
      const { upstream } = gateway();
      const key = UPSTREAM_KEYS[TYPES[dialect]];
      for (const [number, echo] of echoes(key).entries()) {
        const error = { message: echo, type: echo, code: key, param: echo, [key]: echo };
        const failed = { id: 'resp_1', object: 'response', status: 'failed', error, output: [] };
        const bodies = [
          { error },
          { type: 'error', error },
          { error: echo },
          { detail: [{ loc: ['body', echo], msg: echo }] },
          { message: echo, code: key },
          failed,
          { type: 'response.failed', response: failed },
          { choices: [{ index: 0, error, delta: {}, message: { content: key } }] },
          `<html><head><title>${echo}</title></head><body>${echo}</body></html>`,
          echo,
        ];
        // Texts are redacted in one way, wherever they stand: each text is in two bodies.
        for (const body of bodies.filter((_, index) => (index + number) % 5 === 0)) {
          for (const status of [200, 401]) {
            upstream.play({
              refuse: { status, body, headers: { 'x-key': key, 'request-id': key } },
            });
            const answer = await ask(client, modelTo(dialect), stream);
            expect(answer.text).not.toContain(SECRET);
            expect(answer.text).not.toContain('re7"');
          }
          if (!stream) continue;
          const event = typeof body === 'string' ? `data: ${body}\n\n` : bytesOf([{ data: body }]);
          const started = bytesOf(framesOf(dialect, SCRIPTS[0]!).slice(0, 4));
          for (const frames of [event, started + event]) {
            upstream.play({ raw: { type: 'text/event-stream', body: frames } });
            const answer = await ask(client, modelTo(dialect), stream);
            expect(answer.text).not.toContain(SECRET);
          }
        }
      }
    },
  );

  it('is in no response header', async () => {
    const { daemon, upstream } = gateway();
    upstream.play({ steps: [{ text: 'Hi' }], headers: { 'x-key': UPSTREAM_KEYS.openai } });
    const response = await send(daemon, 'chat', plainBody('chat', modelTo('chat')));
    expect(JSON.stringify([...response.headers])).not.toContain(SECRET);
  });
});

it('impossible usage is charged up to the hold', async () => {
  const { daemon, upstream } = gateway();
  const key = await newKey(daemon, 'impossible-usage');
  const impossible = { input: 9e15, output: 9e15 };
  upstream.play({ steps: [{ text: 'Hi' }], usage: impossible });
  for (const { client, dialect, stream } of MODES) {
    const body = plainBody(client, modelTo(dialect), stream ? { stream } : {});
    const response = await send(daemon, client, body, { key });
    expect(response.status).toBe(200);
    await response.text();
  }
  const headers = { authorization: `Bearer ${key}` };
  const account = await fetch(`${daemon.url}/v1/account`, { headers });
  const { credits } = (await account.json()) as Account;
  expect(credits.available).toBeGreaterThan(900);
});

it('after all tests of this file the log has no errors and no key, and no credits are held', async () => {
  const { daemon } = gateway();
  expect(daemon.log.filter(({ level }) => level === 'error')).toEqual([]);
  expect(JSON.stringify(daemon.log)).not.toContain(SECRET);
  await expect
    .poll(async () => {
      const response = await daemon.request('/v1/account');
      return ((await response.json()) as Account).credits.reserved;
    })
    .toBe(0);
});
