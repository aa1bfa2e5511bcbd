import '../../../../src/text/built-in-dialects.ts';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import OpenAI from 'openai';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import { describe, expect, it, test } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import type { Json, TextRequest } from '../../../../src/text/canonical/canonical.ts';
import type { TextEvent, Usage } from '../../../../src/text/canonical/events.ts';
import { chat } from '../../../../src/text/dialects/chat/chat.ts';
import { wrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
import { blocksOf, decode, request } from './conversation.ts';

const USAGE: Usage = { input: 10, output: 5, cachedInput: 4, cacheWrite: 0, reasoning: 2 };
const SIX = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  input_tokens: 10,
  output_tokens: 5,
  cached_input_tokens: 4,
};
const START: TextEvent = { type: 'start', id: 'x', model: 'answering-model' };
const SIGNATURE = { dialect: 'messages', provider: 'a', value: { signature: 'sig' } } as const;

const finish = (more: Json = {}): TextEvent =>
  ({
    type: 'finish',
    reason: 'stop',
    raw: null,
    stopSequence: null,
    usage: USAGE,
    ...more,
  }) as TextEvent;

const text = (block: number, ...pieces: string[]): TextEvent[] => [
  { type: 'text-start', block },
  ...pieces.map((piece) => ({ type: 'text-delta' as const, block, text: piece })),
  { type: 'text-end', block },
];
const tool = (block: number, id: string, ...pieces: string[]): TextEvent[] => [
  { type: 'tool-start', block, id, name: 'look' },
  ...pieces.map((json) => ({ type: 'tool-delta' as const, block, json })),
  { type: 'tool-end', block },
];
const reasoning = (
  block: number,
  words: string,
  signature: typeof SIGNATURE | null = null,
): TextEvent[] => [
  { type: 'reasoning-start', block },
  ...(words === '' ? [] : [{ type: 'reasoning-delta' as const, block, text: words }]),
  { type: 'reasoning-end', block, signature },
];

const asked = (more: Json = {}) =>
  request({ stream: true, stream_options: { include_usage: true }, ...more });

function frames(events: readonly TextEvent[], of: TextRequest = asked()): string {
  const encoder = chat.encodeEvents({ request: of, created: 7 });
  return events.map((event) => encoder.push(event)).join('');
}

/** The data of each frame, whose form it checks. */
function dataOf(stream: string): string[] {
  if (stream === '') return [];
  expect(stream.endsWith('\n\n')).toBe(true);
  return stream
    .slice(0, -2)
    .split('\n\n')
    .map((frame) => {
      expect(frame).toMatch(/^data: [^\n]+$/);
      return frame.slice('data: '.length);
    });
}

interface Delta {
  readonly role?: string;
  readonly tool_calls?: readonly {
    readonly index: number;
    readonly id?: string;
    readonly type?: string;
    readonly function?: { readonly name?: string; readonly arguments: string };
  }[];
}

interface Chunk {
  readonly id: string;
  readonly model: string;
  readonly usage?: Json | null;
  readonly choices: readonly {
    readonly index: number;
    readonly delta: Delta;
    readonly logprobs: { readonly content: readonly unknown[] } | null;
    readonly finish_reason: string | null;
  }[];
}

interface Message extends Record<string, unknown> {
  role: string | null;
  content: unknown;
  tool_calls?: Record<string, unknown>[];
}

interface Answered {
  readonly choices: {
    readonly index: number;
    readonly message: Message;
    logprobs: { readonly content: unknown[]; readonly refusal: null } | null;
    finish_reason: string | null;
  }[];
  readonly usage?: Json;
}

function chunksOf(stream: string): Chunk[] {
  return dataOf(stream)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as Chunk);
}

const deltasOf = (stream: string) =>
  chunksOf(stream).flatMap(({ choices }) => choices.map(({ delta }) => delta));

/** Adds the tool calls of a delta. */
function addCalls(message: Message, fragments: NonNullable<Delta['tool_calls']>): void {
  message.tool_calls ??= [];
  for (const { index, function: own, ...rest } of fragments) {
    const known = message.tool_calls[index]?.['function'] as { arguments: string } | undefined;
    if (known === undefined)
      message.tool_calls[index] = { ...rest, ...(own && { function: { ...own } }) };
    else known.arguments += own?.arguments ?? '';
  }
}

/** Folds chunks as a minimal client does. */
function foldChunks(stream: string): Answered {
  const chunks = chunksOf(stream);
  const choices: Answered['choices'] = [];
  let usage: Json | undefined;
  for (const { choices: some, ...head } of chunks) {
    expect(head).toMatchObject({ id: chunks[0]!.id, created: 7, model: chunks[0]!.model });
    usage = head.usage ?? usage;
    for (const { index, delta, logprobs, finish_reason } of some) {
      choices[index] ??= {
        index,
        message: { role: null, content: null, refusal: null },
        logprobs: null,
        finish_reason: null,
      };
      const choice = choices[index];
      const { message } = choice;
      const { role, tool_calls: calls, ...rest } = delta;
      message.role ??= role ?? null;
      if (calls) addCalls(message, calls);
      for (const [name, value] of Object.entries(rest as Json)) {
        const before = message[name] ?? null;
        if (Array.isArray(value)) message[name] = [...((before ?? []) as unknown[]), ...value];
        else message[name] = `${before ?? ''}${value}`;
      }
      if (logprobs) {
        choice.logprobs ??= { content: [], refusal: null };
        choice.logprobs.content.push(...logprobs.content);
      }
      if (finish_reason === null) continue;
      expect(choice.finish_reason).toBeNull();
      choice.finish_reason = finish_reason;
    }
  }
  for (const { message } of choices) {
    const called = message.tool_calls !== undefined || message['refusal'] !== null;
    if (message.content === '' && called) message.content = null;
  }
  return { choices, ...(usage !== undefined && { usage }) };
}

interface Whole extends Answered {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
}

function fold(events: readonly TextEvent[], of: TextRequest = asked()): Whole {
  return chat.foldEvents({ request: of, created: 7 }, [events]) as unknown as Whole;
}

function messageOf(events: readonly TextEvent[]): Message {
  return fold(events).choices[0]!.message;
}

/** The answer that the official client folds from frames. */
async function throughClient(stream: string, params: Json = {}): Promise<ChatCompletion> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const client = new OpenAI({
      apiKey: 'x',
      baseURL: `http://127.0.0.1:${port}/v1`,
      maxRetries: 0,
    });
    return await client.chat.completions
      .stream({ model: 'm', messages: [{ role: 'user', content: 'x' }], ...params })
      .finalChatCompletion();
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('an encoded chat stream', () => {
  it('has chunks in order with one id, model and time', () => {
    const stream = frames([START, ...text(0, 'Hel', 'lo'), finish()]);
    expect(dataOf(stream).at(-1)).toBe('[DONE]');
    const chunks = chunksOf(stream);
    expect(chunks[0]!.id).toMatch(/^chatcmpl-\w{29}$/);
    const head = {
      id: chunks[0]!.id,
      object: 'chat.completion.chunk',
      created: 7,
      model: 'answering-model',
    };
    const choice = (delta: Json, finish_reason: string | null = null) => ({
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      usage: null,
    });
    expect(chunks).toEqual([
      choice({ role: 'assistant', content: '' }),
      choice({ content: 'Hel' }),
      choice({ content: 'lo' }),
      choice({}, 'stop'),
      {
        ...head,
        choices: [],
        usage: {
          ...SIX,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 2 },
        },
      },
    ]);
  });

  it('has usage only with include_usage', () => {
    const of = request({ stream: true });
    expect(frames([START, ...text(0, 'x'), finish()], of)).not.toContain('usage');
  });

  it('has no usage chunk if the upstream reported none', () => {
    const chunks = chunksOf(frames([START, finish({ usage: null })]));
    expect(chunks.every(({ usage, choices }) => usage === null && choices.length === 1)).toBe(true);
  });

  it('has the requested model if the upstream names none', () => {
    const [first] = chunksOf(frames([{ ...START, model: null } as TextEvent, finish()]));
    expect(first!.model).toBe('some-model');
  });

  it('begins with the role for any first event', () => {
    const [first] = deltasOf(frames(text(0, 'x')));
    expect(first).toEqual({ role: 'assistant', content: '' });
  });

  it('has index, id, type and name of a tool call once', () => {
    const stream = frames([
      START,
      ...tool(0, 'a', '{"x"', ':1}'),
      ...tool(1, 'b'),
      finish({ reason: 'tool-calls' }),
    ]);
    expect(deltasOf(stream).slice(1, -1)).toEqual([
      {
        tool_calls: [
          { index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '' } },
        ],
      },
      { tool_calls: [{ index: 0, function: { arguments: '{"x"' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
      {
        tool_calls: [
          { index: 1, id: 'b', type: 'function', function: { name: 'look', arguments: '' } },
        ],
      },
      { tool_calls: [{ index: 1, function: { arguments: '{}' } }] },
    ]);
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool-calls', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['pause', 'stop'],
    ['other', 'stop'],
  ])('has for the reason %s the finish_reason %s', (reason, finish_reason) => {
    const events = [START, ...text(0, 'x'), finish({ reason })];
    expect(foldChunks(frames(events))).toMatchObject({ choices: [{ finish_reason }] });
    expect(fold(events).choices[0]!.finish_reason).toBe(finish_reason);
  });

  it('that fails ends with an error, without finish_reason and [DONE]', () => {
    const failure = new Failure('rate_limit', 'Too many\nrequests', { originalCode: 'slow_down' });
    const stream = frames([
      START,
      ...text(0, 'x').slice(0, 2),
      { type: 'error', failure },
      finish(),
    ]);
    expect(dataOf(stream)).not.toContain('[DONE]');
    const chunks = chunksOf(stream);
    expect(chunks.at(-1)).toEqual({
      error: { type: 'rate_limit', message: 'Too many\nrequests', param: null, code: 'slow_down' },
    });
    expect(stream).not.toContain('"finish_reason":"');
  });

  it('with a native block of another format ends with an error', () => {
    const native: TextEvent = {
      type: 'native',
      block: 0,
      dialect: 'messages',
      value: { type: 'server_tool_use' },
    };
    const stream = frames([START, native, ...text(1, 'x'), finish()]);
    expect(chunksOf(stream).at(-1)).toMatchObject({
      error: { type: 'billable_error', code: 'untranslatable_output' },
    });
    expect(chunksOf(stream)).toHaveLength(2);
    expect(() => fold([START, native, finish()])).toThrow(/server_tool_use/);
  });
});

test('several choices are one stream with one id and summed usage', () => {
  const encoder = chat.encodeEvents({ request: asked({ n: 2 }), created: 7 });
  const stream = [
    encoder.push(START, 1),
    encoder.push(START, 0),
    ...text(0, 'one').map((event) => encoder.push(event, 0)),
    encoder.push(finish(), 0),
    ...text(0, 'two').map((event) => encoder.push(event, 1)),
    encoder.push(finish({ reason: 'length' }), 1),
  ].join('');
  expect(dataOf(stream).filter((data) => data === '[DONE]')).toHaveLength(1);
  expect(dataOf(stream).at(-1)).toBe('[DONE]');
  expect(foldChunks(stream)).toMatchObject({
    choices: [
      { index: 0, message: { content: 'one' }, finish_reason: 'stop' },
      { index: 1, message: { content: 'two' }, finish_reason: 'length' },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30, cached_input_tokens: 8 },
  });
  const whole = chat.foldEvents({ request: asked({ n: 2 }), created: 7 }, [
    [START, ...text(0, 'one'), finish()],
    [START, ...text(0, 'two'), finish({ reason: 'length' })],
  ]);
  expect(whole).toMatchObject(foldChunks(stream));
});

const CASES: Readonly<Record<string, readonly TextEvent[]>> = {
  text: [START, ...text(0, 'Hel', 'lo'), finish()],
  'nothing at all': [START, finish()],
  'a call alone': [START, ...tool(0, 'a', '{"x":1}'), finish({ reason: 'tool-calls' })],
  'a call without arguments': [START, ...tool(0, 'a'), finish({ reason: 'tool-calls' })],
  'text, calls in parallel and text': [
    START,
    ...text(0, 'Let me look.'),
    ...tool(1, 'functions.look:0', '{"x"', ':1}'),
    ...tool(2, 'b', '{}'),
    ...text(3, ' Done.'),
    finish({ reason: 'tool-calls' }),
  ],
  'a refusal': [
    START,
    { type: 'refusal-start', block: 0 },
    { type: 'refusal-delta', block: 0, text: 'No.' },
    { type: 'refusal-end', block: 0 },
    finish({ reason: 'refusal' }),
  ],
  reasoning: [START, ...reasoning(0, 'Hm.'), ...text(1, 'Yes.'), finish()],
  'reasoning with a signature': [
    START,
    ...reasoning(0, 'Hm.', SIGNATURE),
    ...text(1, 'Yes.'),
    finish(),
  ],
  'empty reasoning with a signature': [
    START,
    ...reasoning(0, '', SIGNATURE),
    ...text(1, 'Yes.'),
    finish(),
  ],
  'reasoning, a call, reasoning': [
    START,
    ...reasoning(0, 'First.', SIGNATURE),
    ...tool(1, 'a', '{}'),
    ...reasoning(2, 'Then.'),
    ...tool(3, 'b', '{}'),
    finish({ reason: 'tool-calls' }),
  ],
  citations: [
    START,
    ...text(0, 'Before. '),
    { type: 'text-start', block: 1 },
    { type: 'text-delta', block: 1, text: 'Cited' },
    {
      type: 'citation',
      block: 1,
      citation: { url: 'https://a', title: 'A', start: 0, end: 5, quote: null },
    },
    {
      type: 'citation',
      block: 1,
      citation: { url: 'https://b', title: null, start: null, end: null, quote: null },
    },
    { type: 'text-end', block: 1 },
    finish(),
  ],
  likelihoods: [
    START,
    { type: 'text-start', block: 0 },
    { type: 'text-delta', block: 0, text: 'x', logprobs: [{ token: 'x', logprob: -1 }] },
    { type: 'text-delta', block: 0, text: 'y', logprobs: [{ token: 'y', logprob: -2 }] },
    { type: 'text-end', block: 0 },
    finish(),
  ],
  'what only this format has': [
    START,
    { type: 'native', block: 0, dialect: 'chat', value: { images: [{ a: 1 }] } },
    {
      type: 'native',
      block: 1,
      dialect: 'chat',
      value: { tool_calls: [{ id: 'c', type: 'custom', custom: { name: 's', input: 'la' } }] },
    },
    ...tool(2, 'a', '{}'),
    finish({ reason: 'tool-calls' }),
  ],
};

describe('a folded chat stream equals the answer that is not streamed', () => {
  it.each(Object.entries(CASES))('%s', (_, events) => {
    const { id, object, created, model, ...rest } = fold(events);
    expect(rest).toEqual(foldChunks(frames(events)));
    expect({ id, object, created, model }).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: 7,
      model: 'answering-model',
    });
  });
});

describe("the official client's accumulator", () => {
  const plain = Object.entries(CASES).filter(([name]) => !name.startsWith('what only'));
  it.each(plain)('folds %s', async (_, events) => {
    const { choices, usage } = await throughClient(frames(events));
    const { message, finish_reason } = choices[0]!;
    const whole = fold(events);
    const expected = whole.choices[0]!.message;
    expect(finish_reason).toBe(whole.choices[0]!.finish_reason);
    expect(message.role).toBe('assistant');
    expect(message.content ?? '').toBe(expected.content ?? '');
    expect(message.refusal ?? null).toBe(expected['refusal']);
    const calls = (message.tool_calls ?? []).map((call) => {
      if (call.type !== 'function') throw new Error(call.type);
      const { name, arguments: given } = call.function;
      return { id: call.id, type: call.type, function: { name, arguments: given } };
    });
    expect(calls).toEqual(expected.tool_calls ?? []);
    // It keeps the last value of unknown fields, which is complete if it comes in one chunk.
    expect((message as unknown as Json)['reasoning_details']).toEqual(
      expected['reasoning_details'],
    );
    expect(usage).toEqual(whole.usage);
  });

  it('throws if the stream failed', async () => {
    const failure = new Failure('service_error', 'It broke');
    const stream = frames([START, ...text(0, 'x').slice(0, 2), { type: 'error', failure }]);
    await expect(throughClient(stream)).rejects.toThrow('It broke');
  });
});

describe('reasoning in a chat answer', () => {
  it('of another format has its signature wrapped in one chunk of reasoning_details', () => {
    const message = messageOf(CASES['reasoning, a call, reasoning']!);
    expect(message['reasoning_content']).toBe('First.Then.');
    expect(message['reasoning_details']).toEqual([
      { type: 'reasoning.text', text: 'First.', signature: wrapSignature(SIGNATURE), index: 0 },
      { type: 'reasoning.text', text: 'Then.', after_tool_calls: 1, index: 1 },
    ]);
  });

  it('returns from the client with its signature and position', () => {
    const message = messageOf(CASES['reasoning, a call, reasoning']!);
    const { turns } = request({ messages: [{ role: 'user', content: 'x' }, message] });
    expect(turns[1]!.parts).toMatchObject([
      { type: 'reasoning', text: 'First.', signature: SIGNATURE },
      { type: 'tool-call', id: 'a' },
      { type: 'reasoning', text: 'Then.', signature: null },
      { type: 'tool-call', id: 'b' },
    ]);
  });

  it('of a chat upstream has its reasoning_details unchanged', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'xyz', index: 0 }];
    const signature = {
      dialect: 'chat',
      provider: 'a',
      value: { reasoning_details: details },
    } as const;
    const events: TextEvent[] = [
      START,
      { type: 'reasoning-start', block: 0 },
      { type: 'reasoning-end', block: 0, signature },
      finish(),
    ];
    expect(messageOf(events)['reasoning_details']).toEqual(details);
  });
});

const block = fc.oneof(
  fc.record({
    type: fc.constant('text' as const),
    pieces: fc.array(fc.string({ minLength: 1, unit: 'binary' }), { minLength: 1 }),
  }),
  fc.record({
    type: fc.constant('reasoning' as const),
    pieces: fc.array(fc.string({ minLength: 1, unit: 'binary' }), { minLength: 1 }),
  }),
  fc.record({ type: fc.constant('tool' as const), pieces: fc.array(fc.string({ minLength: 1 })) }),
);

test('any answer folds to the same body and decodes to the same events', () => {
  fc.assert(
    fc.property(fc.array(block, { maxLength: 6 }), (blocks) => {
      const events: TextEvent[] = [START];
      for (const [number, { type, pieces }] of blocks.entries()) {
        if (type === 'text') events.push(...text(number, ...pieces));
        else if (type === 'tool') events.push(...tool(number, `id${number}`, ...pieces));
        else events.push(...reasoning(number, pieces.join('')));
      }
      events.push(finish());
      const stream = frames(events);
      const { id, object, created, model, ...rest } = fold(events);
      expect(rest).toEqual(foldChunks(stream));
      const again = blocksOf(decode(dataOf(stream)));
      const words = (type: string) =>
        blocks.flatMap((one) => (one.type === type ? one.pieces : [])).join('');
      const heard = (type: string) =>
        again.flatMap((one) => (one.type === type ? [one.text] : [])).join('');
      expect(heard('text')).toBe(words('text'));
      expect(heard('reasoning')).toBe(words('reasoning'));
    }),
  );
});
