import '../../../../src/text/built-in-dialects.ts';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import { runs } from '../../../runs.ts';
import { blocksOf, failureOf, finishOf } from '../answer-events.ts';
import { chunk, decode, decodeWhole, stream } from './conversation.ts';

const call = (index: number, id: string, name: string, args = '') => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }],
});
const piece = (index: number, args: string) => ({
  tool_calls: [{ index, function: { arguments: args } }],
});
const usage = (more: Json = {}) => ({
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  ...more,
});

test('a chat stream of text is decoded', () => {
  const events = decode([
    ...stream([{ content: 'Hel' }, { content: 'lo' }]).slice(0, -1),
    { ...chunk(null), choices: [], usage: usage() },
    '[DONE]',
  ]);
  expect(events).toEqual([
    { type: 'start', id: 'chatcmpl-1', model: 'upstream-model' },
    { type: 'text-start', block: 0 },
    { type: 'text-delta', block: 0, text: 'Hel' },
    { type: 'text-delta', block: 0, text: 'lo' },
    { type: 'text-end', block: 0 },
    {
      type: 'finish',
      reason: 'stop',
      raw: 'stop',
      stopSequence: null,
      usage: { input: 10, output: 5, cachedInput: 0, cacheWrite: 0, reasoning: null },
    },
  ]);
});

describe('the start of a chat stream', () => {
  it('is delayed by a first chunk with empty choices and id', () => {
    const filters = {
      id: '',
      object: '',
      model: '',
      created: 0,
      choices: [],
      prompt_filter_results: [],
    };
    const events = decode([filters, ...stream([{ content: 'x' }])]);
    expect(events[0]).toEqual({ type: 'start', id: 'chatcmpl-1', model: 'upstream-model' });
    expect(blocksOf(events)).toEqual([{ type: 'text', text: 'x' }]);
  });

  it('needs no object, id, model or role', () => {
    const events = decode([{ choices: [{ delta: { content: 'x' } }] }, '[DONE]']);
    expect(events[0]).toEqual({ type: 'start', id: null, model: null });
    expect(finishOf(events)).toMatchObject({ reason: 'stop', raw: null });
  });
});

describe('usage of a chat stream', () => {
  const usageAfter = (...reports: unknown[]) => {
    const chunks = reports.map((one) => ({ ...chunk(null), choices: [], usage: one }));
    return finishOf(decode([chunk({ content: 'x' }, 'stop'), ...chunks, '[DONE]'])).usage;
  };
  const plain = { input: 10, output: 5, cachedInput: 0, cacheWrite: 0, reasoning: null };

  it.each([
    ['on a chunk without choices', usage(), plain],
    [
      'with details',
      usage({
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
        completion_tokens_details: { reasoning_tokens: 3 },
      }),
      { input: 10, output: 5, cachedInput: 4, cacheWrite: 2, reasoning: 3 },
    ],
    [
      'with empty details',
      usage({ prompt_tokens_details: null, completion_tokens_details: {} }),
      plain,
    ],
    ['without the total', { prompt_tokens: 10, completion_tokens: 5 }, plain],
    ['without the output', { prompt_tokens: 10, total_tokens: 15 }, plain],
    ['without the input', { completion_tokens: 5, total_tokens: 15 }, plain],
    ['with nulls', usage({ completion_tokens: null }), plain],
    ['under the newer names', { input_tokens: 10, output_tokens: 5 }, plain],
    [
      'with cache fields of DeepSeek',
      usage({ prompt_cache_hit_tokens: 4 }),
      { ...plain, cachedInput: 4 },
    ],
    ['with reasoning beside the output', usage({ completion_tokens: 2 }), plain],
    ['with nothing in it', {}, null],
    ['null', null, null],
    ['no object', 'many', null],
    [
      'not to be believed',
      { prompt_tokens: -1, completion_tokens: 1e300, total_tokens: 'x' },
      null,
    ],
  ])('%s', (_, reported, expected) => {
    expect(usageAfter(reported)).toEqual(expected);
  });

  it('counts repeated usage once and joins parts', () => {
    expect(usageAfter(usage(), usage())).toEqual(plain);
    expect(usageAfter({ prompt_tokens: 10 }, { completion_tokens: 5 })).toEqual(plain);
  });

  it('is read from the finish chunk', () => {
    const events = decode([
      chunk({ content: 'x' }),
      chunk({}, 'stop', { usage: usage() }),
      '[DONE]',
    ]);
    expect(finishOf(events).usage).toEqual(plain);
  });

  it('is emitted before the end of the stream', () => {
    const events = decode([chunk({ content: 'x' }, null, { usage: usage() }), chunk({}, 'stop')]);
    expect(events).toContainEqual({ type: 'usage', usage: plain });
  });
});

describe('the end of a chat stream', () => {
  it('is complete with a finish_reason and without [DONE]', () => {
    expect(finishOf(decode([chunk({ content: 'x' }, 'stop')])).reason).toBe('stop');
  });

  it('is complete with [DONE] and without a finish_reason', () => {
    expect(finishOf(decode([chunk({ content: 'x' }), '[DONE]']))).toMatchObject({ raw: null });
  });

  it.each([
    ['after some text', [chunk({ content: 'x' })]],
    ['before anything', []],
    ['with [DONE] alone', ['[DONE]']],
    ['within the arguments of a call', [chunk(call(0, 'a', 'f', '{"x'))]],
  ])('is an error without finish_reason and [DONE]: %s', (_, chunks) => {
    expect(failureOf(decode(chunks))).toMatchObject({
      type: 'network_error',
      code: 'stream_truncated',
    });
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['model_length', 'length'],
    ['content_filter', 'refusal'],
    ['end_turn', 'stop'],
    ['tool_calls', 'stop'],
    ['constructor', 'other'],
    ['whatever', 'other'],
  ])('finish_reason %s without calls is %s', (raw, reason) => {
    expect(finishOf(decode(stream([{ content: 'x' }], raw)))).toMatchObject({ reason, raw });
  });

  it.each([
    ['stop', 'tool-calls'],
    ['tool_calls', 'tool-calls'],
    ['function_call', 'tool-calls'],
    ['whatever', 'tool-calls'],
    ['length', 'length'],
    ['content_filter', 'refusal'],
  ])('finish_reason %s after a call is %s', (raw, reason) => {
    expect(finishOf(decode(stream([call(0, 'a', 'f', '{}')], raw))).reason).toBe(reason);
  });

  it('is the last event', () => {
    const events = decode([
      chunk({ content: 'x' }, 'stop'),
      '[DONE]',
      chunk({ content: 'y' }),
      '[DONE]',
    ]);
    expect(blocksOf(events)).toEqual([{ type: 'text', text: 'x' }]);
  });
});

describe('failures of a chat stream', () => {
  it.each([
    ['an error', { error: { message: 'Overloaded', type: 'server_error' } }],
    ['an error as text', { error: 'Overloaded' }],
    ['an error beside choices', { ...chunk({ content: 'x' }), error: { message: 'No' } }],
    ['an error in a choice', { choices: [{ index: 0, delta: {}, error: { code: 502 } }] }],
    ['an error that is the whole', { object: 'error', message: 'No', code: 400 }],
    ['a finish reason that says so', chunk({}, 'error')],
    ['no JSON', '{"id": "chatcmpl-1", "choi'],
    ['no object', '5'],
    ['null', 'null'],
  ])('%s', (_, event) => {
    const events = decode([
      chunk({ content: 'x' }),
      event,
      chunk({ content: 'y' }, 'stop'),
      '[DONE]',
    ]);
    failureOf(events);
    expect(events.filter(({ type }) => type === 'text-delta')).toHaveLength(1);
  });

  it('a null error is ignored', () => {
    finishOf(decode([chunk({ content: 'x' }, 'stop', { error: null })]));
  });

  it.each<[unknown]>([
    [{ choices: null }],
    [{ choices: {} }],
    [{ choices: [null, 5, 'x', [], { delta: 7, finish_reason: {} }] }],
    [{ choices: [{ index: '0', delta: { content: 'z' } }] }],
    [
      chunk({
        content: { a: 1 },
        refusal: 3,
        tool_calls: {},
        annotations: 1,
        audio: 'x',
        images: 5,
      }),
    ],
    [
      chunk({
        content: [null, 5, [], 'y', {}],
        reasoning_content: {},
        reasoning_details: [null, 4],
      }),
    ],
    [chunk({ tool_calls: [null, 5] })],
    [chunk(null, null, { usage: [] })],
    [{ type: 'ping' }],
    [[]],
  ])('a malformed chunk does not throw: %j', (odd) => {
    expect(() => blocksOf(decode([odd, chunk({ content: 'x' }, 'stop')]))).not.toThrow();
  });
});

describe('text of a chat stream', () => {
  it('has no block for empty text', () => {
    const events = decode(stream([{ content: '' }, { content: null }, call(0, 'a', 'f', '{}')]));
    expect(blocksOf(events).map(({ type }) => type)).toEqual(['tool']);
  });

  it('has citations at their position in the block', () => {
    const cited = {
      type: 'url_citation',
      url_citation: { url: 'https://a', title: 'A', start_index: 6, end_index: 9 },
    };
    const events = decode(
      stream([
        { content: 'first ' },
        call(0, 'a', 'f', '{}'),
        { content: 'and' },
        { annotations: [cited] },
      ]),
    );
    expect(blocksOf(events)[2]).toEqual({
      type: 'text',
      text: 'and',
      more: { url: 'https://a', title: 'A', start: 0, end: 3, quote: null },
    });
  });

  it('has log probabilities', () => {
    const tokens = [{ token: 'x', logprob: -1, bytes: null, top_logprobs: [] }];
    const first = chunk({ content: 'x' });
    const measured = {
      ...first,
      choices: [{ index: 0, delta: { content: 'x' }, logprobs: { content: tokens } }],
    };
    expect(decode([measured, chunk({}, 'stop')])).toContainEqual({
      type: 'text-delta',
      block: 0,
      text: 'x',
      logprobs: tokens,
    });
  });

  it('ignores choices after the first', () => {
    const second = {
      ...chunk({}),
      choices: [{ index: 1, delta: { content: 'no' }, finish_reason: 'length' }],
    };
    const events = decode([chunk({ content: 'yes' }), second, chunk({}, 'stop')]);
    expect(blocksOf(events)).toEqual([{ type: 'text', text: 'yes' }]);
    expect(finishOf(events).reason).toBe('stop');
  });
});

const text = (words: string) => ({ type: 'text', text: words });
const thought = (words: string, more: object = {}) => ({ type: 'reasoning', text: words, ...more });
const tool = (id: string, json: string, name = 'f') => ({
  type: 'tool',
  text: json,
  more: { id, name },
});
const f = (json: unknown) => ({ name: 'f', arguments: json });
const calling = (...calls: object[]) => ({ tool_calls: calls });
const detail = (more: Json, type = 'reasoning.text') => ({ type, index: 0, ...more });
const details = (...list: object[]) => ({ reasoning_details: list });
const signed = (...list: object[]) => {
  const value = { reasoning_details: list };
  return { more: { dialect: 'chat', provider: 'acme', value } };
};

describe('blocks of a chat stream', () => {
  it.each<[string, unknown[], unknown[]]>([
    [
      'content parts, as Mistral sends them',
      [
        { content: [{ type: 'thinking', thinking: [text('Hm.')] }] },
        { content: [text('Hel'), text('lo')] },
      ],
      [thought('Hm.'), text('Hello')],
    ],
    [
      'a refusal',
      [{ refusal: 'I ' }, { refusal: 'will not.' }],
      [{ type: 'refusal', text: 'I will not.' }],
    ],
    [
      'images and audio',
      [
        { content: 'Look:', images: [{ type: 'image_url' }] },
        { audio: { id: 'a', data: 'AA', transcript: 'He' } },
        { audio: { data: 'BB', transcript: 'y', expires_at: 5 } },
      ],
      [
        text('Look:'),
        { type: 'native', text: '{"images":[{"type":"image_url"}]}' },
        {
          type: 'native',
          text: '{"audio":{"id":"a","data":"AABB","transcript":"Hey","expires_at":5}}',
        },
      ],
    ],
    ...['reasoning_content', 'reasoning'].map((name): [string, unknown[], unknown[]] => [
      name,
      [{ [name]: 'H' }, { [name]: 'm', content: null }, { content: 'x' }],
      [thought('Hm'), text('x')],
    ]),
    ['reasoning in both fields', [{ reasoning_content: 'Hm', reasoning: 'Hm' }], [thought('Hm')]],
    [
      'reasoning_details for replay, without the text again',
      [
        { reasoning: 'H', ...details(detail({ text: 'H' })) },
        { reasoning: 'm', ...details(detail({ text: 'm' })) },
        details(detail({ signature: 'sig' })),
        { content: 'x' },
      ],
      [thought('Hm', signed(detail({ signature: 'sig' }))), text('x')],
    ],
    [
      'reasoning_details alone',
      [
        details(detail({ text: 'H' })),
        details(detail({ text: 'm' })),
        details(detail({ data: 'xyz', id: 'r' }, 'reasoning.encrypted')),
      ],
      [
        thought(
          'Hm',
          signed(detail({ text: 'Hm' }), detail({ data: 'xyz', id: 'r' }, 'reasoning.encrypted')),
        ),
      ],
    ],
    [
      'reasoning before and after calls',
      [
        { reasoning_content: 'a' },
        call(0, '1', 'f', '{}'),
        { reasoning_content: 'b' },
        call(1, '2', 'g', '{}'),
      ],
      [thought('a'), tool('1', '{}'), thought('b'), tool('2', '{}', 'g')],
    ],
    [
      'parallel calls',
      [call(0, 'a', 'f', '{"x":1}'), call(1, 'b', 'g'), piece(1, '{"y":2}')],
      [tool('a', '{"x":1}'), tool('b', '{"y":2}', 'g')],
    ],
    [
      'interleaved calls',
      [
        call(0, 'a', 'f', '{"x":"}'),
        call(1, 'b', 'g', '{"y'),
        piece(0, '\\"'),
        piece(1, '":2}'),
        piece(0, '"}'),
        { content: 'Done.' },
      ],
      [tool('a', '{"x":"}\\""}'), tool('b', '{"y":2}', 'g'), text('Done.')],
    ],
    ['no arguments at all', [call(0, 'a', 'f')], [tool('a', '')]],
    ['arguments of null', [call(0, 'a', 'f', 'null')], [tool('a', '')]],
    [
      'arguments at the end only',
      [call(0, 'a', 'f'), {}, piece(0, '{"x":1}')],
      [tool('a', '{"x":1}')],
    ],
    [
      'arguments that are an object',
      [calling({ index: 0, id: 'a', function: f({ x: 1 }) })],
      [tool('a', '{"x":1}')],
    ],
    [
      'all of it in every fragment',
      [call(0, 'a', 'f', '{"x"'), call(0, 'a', 'f', ':1}')],
      [tool('a', '{"x":1}')],
    ],
    [
      'a summary at the end',
      [call(0, 'a', 'f', '{"x"'), piece(0, ':1}'), call(0, 'a', 'f', '{"x":1}')],
      [tool('a', '{"x":1}')],
    ],
    [
      'no index',
      [calling({ id: 'a', function: f('{') }), calling({ function: { arguments: '}' } })],
      [tool('a', '{}')],
    ],
    [
      'no index, twice',
      [calling({ id: 'a', function: f('{}') }, { id: 'b', function: f('{}') })],
      [tool('a', '{}'), tool('b', '{}')],
    ],
    [
      'one index for all',
      [call(0, 'a', 'f', '{"x":1}'), call(0, 'b', 'f', '{"x":2}')],
      [tool('a', '{"x":1}'), tool('b', '{"x":2}')],
    ],
    [
      'the name after the id',
      [calling({ index: 0, id: 'a' }), calling({ index: 0, function: f('{}') })],
      [tool('a', '{}')],
    ],
    [
      'white space after the end',
      [call(0, 'a', 'f', '{}'), call(1, 'b', 'f', '{}'), piece(0, '\n')],
      [tool('a', '{}'), tool('b', '{}')],
    ],
  ])('%s', (_, deltas, blocks) => {
    expect(blocksOf(decode(stream(deltas)))).toEqual(blocks);
  });
});

describe('tool calls of a chat stream', () => {
  it('after text end with tool-calls despite finish_reason stop', () => {
    const events = decode(stream([{ content: 'Let me look.' }, call(0, 'a', 'f'), piece(0, '{}')]));
    expect(blocksOf(events)).toEqual([text('Let me look.'), tool('a', '{}')]);
    expect(finishOf(events)).toMatchObject({ reason: 'tool-calls', raw: 'stop' });
  });

  it('are emitted delta by delta', () => {
    const events = decode(stream([call(0, 'a', 'f'), piece(0, '{"x"'), piece(0, ':1}')]));
    expect(events.filter(({ type }) => type === 'tool-delta')).toHaveLength(2);
    expect(blocksOf(events)).toEqual([tool('a', '{"x":1}')]);
  });

  it('get a new id if theirs is missing or taken', () => {
    const events = decode(
      stream([
        calling({ index: 0, function: f('{}') }),
        calling({ index: 1, id: '', function: f('{}') }),
        call(2, 'a', 'f', '{}'),
        call(3, 'a', 'f', '{}'),
      ]),
    );
    const ids = blocksOf(events).map(({ more }) => (more as { id: string }).id);
    expect(new Set(ids).size).toBe(4);
    expect(ids.filter((id) => /^call_\w{24}$/.test(id))).toHaveLength(3);
    expect(ids[2]).toBe('a');
  });

  it('without ids at one index are separated by name', () => {
    const one = (json: string) => calling({ index: 0, function: f(json) });
    const events = decode(stream([one('{"x":1}'), one('{"x":2}')]));
    expect(blocksOf(events).map(({ text }) => text)).toEqual(['{"x":1}', '{"x":2}']);
  });

  it('that the limit cuts are emitted so far', () => {
    const events = decode(stream([call(0, 'a', 'f', '{"x')], 'length'));
    expect(blocksOf(events)).toEqual([tool('a', '{"x')]);
    expect(finishOf(events).reason).toBe('length');
  });

  it('are read from the legacy function_call', () => {
    const events = decode(
      stream(
        [{ function_call: { name: 'f', arguments: '' } }, { function_call: { arguments: '{}' } }],
        'function_call',
      ),
    );
    expect(blocksOf(events)).toMatchObject([{ type: 'tool', text: '{}', more: { name: 'f' } }]);
    expect(finishOf(events).reason).toBe('tool-calls');
  });

  it('of custom tools are native blocks', () => {
    const deltas = [
      calling({ index: 0, id: 'a', type: 'custom', custom: { name: 'sing', input: '' } }),
      calling({ index: 0, custom: { input: 'la' } }),
      calling({ index: 0, custom: { input: ' la' } }),
    ];
    const events = decode(stream(deltas, 'tool_calls'));
    expect(blocksOf(events)).toEqual([
      {
        type: 'native',
        text: '{"tool_calls":[{"id":"a","type":"custom","custom":{"name":"sing","input":"la la"}}]}',
      },
    ]);
    expect(finishOf(events).reason).toBe('tool-calls');
  });

  it('without a name are an error', () => {
    expect(failureOf(decode(stream([piece(0, '{}')])))).toMatchObject({
      code: 'invalid_upstream_answer',
    });
  });

  it('with arguments after their end are an error', () => {
    const events = decode(
      stream([call(0, 'a', 'f', '{}'), call(1, 'b', 'f'), piece(0, '{"more":1}')]),
    );
    expect(failureOf(events)).toMatchObject({ code: 'invalid_upstream_answer' });
  });
});

test('no event follows the error of a chunk', () => {
  const events = decode([
    chunk({
      tool_calls: [
        { id: 'b', function: { name: 'f', arguments: '{}' } },
        { id: 'c', function: { name: 'g', arguments: '{}' } },
        { id: 'b', function: { arguments: '{"more":1}' } },
        { id: 'd', function: { name: 'h', arguments: '{}' } },
      ],
    }),
  ]);
  failureOf(events);
  blocksOf(events);
});

it.each([[null], ['text'], [[]], [{}], [{ choices: [] }], [{ error: { message: 'No' } }]])(
  'a chat answer that is not streamed and none is a failure: %j',
  (body) => {
    failureOf(decodeWhole(body));
  },
);

function cut(text: string, points: readonly number[]): string[] {
  const places = [...new Set(points.map((point) => point % (text.length + 1)))].sort(
    (a, b) => a - b,
  );
  return [...places, text.length].map((place, index) => text.slice(places[index - 1] ?? 0, place));
}

test('interleaved calls decode whole, in the order of their start', () => {
  const calls = fc.array(
    fc.dictionary(fc.string(), fc.json()).map((value) => JSON.stringify(value)),
    { minLength: 1, maxLength: 4 },
  );
  fc.assert(
    fc.property(
      calls,
      fc.array(fc.nat(), { maxLength: 4 }),
      fc.array(fc.nat(), { maxLength: 40 }),
      (texts, points, order) => {
        const queues = texts.map((text, index) =>
          cut(text, points).map((one) => piece(index, one)),
        );
        const mixed: unknown[] = texts.map((_, index) => call(index, `id${index}`, 'f'));
        for (const turn of order) {
          const next = queues[turn % queues.length]!.shift();
          if (next) mixed.push(next);
        }
        for (const rest of queues) mixed.push(...rest);
        expect(blocksOf(decode(stream(mixed))).map(({ text }) => text)).toEqual(texts);
      },
    ),
  );
});

test('arbitrary chunks decode to ordered events with one end', () => {
  const delta = fc.record(
    {
      content: fc.oneof(fc.string(), fc.jsonValue()),
      refusal: fc.oneof(fc.string(), fc.jsonValue()),
      reasoning_content: fc.oneof(fc.string(), fc.jsonValue()),
      reasoning_details: fc.jsonValue(),
      tool_calls: fc.oneof(
        fc.jsonValue(),
        fc.array(
          fc.record(
            {
              index: fc.oneof(fc.nat(3), fc.jsonValue()),
              id: fc.oneof(fc.constantFrom('a', 'b', ''), fc.jsonValue()),
              function: fc.oneof(
                fc.record(
                  {
                    name: fc.constantFrom('f', ''),
                    arguments: fc.constantFrom('{', '}', '{}', '', 'x'),
                  },
                  { requiredKeys: [] },
                ),
                fc.jsonValue(),
              ),
            },
            { requiredKeys: [] },
          ),
        ),
      ),
      annotations: fc.jsonValue(),
      audio: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          delta.map((one) => chunk(one)),
          fc.jsonValue(),
        ),
        { maxLength: 12 },
      ),
      (chunks) => {
        const events = decode(chunks.map((one) => JSON.stringify(one)));
        blocksOf(events);
        expect(['finish', 'error']).toContain(events.at(-1)!.type);
      },
    ),
    { numRuns: runs(500) },
  );
});
