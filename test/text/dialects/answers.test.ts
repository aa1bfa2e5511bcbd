import '../../../src/text/built-in-dialects.ts';
import { createServer } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import type { Json } from '../../../src/text/canonical/canonical.ts';
import type { TextEvent } from '../../../src/text/canonical/events.ts';
import { callIdFromWire } from '../../../src/text/dialects/calls.ts';
import { dialectNamed } from '../../../src/text/dialects/registry.ts';
import { sharedServer } from '../../fixtures/server.ts';
import {
  ANSWERS,
  calls,
  dataOf,
  decoded,
  decodedWhole,
  finished,
  folded,
  framesOf,
  SIGNATURE,
  START,
  says,
  thinks,
} from './answer-events.ts';

const DIALECTS = ['chat', 'responses', 'messages', 'gemini'];

/** A block that only one format has. */
const NATIVE: Readonly<Record<string, Json>> = {
  chat: { images: [{ type: 'image_url' }] },
  responses: { type: 'web_search_call', id: 'ws_1', status: 'completed' },
  messages: { type: 'compaction', content: 'all' },
  gemini: { executableCode: { code: '1' } },
};

/** What an answer says. Formats differ in how they split it into blocks. */
function contentOf(events: readonly TextEvent[], { logprobs = true, refused = false } = {}) {
  const content = {
    text: '',
    reasoning: '',
    refusal: '',
    calls: [] as { id: string; name: string; json: string }[],
    cited: [] as string[],
    logprobs: [] as unknown[],
    native: [] as unknown[],
    end: {},
  };
  for (const event of events) {
    if (event.type === 'text-delta') {
      content.text += event.text;
      if (logprobs) content.logprobs.push(...(event.logprobs ?? []));
    }
    if (event.type === 'reasoning-delta') content.reasoning += event.text;
    if (event.type === 'refusal-delta') content.refusal += event.text;
    if (event.type === 'tool-start') {
      content.calls.push({ id: callIdFromWire(event.id), name: event.name, json: '' });
    }
    if (event.type === 'tool-delta') content.calls.at(-1)!.json += event.json;
    if (event.type === 'citation') content.cited.push(event.citation.url);
    if (event.type === 'native') content.native.push(event.value);
    if (event.type === 'finish') content.end = { reason: event.reason, usage: event.usage };
    if (event.type === 'error') throw event.failure;
  }
  // Clients of messages are shown a refusal as a text too.
  if (refused) content.text = '';
  const parsed = content.calls.map(({ json, ...call }) => ({
    ...call,
    input: JSON.parse(json || '{}'),
  }));
  return { ...content, calls: parsed };
}

let frames = '';
const url = sharedServer(
  createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames);
    });
  }),
);

/** The answer that the official client of a format folds from frames. */
const CLIENTS: Readonly<Record<string, () => Promise<unknown>>> = {
  chat: () =>
    new OpenAI({ apiKey: 'k', baseURL: url(), maxRetries: 0 }).chat.completions
      .stream({ model: 'm', messages: [{ role: 'user', content: 'x' }] })
      .finalChatCompletion(),
  responses: () =>
    new OpenAI({ apiKey: 'k', baseURL: url(), maxRetries: 0 }).responses
      .stream({ model: 'm', input: 'hi' })
      .finalResponse(),
  messages: () =>
    new Anthropic({ apiKey: 'k', baseURL: url(), maxRetries: 0 }).messages
      .stream({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] })
      .finalMessage(),
};

describe.each(DIALECTS)('an answer in the format of %s', (dialect) => {
  const hasLogprobs = dialect === 'chat' || dialect === 'responses';
  it.each(Object.entries(ANSWERS))('is the same streamed and not: %s', (name, events) => {
    const refused = name === 'a refusal';
    const expected = contentOf(events, { logprobs: hasLogprobs, refused });
    const stream = decoded(dialect, dataOf(framesOf(dialect, events)));
    expect(contentOf(stream, { refused })).toEqual(expected);
    const whole = decodedWhole(dialect, folded(dialect, events));
    expect(contentOf(whole, { refused })).toEqual(expected);
  });

  it('has native blocks of its own unchanged', () => {
    const native: TextEvent[] = [
      START,
      { type: 'native', block: 0, dialect, value: NATIVE[dialect] },
      ...says(1, 'x'),
      finished(),
    ];
    const expected = contentOf(native);
    const own = dataOf(framesOf(dialect, native));
    expect(contentOf(decoded(dialect, own))).toEqual(expected);
    expect(contentOf(decodedWhole(dialect, folded(dialect, native)))).toEqual(expected);
  });

  it('has the requested model if the upstream names none', () => {
    const events = [{ type: 'start', id: null, model: null }, ...says(0, 'x'), finished()] as const;
    expect(framesOf(dialect, events)).toContain('"some-model"');
    expect(JSON.stringify(folded(dialect, events))).toContain('"some-model"');
  });

  it('fails with the failure of the upstream', () => {
    const failure = new Failure('rate_limit', 'Too many\nrequests', { originalCode: 'slow' });
    const events: TextEvent[] = [START, ...says(0, 'x').slice(0, 2), { type: 'error', failure }];
    const failed = decoded(dialect, dataOf(framesOf(dialect, [...events, finished()]))).at(-1)!;
    expect(failed).toMatchObject({ type: 'error', failure: { message: expect.any(String) } });
    expect(() => folded(dialect, events)).toThrow(failure);
  });

  const words = fc.array(fc.string({ minLength: 1, unit: 'binary' }), { minLength: 1 });
  const json = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value));
  const block = fc.oneof(
    fc.tuple(fc.constant('text' as const), words),
    fc.tuple(fc.constant('reasoning' as const), words),
    fc.tuple(
      fc.constant('tool' as const),
      fc.tuple(json, fc.nat(9)).map(([text, at]) => [text.slice(0, at), text.slice(at)]),
    ),
  );
  it('is the same for any blocks and any split into deltas', () => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 6 }), (blocks) => {
        const events = [
          START,
          ...blocks.flatMap(([kind, pieces], number) => {
            if (kind === 'text') return says(number, ...pieces);
            if (kind === 'tool') return calls(number, `id${number}`, ...pieces);
            return thinks(number, SIGNATURE, ...pieces);
          }),
          finished(blocks.some(([kind]) => kind === 'tool') ? 'tool-calls' : 'stop'),
        ];
        const expected = contentOf(events);
        expect(contentOf(decoded(dialect, dataOf(framesOf(dialect, events))))).toEqual(expected);
        expect(contentOf(decodedWhole(dialect, folded(dialect, events)))).toEqual(expected);
      }),
    );
  });
});

describe.each(Object.entries(CLIENTS))('the official client of %s', (dialect, ask) => {
  it.each(Object.entries(ANSWERS))(
    'folds a stream to the same answer: %s',
    async (name, events) => {
      frames = framesOf(dialect, events);
      const refused = name === 'a refusal';
      const content = (of: unknown) => {
        const { reasoning, ...rest } = contentOf(decodedWhole(dialect, of), { refused });
        // The client keeps only the last piece of fields that it does not know.
        return dialect === 'chat' ? { ...rest, cited: [] } : { ...rest, reasoning };
      };
      expect(content(JSON.parse(JSON.stringify(await ask())))).toEqual(
        content(folded(dialect, events)),
      );
    },
  );

  it('throws for a stream that failed', async () => {
    const failure = new Failure('service_error', 'It broke');
    frames = framesOf(dialect, [START, ...says(0, 'x').slice(0, 2), { type: 'error', failure }]);
    await expect(ask()).rejects.toThrow('It broke');
  });
});

/** The parts of an answer that a client sends back. */
const SENT_BACK: Readonly<Record<string, (answer: Json) => Json>> = {
  chat: ({ choices }) => ({ messages: [(choices as Json[])[0]!['message']] }),
  responses: ({ output }) => ({ input: output }),
  messages: ({ content }) => ({ max_tokens: 1, messages: [{ role: 'assistant', content }] }),
  gemini: ({ candidates }) => ({ contents: [(candidates as Json[])[0]!['content']] }),
};

it.each(DIALECTS)(
  'a client of %s sends back reasoning with its signature, and calls',
  (dialect) => {
    const answer = folded(dialect, ANSWERS['reasoning, a call, reasoning']!);
    // The format of the signature needs no name of the provider.
    const { provider, ...bare } = SIGNATURE;
    const signature = dialect === 'messages' ? bare : { ...bare, provider };
    const body = { model: 'm', ...SENT_BACK[dialect]!(answer) };
    const { turns } = dialectNamed(dialect).decodeRequest(body, { model: 'm', stream: false });
    expect(turns.flatMap(({ parts }) => parts)).toMatchObject([
      { type: 'reasoning', text: 'First.', signature },
      { type: 'tool-call', id: 'a' },
      { type: 'reasoning', text: 'Then.', signature },
      { type: 'tool-call', id: 'b' },
    ]);
  },
);
