import '../../../../src/text/built-in-dialects.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import { runs } from '../../../runs.ts';
import { failureOf, finishOf } from '../answer-events.ts';
import { blocksOf, decode, decodeWhole } from './events.ts';

const usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 17,
};
const created = { type: 'response.created', response: { id: 'resp_1', model: 'big' } };
const completed = (output: unknown[] = [], more: Json = {}) => ({
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', output, usage, ...more },
});
const message = (text: string, more: Json = {}) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
  ...more,
});
const call = (more: Json = {}) => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'f',
  arguments: '{"a":1}',
  ...more,
});
const added = (output_index: number, item: Json) => ({
  type: 'response.output_item.added',
  output_index,
  item,
});
const done = (output_index: number, item: Json) => ({
  type: 'response.output_item.done',
  output_index,
  item,
});
const say = (output_index: number, delta: string, content_index = 0, more: Json = {}) => ({
  type: 'response.output_text.delta',
  output_index,
  content_index,
  item_id: 'msg_1',
  delta,
  ...more,
});
const write = (output_index: number, delta: string) => ({
  type: 'response.function_call_arguments.delta',
  output_index,
  delta,
});
const summarise = (summary_index: number, delta: string, more: Json = {}) => ({
  type: 'response.reasoning_summary_text.delta',
  output_index: 0,
  summary_index,
  delta,
  ...more,
});
const thought = (id: string, ...texts: string[]) => ({
  ...{ type: 'reasoning', id },
  summary: texts.map((text) => ({ type: 'summary_text', text })),
});
const long = { content: [{ type: 'reasoning_text', text: 'long thought' }] };
const think = (delta: string) => ({
  ...{ type: 'response.reasoning_text.delta', output_index: 0, content_index: 0 },
  delta,
});
const second = call({ id: 'fc_2', call_id: 'call_2', name: 'g', arguments: '{"b":2}' });
const parts = message('', {
  content: [
    { type: 'output_text', text: 'a', annotations: [] },
    { type: 'refusal', refusal: 'no' },
    { type: 'output_text', text: 'b', annotations: [] },
  ],
});
const empty = (item: Json) => ({ ...item, content: [], arguments: '', summary: [] });

describe('a responses stream', () => {
  it('decodes text, start, end and usage', () => {
    expect(
      decode([
        created,
        { type: 'response.in_progress', response: { id: 'resp_1' } },
        added(0, empty(message(''))),
        say(0, 'Hel'),
        say(0, 'lo'),
        done(0, message('Hello')),
        completed([message('Hello')]),
        '[DONE]',
      ]),
    ).toEqual([
      { type: 'start', id: 'resp_1', model: 'big' },
      { type: 'text-start', block: 0 },
      { type: 'text-delta', block: 0, text: 'Hel' },
      { type: 'text-delta', block: 0, text: 'lo' },
      { type: 'text-end', block: 0 },
      {
        type: 'finish',
        reason: 'stop',
        raw: 'completed',
        stopSequence: null,
        usage: { input: 10, output: 7, cachedInput: 4, cacheWrite: 1, reasoning: 3 },
      },
    ]);
  });

  it('joins parts of a summary by blank lines and keeps the signature', () => {
    const item = { ...thought('rs_1', 'one', 'two'), encrypted_content: 'gAAA' };
    const events = decode([
      created,
      added(0, thought('rs_1')),
      summarise(0, 'on'),
      summarise(0, 'e'),
      {
        type: 'response.reasoning_summary_text.done',
        output_index: 0,
        summary_index: 0,
        text: 'one',
      },
      summarise(1, 'tw'),
      done(0, item),
      completed([item]),
    ]);
    expect(blocksOf(events)).toEqual([['reasoning', 'one\n\ntwo']]);
    const { type: _, ...value } = item;
    expect(events.at(-2)).toEqual({
      type: 'reasoning-end',
      block: 0,
      signature: { dialect: 'responses', provider: 'acme', value },
    });
  });

  it.each<[string, Json[], [string, string][]]>([
    [
      'reasoning text, not its summary',
      [
        added(0, thought('rs_1')),
        think('long '),
        summarise(0, 'sh'),
        think('thought'),
        done(0, { ...thought('rs_1', 'short'), ...long }),
        completed([{ ...thought('rs_1', 'short'), ...long }]),
      ],
      [['reasoning', 'long thought']],
    ],
    [
      'items by index where their ids change',
      [
        { type: 'response.in_progress', response: { id: 'resp_2' } },
        added(0, thought('a')),
        summarise(0, 'hm', { item_id: 'b' }),
        done(0, thought('c', 'hm')),
        added(1, empty(message('', { id: 'd' }))),
        say(1, 'yes', 0, { item_id: 'e' }),
        done(1, message('yes', { id: 'f' })),
        completed([thought('g', 'hm'), message('yes', { id: 'h' })]),
      ],
      [
        ['reasoning', 'hm'],
        ['text', 'yes'],
      ],
    ],
    [
      'interleaved items one after another',
      [
        added(0, empty(call())),
        added(1, empty(second)),
        write(1, '{"b"'),
        write(0, '{"a":'),
        write(1, ':2}'),
        done(1, second),
        write(0, '1}'),
        done(0, call()),
        completed(),
      ],
      [
        ['tool call_1 f', '{"a":1}'],
        ['tool call_2 g', '{"b":2}'],
      ],
    ],
    [
      'each part of a message, also refusals',
      [
        added(0, empty(parts)),
        say(0, 'a', 0),
        { type: 'response.refusal.delta', output_index: 0, content_index: 1, delta: 'n' },
        { type: 'response.refusal.done', output_index: 0, content_index: 1, refusal: 'no' },
        done(0, parts),
        completed([parts]),
      ],
      [
        ['text', 'a'],
        ['refusal', 'no'],
        ['text', 'b'],
      ],
    ],
    [
      'items that only response.completed has',
      [
        added(3, empty(message('', { id: 'rotated' }))),
        say(3, 'x'),
        done(3, message('x', { id: 'again' })),
        completed([message('x'), call()]),
      ],
      [
        ['text', 'x'],
        ['tool call_1 f', '{"a":1}'],
      ],
    ],
    [
      'a call without arguments',
      [added(0, call({ arguments: '' })), done(0, call({ arguments: '' })), completed()],
      [['tool call_1 f', '']],
    ],
  ])('decodes %s', (_, events, blocks) => {
    const decoded = decode([created, ...events]);
    expect(blocksOf(decoded)).toEqual(blocks);
    const isCalled = blocks.at(-1)![0].startsWith('tool');
    expect(finishOf(decoded).reason).toBe(isCalled ? 'tool-calls' : 'stop');
    expect(decoded).not.toContainEqual(expect.objectContaining({ type: 'tool-delta', json: '' }));
  });

  it.each<[string, Json[]]>([
    ['in deltas', [write(0, '{"a"'), write(0, ':1}')]],
    [
      'only in the done event',
      [{ type: 'response.function_call_arguments.done', output_index: 0, arguments: '{"a":1}' }],
    ],
    ['only in the item', []],
    ['partly in deltas and whole in the item', [write(0, '{"a"')]],
  ])('reads arguments that come %s', (_, pieces) => {
    const events = decode([
      created,
      added(0, empty(call())),
      ...pieces,
      done(0, call()),
      completed(),
    ]);
    expect(blocksOf(events)).toEqual([['tool call_1 f', '{"a":1}']]);
    expect(finishOf(events).reason).toBe('tool-calls');
  });

  it('delays a call until its name and makes a missing id', () => {
    const [[name, json] = []] = blocksOf(
      decode([
        created,
        added(0, { type: 'function_call', call_id: '' }),
        write(0, '{"a":1}'),
        done(0, { type: 'function_call', call_id: '', name: 'f', arguments: '{"a":1}' }),
        completed(),
      ]),
    );
    expect(name).toMatch(/^tool call_\w{20} f$/);
    expect(json).toBe('{"a":1}');
  });

  it('decodes each citation once and keeps other annotations as native', () => {
    const citation = {
      type: 'url_citation',
      url: 'https://a.example',
      title: 'A',
      start_index: 0,
      end_index: 2,
    };
    const file = { type: 'file_citation', file_id: 'file-1', index: 1, filename: 'a' };
    const item = message('see', {
      content: [{ type: 'output_text', text: 'see', annotations: [citation, file] }],
    });
    const remark = {
      type: 'response.output_text.annotation.added',
      output_index: 0,
      content_index: 0,
    };
    const events = decode([
      created,
      added(0, empty(item)),
      say(0, 'see'),
      { ...remark, annotation_index: 0, annotation: citation },
      {
        type: 'response.content_part.done',
        output_index: 0,
        content_index: 0,
        part: item.content[0],
      },
      done(0, item),
      completed([item]),
    ]);
    expect(events.slice(2, -1)).toEqual([
      { type: 'text-delta', block: 0, text: 'see' },
      {
        type: 'citation',
        block: 0,
        citation: { url: 'https://a.example', title: 'A', start: 0, end: 2, quote: null },
      },
      { type: 'native', block: 0, dialect: 'responses', value: file },
      { type: 'text-end', block: 0 },
    ]);
  });

  it('has log probabilities with the text', () => {
    const logprobs = [{ token: 'a', logprob: -0.1, bytes: [97], top_logprobs: [] }];
    const events = decode([
      created,
      added(0, empty(message(''))),
      say(0, 'a', 0, { logprobs }),
      completed([message('a')]),
    ]);
    expect(events[2]).toEqual({ type: 'text-delta', block: 0, text: 'a', logprobs });
  });

  it.each<[string, Json[]]>([
    [
      'its first event is missing',
      [added(0, empty(message(''))), say(0, 'x'), done(0, message('x')), completed([message('x')])],
    ],
    [
      'its item was not announced',
      [created, say(0, 'x'), done(0, message('x')), completed([message('x')])],
    ],
    ['its item comes only when done', [created, done(0, message('x')), completed([message('x')])]],
    [
      'its item never ends',
      [created, added(0, empty(message(''))), say(0, 'x'), completed([message('x')])],
    ],
    ['all content is in response.completed only', [created, completed([message('x')])]],
    [
      'its text is in response.completed only',
      [created, added(0, empty(message(''))), completed([message('x')])],
    ],
    [
      'indexes are missing',
      [
        created,
        { type: 'response.output_item.added', item: empty(message('')) },
        { type: 'response.output_text.delta', delta: 'x' },
        completed([message('x')]),
      ],
    ],
    ['response.completed has no output', [created, done(0, message('x')), completed([])]],
  ])('is complete although %s', (_, events) => {
    const out = decode(events);
    expect(out[0]!.type).toBe('start');
    expect(blocksOf(out)).toEqual([['text', 'x']]);
    expect(finishOf(out).usage?.input).toBe(10);
  });

  it.each(['web_search_call', 'program', 'something_new'])(
    'has one native block for %s',
    (type) => {
      const item = { type, id: 'x_1', input: 'y' };
      const events = decode([
        created,
        added(0, { type, id: 'x_1' }),
        { type: `response.${type}.searching`, output_index: 0 },
        done(0, item),
        completed([item]),
      ]);
      expect(events[1]).toMatchObject({
        type: 'native',
        block: 0,
        dialect: 'responses',
        value: item,
      });
      expect(events).toHaveLength(3);
    },
  );

  it.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'refusal'],
    ['other', 'other'],
  ])('has for incomplete_details.reason %s the reason %s', (reason, unified) => {
    const events = decode([
      created,
      done(0, call()),
      {
        type: 'response.incomplete',
        response: { incomplete_details: { reason }, output: [call()], usage },
      },
    ]);
    expect(finishOf(events)).toMatchObject({ reason: unified, raw: reason, usage: { input: 10 } });
  });

  it.each<[string, Json]>([
    ['flat', { type: 'error', code: 'server_error', message: 'broken', param: null }],
    ['nested', { type: 'error', error: { type: 'server_error', code: 'x', message: 'broken' } }],
    [
      'in response.failed',
      { type: 'response.failed', response: { error: { code: 'server_error', message: 'broken' } } },
    ],
    ['empty', { type: 'error' }],
  ])('ends with one error for an error event: %s', (_, event) => {
    const failed = { type: 'response.failed', response: { error: null } };
    const events = decode([created, say(0, 'x'), event, failed]);
    expect(events.filter(({ type }) => type === 'error')).toHaveLength(1);
    expect(failureOf(events).type).toBeTypeOf('string');
  });

  it('is stream_truncated without an end event', () => {
    const events = decode([created, added(0, empty(message(''))), say(0, 'x'), '[DONE]']);
    expect(failureOf(events)).toMatchObject({ type: 'network_error', code: 'stream_truncated' });
  });

  it.each(['{', 'null', '3', '[]', '"x"'])('is invalid_upstream_answer for the data %s', (data) => {
    expect(failureOf(decode([created, data]))).toMatchObject({ code: 'invalid_upstream_answer' });
  });

  it.each([
    null,
    'text',
    {},
    { output: 'x' },
    { error: { message: 'no' } },
    { output: [], status: 'in_progress' },
  ])('is an error for the answer %j', (body) => {
    expect(failureOf(decodeWhole(body)).type).toBe('service_error');
  });

  it('does not throw for arbitrary events', () => {
    const types = [
      'response.created',
      'response.output_item.added',
      'response.output_item.done',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.added',
      'response.content_part.done',
      'response.output_text.annotation.added',
      'response.reasoning_summary_text.delta',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.completed',
      'response.failed',
      'error',
    ];
    const kinds = fc.constantFrom('message', 'reasoning', 'function_call', 'x', null);
    const item = fc.record({
      type: kinds,
      content: fc.jsonValue(),
      summary: fc.jsonValue(),
      arguments: fc.jsonValue(),
      call_id: fc.jsonValue(),
      name: fc.jsonValue(),
    });
    const event = fc.record(
      {
        type: fc.constantFrom(...types),
        output_index: fc.oneof(fc.nat(3), fc.jsonValue()),
        content_index: fc.oneof(fc.nat(3), fc.jsonValue()),
        item: fc.oneof(item, fc.jsonValue()),
        part: fc.oneof(
          fc.record({
            type: fc.constantFrom('output_text', 'refusal', 'x'),
            text: fc.jsonValue(),
            annotations: fc.jsonValue(),
          }),
          fc.jsonValue(),
        ),
        delta: fc.oneof(fc.string(), fc.jsonValue()),
        text: fc.oneof(fc.string(), fc.jsonValue()),
        annotation: fc.oneof(fc.constant({ type: 'url_citation', url: 'x' }), fc.jsonValue()),
        arguments: fc.jsonValue(),
        response: fc.oneof(
          fc.record({ output: fc.array(item), usage: fc.jsonValue(), error: fc.jsonValue() }),
          fc.jsonValue(),
        ),
      },
      { requiredKeys: ['type'] },
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 20 }), (events) => {
        const out = decode(events as Json[]);
        blocksOf(out);
        expect(out.filter(({ type }) => type === 'finish' || type === 'error')).toHaveLength(1);
        expect(['finish', 'error']).toContain(out.at(-1)!.type);
      }),
      { numRuns: runs(500) },
    );
  });
});
