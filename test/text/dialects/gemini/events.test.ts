import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import type { TextEvent } from '../../../../src/text/canonical/events.ts';
import { gemini } from '../../../../src/text/dialects/gemini/gemini.ts';
import '../../../../src/text/built-in-dialects.ts';
import { runs } from '../../../runs.ts';
import { textRequest } from '../../request.ts';
import {
  calls,
  dataOf,
  decoded as decodedFrom,
  finished,
  framesOf,
  START,
  says,
  thinks,
} from '../answer-events.ts';

const decoded = (...responses: readonly Json[]) => decodedFrom('gemini', responses);

const response = (parts: readonly Json[], candidate: Json = {}, more: Json = {}): Json => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...candidate }],
  ...more,
});

const USAGE = {
  promptTokenCount: 20,
  toolUsePromptTokenCount: 3,
  cachedContentTokenCount: 5,
  candidatesTokenCount: 8,
  thoughtsTokenCount: 3,
};
const END = response([{ text: '' }], { finishReason: 'STOP' }, { usageMetadata: USAGE });

describe('the decoder of gemini', () => {
  it('counts thoughts as output, cached tokens and results of tools as input', () => {
    expect(decoded(END).at(-1)).toMatchObject({
      type: 'finish',
      usage: { input: 23, output: 11, cachedInput: 5, reasoning: 3 },
    });
  });

  it('reads usage that comes after the finish reason', () => {
    const [first, last] = [
      response([{ text: 'Yes.' }], { finishReason: 'STOP' }),
      { usageMetadata: USAGE },
    ];
    expect(decoded(first, last).at(-1)).toMatchObject({ type: 'finish', usage: { output: 11 } });
    expect(decoded(first).at(-1)).toMatchObject({ type: 'finish', reason: 'stop', usage: null });
  });

  it('reads the signature of a text from an empty part after it', () => {
    const events = decoded(
      response([{ text: 'Yes' }]),
      response([{ text: '', thoughtSignature: 'c2ln' }]),
      END,
    );
    expect(events.map(({ type }) => type)).toEqual([
      'start',
      'text-start',
      'text-delta',
      'usage',
      'text-end',
      'reasoning-start',
      'reasoning-end',
      'finish',
    ]);
    expect(events[6]).toMatchObject({
      signature: { provider: 'acme', value: { thoughtSignature: 'c2ln', part: 'text' } },
    });
  });

  it('reads web pages and recited sources as citations, whose positions Google counts in bytes', () => {
    const text = 'Łódź lies in Poland.';
    const groundingMetadata = {
      groundingChunks: [{ web: { uri: 'https://a.example/', title: 'A' } }, { maps: {} }],
      groundingSupports: [
        { segment: { startIndex: 0, endIndex: 7, text: 'Łódź' }, groundingChunkIndices: [0, 1, 9] },
      ],
    };
    const citationMetadata = { citationSources: [{ uri: 'https://b.example/', endIndex: 7 }] };
    const events = decoded(
      response([{ text }]),
      response([{ text: '' }], { groundingMetadata, citationMetadata }),
      END,
    );
    const citations = events.flatMap((event) => (event.type === 'citation' ? event.citation : []));
    expect(citations).toEqual([
      { url: 'https://a.example/', title: 'A', start: 0, end: 4, quote: 'Łódź' },
      { url: 'https://b.example/', title: null, start: 0, end: 4, quote: null },
    ]);
  });

  it('reads log probabilities', () => {
    const logprobsResult = {
      chosenCandidates: [{ token: 'Yes', logProbability: -0.1 }],
      topCandidates: [{ candidates: [{ token: 'No', logProbability: -2 }] }],
    };
    const events = decoded(response([{ text: 'Yes' }], { logprobsResult }), END);
    expect(events.find(({ type }) => type === 'text-delta')).toMatchObject({
      logprobs: [
        { token: 'Yes', logprob: -0.1, bytes: [89, 101, 115], top_logprobs: [{ token: 'No' }] },
      ],
    });
  });

  it('keeps parts that only Google has for clients of gemini', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thoughtSignature: 'c2ln' };
    expect(decoded(response([image]), END)[1]).toEqual({
      type: 'native',
      block: 0,
      dialect: 'gemini',
      value: image,
    });
  });

  it('fails for any JSON without throwing, and ends once', () => {
    const part = fc.oneof(
      fc.record({ text: fc.anything(), thought: fc.anything() }, { requiredKeys: [] }),
      fc.record({ functionCall: fc.anything(), thoughtSignature: fc.string() }),
      fc.anything(),
    );
    const candidate = fc.record(
      {
        content: fc.oneof(fc.record({ parts: fc.array(part) }), fc.anything()),
        finishReason: fc.oneof(fc.constantFrom('STOP', 'SAFETY', 'OTHER'), fc.anything()),
        groundingMetadata: fc.anything(),
        logprobsResult: fc.anything(),
      },
      { requiredKeys: [] },
    );
    const event = fc.oneof(
      fc.record({ candidates: fc.array(candidate), usageMetadata: fc.anything() }),
      fc.anything(),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 4 }), (responses) => {
        const json = responses.map((one) => JSON.stringify(one) ?? 'undefined');
        const ends = decodedFrom('gemini', json).filter(
          ({ type }) => type === 'finish' || type === 'error',
        );
        expect(ends).toHaveLength(1);
      }),
      { numRuns: runs(300) },
    );
  });
});

const block = fc.oneof(
  fc.record({ text: fc.string({ minLength: 1 }) }),
  fc.record({ reasoning: fc.string(), signature: fc.stringMatching(/^[A-Za-z0-9]{4,12}$/) }),
  fc.record({
    call: fc.stringMatching(/^[a-z][a-z_]{0,9}$/),
    args: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.jsonValue()),
  }),
);
type Block = typeof block extends fc.Arbitrary<infer One> ? One : never;

function eventsOf(blocks: readonly Block[]): TextEvent[] {
  const inner = blocks.flatMap((one, number): TextEvent[] => {
    if ('text' in one) return says(number, one.text);
    if ('call' in one) {
      const [begin, ...rest] = calls(number, `call_${number}`, JSON.stringify(one.args));
      return [{ ...begin, name: one.call } as TextEvent, ...rest];
    }
    const value = { signature: one.signature };
    return thinks(number, { dialect: 'messages', provider: 'anthropic', value }, one.reasoning);
  });
  return [START, ...inner, finished('stop', { usage: null })];
}

/** What a client sends back of an answer: texts, and calls and reasoning in order. */
function keptOf(contents: readonly Json[]): unknown[] {
  const { turns } = gemini.decodeRequest(
    { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }, ...contents] },
    { model: 'm', stream: false },
  );
  return turns[1]?.parts.map(({ path: _, ...part }) => part) ?? [];
}

it('more reasoning than output is all of the output', () => {
  const usage = { input: 10, output: 5, cachedInput: 0, cacheWrite: 0, reasoning: 8 };
  const frames = framesOf('gemini', [START, finished('stop', { usage })]);
  expect(frames).toMatch(/"candidatesTokenCount":0,.*"thoughtsTokenCount":5\b/);
});

it('an answer that a client of gemini sends back is the answer, streamed or not', () => {
  fc.assert(
    fc.property(fc.array(block, { maxLength: 5 }), (blocks) => {
      const events = eventsOf(blocks);
      const expected: Json[] = [];
      for (const [index, one] of blocks.entries()) {
        const last = expected.at(-1);
        if ('call' in one) {
          const args = JSON.stringify(one.args);
          expected.push({
            type: 'tool-call',
            id: `call_${index}`,
            name: one.call,
            arguments: args,
          });
        } else if ('reasoning' in one) {
          const value = { signature: one.signature };
          const signature = { dialect: 'messages', provider: 'anthropic', value };
          expected.push({ type: 'reasoning', text: one.reasoning, signature });
        } else if (last?.['type'] === 'text') {
          expected[expected.length - 1] = { ...last, text: `${last['text']}${one.text}` };
        } else expected.push({ type: 'text', text: one.text });
      }
      const encoding = { request: textRequest({ dialect: 'gemini' }), created: 0 };
      const { candidates } = gemini.foldEvents(encoding, [events]);
      expect(keptOf([(candidates as Json[])[0]!['content'] as Json])).toEqual(expected);
      const contents = dataOf(framesOf('gemini', events, encoding)).map(
        (data) => JSON.parse(data).candidates[0].content,
      );
      expect(keptOf(contents)).toEqual(expected);
    }),
    { numRuns: runs(200) },
  );
});
