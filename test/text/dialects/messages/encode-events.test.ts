import '../../../../src/text/built-in-dialects.ts';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import type { TextEvent, Usage } from '../../../../src/text/canonical/events.ts';
import { messages } from '../../../../src/text/dialects/messages/messages.ts';
import { unwrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
import { decoded, decodedWhole, encoding, eventsOf, framesOf, joined } from './answers.ts';

const usage: Usage = { input: 30, output: 9, cachedInput: 10, cacheWrite: 5, reasoning: 4 };
const begun = { type: 'start', id: 'upstream', model: 'upstream-model' } as const;
const finished = (
  reason: 'stop' | 'length' | 'tool-calls' | 'refusal' | 'pause' | 'other' = 'stop',
  more: object = {},
) => ({ type: 'finish', reason, raw: null, stopSequence: null, usage, ...more }) as const;
const says = (block: number, ...texts: readonly string[]): TextEvent[] => [
  { type: 'text-start', block },
  ...texts.map((text) => ({ type: 'text-delta', block, text }) as const),
  { type: 'text-end', block },
];
const calls = (block: number, ...pieces: readonly string[]): TextEvent[] => [
  { type: 'tool-start', block, id: 'functions.x:0', name: 'x' },
  ...pieces.map((json) => ({ type: 'tool-delta', block, json }) as const),
  { type: 'tool-end', block },
];
const foreign = { dialect: 'responses', provider: 'openai', value: { id: 'rs_1' } } as const;
const thinks = (
  block: number,
  signature: Extract<TextEvent, { type: 'reasoning-end' }>['signature'],
  ...texts: readonly string[]
): TextEvent[] => [
  { type: 'reasoning-start', block },
  ...texts.map((text) => ({ type: 'reasoning-delta', block, text }) as const),
  { type: 'reasoning-end', block, signature },
];
const own = (value: Json) => ({ dialect: 'messages', provider: 'anthropic', value }) as const;

let server: Server;
let client: Anthropic;
let frames = '';
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  client = new Anthropic({ apiKey: 'k', baseURL: `http://127.0.0.1:${port}`, maxRetries: 0 });
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

/** The message that the official client folds from a stream. */
async function accumulated(sent: string): Promise<Json> {
  frames = sent;
  const stream = client.messages.stream({
    model: 'm',
    max_tokens: 1,
    messages: [{ role: 'user', content: 'Hello' }],
  });
  return JSON.parse(JSON.stringify(await stream.finalMessage())) as Json;
}

function folded(events: readonly TextEvent[]): Json {
  return messages.foldEvents(encoding, [events]);
}

describe('an encoded messages stream', () => {
  it('has all event types of the format, in order', () => {
    const events = eventsOf(
      framesOf([
        begun,
        ...thinks(0, own({ signature: 'signed' }), 'Hm'),
        ...says(1, 'Hel', 'lo'),
        ...calls(2, '{"a":', '1}'),
        finished('tool-calls'),
      ]),
    );
    expect(events).toMatchObject([
      {
        type: 'message_start',
        message: {
          id: expect.stringMatching(/^msg_/),
          type: 'message',
          role: 'assistant',
          model: 'upstream-model',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 0, output_tokens: 0 },
        },
      },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'signature_delta', signature: 'signed' },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 1 },
      {
        type: 'content_block_start',
        index: 2,
        content_block: {
          type: 'tool_use',
          id: expect.stringMatching(/^[\w-]{1,64}$/),
          name: 'x',
          input: {},
        },
      },
      {
        type: 'content_block_delta',
        index: 2,
        delta: { type: 'input_json_delta', partial_json: '{"a":' },
      },
      {
        type: 'content_block_delta',
        index: 2,
        delta: { type: 'input_json_delta', partial_json: '1}' },
      },
      { type: 'content_block_stop', index: 2 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: {
          input_tokens: 15,
          cache_read_input_tokens: 10,
          cache_creation_input_tokens: 5,
          output_tokens: 9,
          output_tokens_details: { thinking_tokens: 4 },
        },
      },
      { type: 'message_stop' },
    ]);
  });

  it('has in message_start the usage known so far', () => {
    const [start] = eventsOf(framesOf([begun, { type: 'usage', usage }, ...says(0, 'a')]));
    expect(start).toMatchObject({
      message: {
        usage: { input_tokens: 15, cache_read_input_tokens: 10, cache_creation_input_tokens: 5 },
      },
    });
  });

  it('has the requested model if the upstream names none', () => {
    const [start] = eventsOf(framesOf([{ ...begun, model: null }, ...says(0, 'a')]));
    expect(start).toMatchObject({ message: { model: 'some-model' } });
  });

  it.each([
    ['stop', {}, 'end_turn', null],
    ['stop', { stopSequence: 'END' }, 'stop_sequence', 'END'],
    ['length', {}, 'max_tokens', null],
    ['length', { raw: 'model_context_window_exceeded' }, 'model_context_window_exceeded', null],
    ['tool-calls', {}, 'tool_use', null],
    ['refusal', {}, 'refusal', null],
    ['pause', {}, 'pause_turn', null],
    ['other', {}, 'end_turn', null],
  ] as const)(
    'has for the reason %s %j the stop_reason %s',
    (reason, more, stop_reason, stop_sequence) => {
      const events = [begun, ...says(0, 'a'), finished(reason, more)];
      expect(eventsOf(framesOf(events)).at(-2)).toMatchObject({
        delta: { stop_reason, stop_sequence },
      });
      expect(folded(events)).toMatchObject({ stop_reason, stop_sequence });
    },
  );

  it('has a refusal in stop_details and as a text, which is what most clients show', () => {
    const events: TextEvent[] = [
      begun,
      { type: 'refusal-start', block: 0 },
      { type: 'refusal-delta', block: 0, text: 'No.' },
      { type: 'refusal-end', block: 0 },
      finished(),
    ];
    expect(folded(events)).toMatchObject({
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: null, explanation: 'No.' },
      content: [{ type: 'text', text: 'No.' }],
    });
    const deltas = eventsOf(framesOf(events)).filter(({ type }) => type === 'content_block_delta');
    expect(deltas).toMatchObject([{ delta: { type: 'text_delta', text: 'No.' } }]);
  });

  it('keeps empty thinking with a signature and drops empty texts', () => {
    const events = [
      begun,
      ...thinks(0, own({ signature: 's' })),
      ...thinks(1, null),
      ...says(2),
      finished(),
    ];
    expect(folded(events)).toMatchObject({
      content: [{ type: 'thinking', thinking: '', signature: 's' }],
    });
    expect(
      eventsOf(framesOf(events)).filter(({ type }) => type === 'content_block_start'),
    ).toHaveLength(1);
  });

  it('wraps signatures of other formats and invents none', () => {
    const sent = eventsOf(
      framesOf([begun, ...thinks(0, foreign, 'a'), ...thinks(1, null, 'b'), finished()]),
    );
    const signed = sent.flatMap(({ delta }) => (delta as Json | undefined)?.['signature'] ?? []);
    expect(signed).toHaveLength(1);
    expect(unwrapSignature(signed[0] as string)).toEqual(foreign);
  });

  it('has one empty delta for a call without arguments', () => {
    const sent = eventsOf(framesOf([begun, ...calls(0), finished('tool-calls')]));
    expect(sent.filter(({ type }) => type === 'content_block_delta')).toEqual([
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: '' },
      },
    ]);
    expect(folded([begun, ...calls(0), finished('tool-calls')])).toMatchObject({
      content: [{ input: {} }],
    });
  });
});

describe('a messages stream that fails', () => {
  const failure = new Failure('rate_limit', 'Slow down', { originalCode: 'slow', param: 'model' });

  it('ends with an error and without message_stop', () => {
    const [, , ...rest] = eventsOf(
      framesOf([
        begun,
        ...says(0, 'a').slice(0, 2),
        { type: 'error', failure },
        ...says(1, 'b'),
        finished(),
      ]),
    );
    expect(rest).toEqual([
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
      {
        type: 'error',
        error: { type: 'rate_limit', message: 'Slow down', param: 'model', code: 'slow' },
      },
    ]);
    expect(() => folded([begun, { type: 'error', failure }])).toThrow(failure);
    expect(() => folded([begun])).toThrow('before it was whole');
  });

  it('makes the official client throw', async () => {
    const sent = framesOf([begun, ...says(0, 'a'), { type: 'error', failure }]);
    await expect(accumulated(sent)).rejects.toThrow('Slow down');
  });

  it('fails for a native block of another format', () => {
    const native = { type: 'native', block: 0, dialect: 'chat', value: {} } as const;
    const events = eventsOf(framesOf([begun, native, finished()]));
    expect(events.at(-1)).toMatchObject({
      error: { type: 'billable_error', code: 'untranslatable_output' },
    });
    expect(() => folded([begun, native, finished()])).toThrow(Failure);
  });

  it.each(['[1]', '"text"', '{"a":'])(
    'fails for a call whose arguments are %s, not an object',
    (json) => {
      expect(() => folded([begun, ...calls(0, json), finished('tool-calls')])).toThrow(
        'not a JSON object',
      );
    },
  );
});

const words = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.constantFrom('\ud800', '\u2028', 'data: x\n\n', '🌍'),
);
const object = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value));
const signatures = fc.constantFrom(null, foreign, own({ signature: 'signed' }));

function cut(text: string, at: number): string[] {
  return [text.slice(0, at), text.slice(at)].filter((piece) => piece !== '');
}

const answer = fc
  .array(
    fc.oneof(
      fc.tuple(words, fc.nat(5)).map(
        ([text, at]) =>
          (block: number) =>
            says(block, ...cut(text, at)),
      ),
      fc.tuple(words, fc.nat(5), signatures).map(
        ([text, at, signature]) =>
          (block: number) =>
            thinks(block, signature, ...cut(text, at)),
      ),
      fc.tuple(object, fc.nat(9)).map(
        ([json, at]) =>
          (block: number) =>
            calls(block, ...cut(json, at)),
      ),
      fc.constant((block: number) => calls(block)),
      fc.constant((block: number) => thinks(block, own({ data: 'hidden' }))),
      fc.constant((block: number): TextEvent[] => [
        {
          type: 'native',
          block,
          dialect: 'messages',
          value: { type: 'compaction', content: 'all' },
        },
      ]),
      fc.constant((block: number): TextEvent[] => [
        { type: 'text-start', block },
        { type: 'text-delta', block, text: 'as given' },
        {
          type: 'citation',
          block,
          citation: { url: 'https://a.b', title: null, start: null, end: null, quote: 'a' },
        },
        { type: 'text-end', block },
      ]),
    ),
    { maxLength: 6 },
  )
  .map((blocks): TextEvent[] => [
    begun,
    ...blocks.flatMap((make, block) => make(block)),
    finished(),
  ]);

describe('an arbitrary messages answer', () => {
  it('folds to the same message as with the official client', async () => {
    await fc.assert(
      fc.asyncProperty(answer, async (events) => {
        const { id: _, ...whole } = JSON.parse(JSON.stringify(folded(events))) as Json;
        const { id: __, parsed_output, ...streamed } = await accumulated(framesOf(events));
        // The official client takes the lifetimes of cache writes from message_start alone.
        const { cache_creation, ...usage } = whole['usage'] as Json;
        expect(streamed).toEqual({ ...whole, usage });
        expect(parsed_output ?? null).toBeNull();
      }),
      { numRuns: 60 },
    );
  });

  it('decodes to the events that were encoded', () => {
    fc.assert(
      fc.property(answer, (events) => {
        // Ids are new for each answer, and a stream has its usage only at the end.
        const comparable = (all: readonly TextEvent[]) =>
          joined(all).filter(
            (event) =>
              event.type !== 'start' &&
              event.type !== 'usage' &&
              // No delta equals an empty one.
              !(event.type === 'tool-delta' && event.json === '{}'),
          );
        const streamed = comparable(decoded(eventsOf(framesOf(events))));
        expect(comparable(decodedWhole(folded(events)))).toEqual(streamed);
      }),
    );
  });

  it('has blocks one after another', () => {
    fc.assert(
      fc.property(answer, (events) => {
        let open: unknown = null;
        let next = 0;
        for (const { type, index } of eventsOf(framesOf(events))) {
          if (type === 'content_block_start') {
            expect([open, index]).toEqual([null, next]);
            open = index;
            next += 1;
          } else if (type === 'content_block_delta') expect(index).toBe(open);
          else if (type === 'content_block_stop') {
            expect(index).toBe(open);
            open = null;
          } else expect(open).toBeNull();
        }
      }),
    );
  });
});

describe('observation of a passed-on messages stream', () => {
  it('joins the usage of start and end', () => {
    const first = messages.observe({
      type: 'message_start',
      message: { usage: { input_tokens: 5, cache_read_input_tokens: 10, output_tokens: 1 } },
    });
    expect(first.usage).toMatchObject({ input: 15, cachedInput: 10, output: 1 });
    const last = messages.observe(
      { type: 'message_delta', usage: { output_tokens: 7 } },
      first.usage,
    );
    expect(last).toEqual({
      usage: { input: 15, cachedInput: 10, cacheWrite: 0, output: 7, reasoning: null },
    });
  });

  it('has markers for the end and for failures', () => {
    const events = [
      { type: 'message_stop' },
      { type: 'error', error: { type: 'api_error', message: 'a' } },
    ];
    for (const event of events) {
      expect(messages.markers.some((marker) => JSON.stringify(event).includes(marker))).toBe(true);
    }
    expect(messages.observe(events[0]!)).toEqual({ terminal: true });
    expect(messages.observe(events[1]!).failure).toBeInstanceOf(Failure);
    expect(messages.observe({ type: 'ping' })).toEqual({});
    for (const odd of [{ type: 'message_start' }, { type: 'message_delta', usage: 'much' }, {}]) {
      expect(messages.observe(odd)).toEqual({});
    }
  });

  it('leaves an answer that is not streamed unchanged', () => {
    const body = { usage: { input_tokens: 5, cache_creation_input_tokens: 3, output_tokens: 1 } };
    const seen = messages.observeAnswer(body);
    expect(seen.body).toBe(body);
    expect(seen.usage).toMatchObject({ input: 8, cacheWrite: 3 });
    expect(messages.observeAnswer({}).usage).toBeNull();
  });
});
