import '../../../../src/text/built-in-dialects.ts';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import OpenAI from 'openai';
import { describe, expect, it, test } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import type { TextEvent, Usage } from '../../../../src/text/canonical/events.ts';
import { unwrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
import { responses } from '../../../../src/text/dialects/responses/responses.ts';
import { documents } from './documents.ts';
import { blocksOf, contextOf, decode, encode, eventsIn, failureOf, finishOf } from './events.ts';

const usage: Usage = { input: 10, output: 7, cachedInput: 4, cacheWrite: 1, reasoning: 3 };
const start: TextEvent = { type: 'start', id: 'upstream', model: 'big-1' };
const finish = (reason: 'stop' | 'length' | 'tool-calls' | 'refusal' = 'stop'): TextEvent => ({
  type: 'finish',
  reason,
  raw: 'x',
  stopSequence: null,
  usage,
});
const text = (block: number, ...pieces: string[]): TextEvent[] => [
  { type: 'text-start', block },
  ...pieces.map((piece) => ({ type: 'text-delta', block, text: piece }) as const),
  { type: 'text-end', block },
];
const tool = (block: number, id: string, ...pieces: string[]): TextEvent[] => [
  { type: 'tool-start', block, id, name: 'f' },
  ...pieces.map((json) => ({ type: 'tool-delta', block, json }) as const),
  { type: 'tool-end', block },
];
const signature = { dialect: 'messages', provider: 'acme', value: { signature: 'sig' } } as const;
const reasoning = (block: number, ...pieces: string[]): TextEvent[] => [
  { type: 'reasoning-start', block },
  ...pieces.map((piece) => ({ type: 'reasoning-delta', block, text: piece }) as const),
  { type: 'reasoning-end', block, signature },
];
const refusal = (block: number, piece: string): TextEvent[] => [
  { type: 'refusal-start', block },
  { type: 'refusal-delta', block, text: piece },
  { type: 'refusal-end', block },
];
const cited: TextEvent[] = [
  { type: 'text-start', block: 0 },
  {
    type: 'text-delta',
    block: 0,
    text: 'see',
    logprobs: [{ token: 'see', logprob: -1, bytes: [1], top_logprobs: [] }],
  },
  {
    type: 'citation',
    block: 0,
    citation: { url: 'https://a.example', title: null, start: null, end: null, quote: 'q' },
  },
  { type: 'text-end', block: 0 },
];

const CASES: Readonly<Record<string, readonly TextEvent[]>> = {
  'text alone': [start, ...text(0, 'Hel', 'lo'), finish()],
  'no block at all': [start, finish()],
  'text and a call in one turn': [
    start,
    ...text(0, 'ok'),
    ...tool(1, 'c1', '{"a"', ':1}'),
    finish('tool-calls'),
  ],
  'parallel calls': [
    start,
    ...tool(0, 'c1', '{}'),
    ...tool(1, 'c2', '{"b":2}'),
    finish('tool-calls'),
  ],
  'reasoning, a call, reasoning': [
    start,
    ...reasoning(0, 'h', 'm'),
    ...tool(1, 'c1', '{}'),
    ...reasoning(2, 'so'),
    finish('tool-calls'),
  ],
  'text, a call, text': [
    start,
    ...text(0, 'a'),
    ...tool(1, 'c1', '{}'),
    ...text(2, 'b'),
    finish('tool-calls'),
  ],
  'empty signed thinking': [start, ...reasoning(0), ...text(1, 'a'), finish()],
  'a call without arguments': [start, ...tool(0, 'c1'), finish('tool-calls')],
  'a refusal': [start, ...refusal(0, 'no'), finish('refusal')],
  'an answer cut short': [start, ...text(0, 'lon'), finish('length')],
  'a call cut short': [start, ...tool(0, 'c1', '{"a":'), finish('length')],
  'a citation and log probabilities': [start, ...cited, finish()],
};

const body = {
  instructions: 'Be brief.',
  tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
  tool_choice: 'auto',
  max_output_tokens: 100,
  temperature: 0.5,
  metadata: { a: 'b' },
  reasoning: { effort: 'low' },
};

/** Serves frames to OpenAI's client. */
async function accumulated(frames: string) {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const client = new OpenAI({ apiKey: 'k', baseURL: `http://127.0.0.1:${port}`, maxRetries: 0 });
    return await client.responses.stream({ model: 'm', input: 'hi' }).finalResponse();
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** Removes ids, which are new for each answer. */
function nameless(value: unknown): unknown {
  const text = JSON.stringify(value, (name, one) => (name === 'completed_at' ? null : one));
  return JSON.parse(text.replace(/"(resp|msg|fc|rs_oriel)_\w{20}"/g, '"$1"'));
}

describe.each(Object.entries(CASES))('%s', (_, events) => {
  const context = contextOf(body);
  const stream = eventsIn(encode(events, context));
  const final = stream.at(-1)!['response'] as Json;

  it('has sequence numbers from 0, a start and an end', () => {
    expect(stream.map((event) => event['sequence_number'])).toEqual([...stream.keys()]);
    expect(stream.slice(0, 2).map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
    ]);
    expect(stream.at(-1)!['type']).toBe(`response.${final['status']}`);
  });

  it('has a done event for each added one, with the same indexes and ids', () => {
    const added = stream.filter(({ type }) => type === 'response.output_item.added');
    const done = stream.filter(({ type }) => type === 'response.output_item.done');
    expect(added.map((event) => event['output_index'])).toEqual([...added.keys()]);
    expect(done.map((event) => event['output_index'])).toEqual([...added.keys()]);
    const ids = (list: readonly Json[]) => list.map(({ item }) => (item as Json)['id']);
    expect(ids(done)).toEqual(ids(added));
    expect(done.map(({ item }) => item)).toEqual(final['output']);
    for (const event of stream) {
      if (event['item_id'])
        expect(event['item_id']).toBe(ids(added)[event['output_index'] as number]);
    }
  });

  it('is folded by the official client', async () => {
    const { output, status, usage: counted } = await accumulated(encode(events, context));
    const plain = output.map((item) => {
      const { parsed_arguments: _, ...rest } = item as unknown as Json;
      if (!Array.isArray(rest['content'])) return rest;
      const content = rest['content'].map(({ parsed: _, ...part }: Json) => part);
      return { ...rest, content };
    });
    expect(nameless(plain)).toEqual(nameless(final['output']));
    expect(status).toBe(final['status']);
    expect(counted).toMatchObject({ input_tokens: 10, total_tokens: 17 });
  });

  it('folds to the answer that is not streamed', () => {
    expect(nameless(responses.foldEvents(context, [events]))).toEqual(nameless(final));
  });

  it('decodes to the events that were encoded', () => {
    const again = decode(stream);
    const expected = blocksOf(events).map(([name, json]) =>
      name.startsWith('tool') && json === '' ? [name, '{}'] : [name, json],
    );
    expect(blocksOf(again)).toEqual(expected);
    expect(finishOf(again)).toMatchObject({ usage, reason: finishOf(events).reason });
  });

  test.skipIf(documents.length === 0)(
    'follows the public documents (in the folder ORIEL_SHARED)',
    () => {
      for (const document of documents) {
        const faults = stream.flatMap((event) => document.check(event) ?? []);
        expect(faults, document.name).toEqual([]);
        expect(document.checkAnswer(final), document.name).toBeNull();
      }
    },
  );
});

describe('encoded responses events', () => {
  it('have the official order', () => {
    const stream = eventsIn(
      encode([
        start,
        ...reasoning(0, 'hm'),
        ...text(1, 'a'),
        ...tool(2, 'c1', '{}'),
        ...refusal(3, 'no'),
        finish(),
      ]),
    );
    expect(stream.map(({ type }) => String(type).replace('response.', ''))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'refusal.delta',
      'refusal.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
  });

  it('echo the request and count usage in both forms', () => {
    const answer = responses.foldEvents(contextOf(body), [CASES['text alone']!]);
    expect(answer).toMatchObject({
      object: 'response',
      created_at: 1_700_000_000,
      status: 'completed',
      model: 'big-1',
      instructions: 'Be brief.',
      max_output_tokens: 100,
      temperature: 0.5,
      metadata: { a: 'b' },
      reasoning: { effort: 'low', summary: null },
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object' }, strict: false }],
      store: false,
      output_text: 'Hello',
      usage: {
        prompt_tokens: 10,
        completion_tokens: 7,
        total_tokens: 17,
        input_tokens: 10,
        output_tokens: 7,
        cached_input_tokens: 4,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
        output_tokens_details: { reasoning_tokens: 3 },
      },
    });
  });

  it('have the requested model if the upstream names none', () => {
    const nameless: TextEvent = { type: 'start', id: null, model: null };
    expect(responses.foldEvents(contextOf(), [[nameless, finish()]])).toMatchObject({ model: 'm' });
  });

  it('wrap the signature of reasoning of any provider', () => {
    const { output } = responses.foldEvents(contextOf(), [[start, ...reasoning(0), finish()]]);
    const [item] = output as Json[];
    expect(item).toMatchObject({ type: 'reasoning', summary: [] });
    expect(unwrapSignature(String(item!['encrypted_content']))).toEqual(signature);
  });

  it('mark only the call that was cut as incomplete', () => {
    const events = [start, ...text(0, 'a'), ...tool(1, 'c1', '{"a":'), finish('length')];
    const answer = responses.foldEvents(contextOf(), [events]);
    expect(answer).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'completed' }, { status: 'incomplete', arguments: '{"a":' }],
    });
  });

  it('have call ids that every provider accepts', () => {
    const { output } = responses.foldEvents(contextOf(), [
      [start, ...tool(0, 'functions.x:0'), finish('tool-calls')],
    ]);
    const [item] = output as Json[];
    expect(item!['call_id']).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    const input = [item, { type: 'function_call_output', call_id: item!['call_id'], output: 'x' }];
    const { turns } = responses.decodeRequest({ model: 'm', input });
    expect(turns[0]!.parts[0]).toMatchObject({ id: 'functions.x:0' });
    expect(turns[1]!.parts[0]).toMatchObject({ callId: 'functions.x:0' });
  });

  const failure = new Failure('rate_limit', 'too fast', { originalCode: 'slow_down' });

  it('end a failed stream with error and response.failed', async () => {
    const frames = encode([
      start,
      { type: 'text-start', block: 0 },
      { type: 'text-delta', block: 0, text: 'Hel' },
      { type: 'error', failure },
      finish(),
    ]);
    const [error, failed] = eventsIn(frames).slice(-2);
    expect(error).toMatchObject({
      type: 'error',
      code: 'slow_down',
      message: 'too fast',
      param: null,
      error: { type: 'rate_limit', message: 'too fast', code: 'slow_down', param: null },
    });
    expect(failed).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'rate_limit_exceeded', message: 'too fast' },
        output: [],
      },
    });
    for (const document of documents) {
      expect([document.check(error!), document.check(failed!)]).toEqual([null, null]);
    }
    expect(failureOf(decode(eventsIn(frames))).type).toBeTypeOf('string');
    await expect(accumulated(frames)).rejects.toThrow('too fast');
    expect(() => responses.foldEvents(contextOf(), [[start, { type: 'error', failure }]])).toThrow(
      failure,
    );
  });

  it('have error and response.failed for a failure before the start', () => {
    const types = eventsIn(encode([{ type: 'error', failure }])).map(({ type }) => type);
    expect(types).toEqual(['response.created', 'response.in_progress', 'error', 'response.failed']);
  });

  it('fail for a native block of another format', () => {
    const events: TextEvent[] = [
      start,
      ...text(0, 'a'),
      { type: 'native', block: 1, dialect: 'messages', value: { type: 'server_tool_use' } },
      ...text(2, 'b'),
      finish(),
    ];
    const stream = eventsIn(encode(events));
    expect(stream.slice(-2).map(({ type }) => type)).toEqual(['error', 'response.failed']);
    expect(stream.at(-2)).toMatchObject({ code: 'untranslatable_output' });
    expect(() => responses.foldEvents(contextOf(), [events])).toThrow(
      expect.objectContaining({ type: 'billable_error', code: 'untranslatable_output' }),
    );
  });

  it('have native items unchanged', () => {
    const item = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
    const events: TextEvent[] = [
      start,
      { type: 'native', block: 0, dialect: 'responses', value: item },
      ...text(1, 'a'),
      finish(),
    ];
    expect(responses.foldEvents(contextOf(), [events])['output']).toMatchObject([
      item,
      { type: 'message' },
    ]);
  });

  it('do not fold to an answer without an end', () => {
    expect(() => responses.foldEvents(contextOf(), [[start, ...text(0, 'a')]])).toThrow(
      expect.objectContaining({ type: 'network_error' }),
    );
    expect(() => responses.foldEvents(contextOf(), [])).toThrow(Failure);
  });

  it('are the same for any split of the deltas', () => {
    const words = fc.array(fc.string({ unit: 'binary' }), { maxLength: 6 });
    const block = fc.tuple(fc.constantFrom('text', 'reasoning', 'refusal', 'tool'), words);
    fc.assert(
      fc.property(fc.array(block, { maxLength: 5 }), (blocks) => {
        const made = (cut: (pieces: string[]) => string[]) => [
          start,
          ...blocks.flatMap(([kind, pieces], index) => {
            const parts = cut(pieces);
            if (kind === 'text') return text(index, ...parts);
            if (kind === 'reasoning') return reasoning(index, ...parts);
            if (kind === 'refusal') return refusal(index, parts.join(''));
            return tool(index, `c${index}`, ...parts);
          }),
          finish(),
        ];
        const context = contextOf();
        const inPieces = made((pieces) => pieces);
        const stream = eventsIn(encode(inPieces, context));
        const final = stream.at(-1)!['response'];
        expect(nameless(final)).toEqual(
          nameless(responses.foldEvents(context, [made((all) => [all.join('')])])),
        );
        expect(stream.map((event) => event['sequence_number'])).toEqual([...stream.keys()]);
        expect(blocksOf(decode(stream))).toEqual(
          blocksOf(inPieces).map(([name, text]) => [
            name,
            name.startsWith('tool') && text === '' ? '{}' : text,
          ]),
        );
      }),
    );
  });
});
