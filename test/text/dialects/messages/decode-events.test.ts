import '../../../../src/text/built-in-dialects.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TextEvent } from '../../../../src/text/canonical/events.ts';
import { blocksOf } from '../answer-events.ts';
import { block, decoded, decodedWhole, delta, end, start, stop, text } from './answers.ts';

const types = (events: readonly TextEvent[]) => events.map(({ type }) => type);
const finish = (events: readonly TextEvent[]) => events.at(-1);
const hello = [block(0, { type: 'text', text: '' }), text(0, 'Hello'), stop(0)];
const call = (index: number, input: object = {}) =>
  block(index, { type: 'tool_use', id: `toolu_${index}`, name: 'weather', input });
const json = (index: number, partial_json: string) =>
  delta(index, 'input_json_delta', { partial_json });
const said = (words: string, more?: object) => ({
  type: 'text',
  text: words,
  ...(more && { more }),
});
const called = (index: number, args = '') => ({
  type: 'tool',
  text: args,
  more: { id: `toolu_${index}`, name: 'weather' },
});
const thought = (words: string, value: object) => ({
  type: 'reasoning',
  text: words,
  more: { dialect: 'messages', provider: 'acme', value },
});

describe('a messages stream', () => {
  it('decodes text, reasoning with its signature, and tool calls', () => {
    const events = decoded([
      start(),
      { type: 'ping' },
      block(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, 'thinking_delta', { thinking: 'Hm' }),
      delta(0, 'signature_delta', { signature: 'signed' }),
      stop(0),
      block(1, { type: 'redacted_thinking', data: 'hidden' }),
      stop(1),
      block(2, { type: 'text', text: '' }),
      text(2, 'Hello'),
      { type: 'ping' },
      text(2, ' there'),
      stop(2),
      call(3),
      json(3, ''),
      json(3, '{"a"'),
      json(3, ':1}'),
      stop(3),
      ...end('tool_use'),
    ]);
    expect(events.slice(0, 2)).toEqual([
      { type: 'start', id: 'msg_1', model: 'claude' },
      {
        type: 'usage',
        usage: { input: 10, output: 1, cachedInput: 0, cacheWrite: 0, reasoning: null },
      },
    ]);
    expect(blocksOf(events)).toEqual([
      thought('Hm', { signature: 'signed' }),
      thought('', { data: 'hidden' }),
      said('Hello there'),
      called(3, '{"a":1}'),
    ]);
    const deltas = types(events).filter((type) => type.endsWith('-delta'));
    expect(deltas.map((type) => type.replace('-delta', ''))).toEqual([
      ...['reasoning', 'text', 'text', 'tool', 'tool'],
    ]);
    expect(finish(events)).toEqual({
      type: 'finish',
      reason: 'tool-calls',
      raw: 'tool_use',
      stopSequence: null,
      usage: { input: 10, output: 5, cachedInput: 0, cacheWrite: 0, reasoning: null },
    });
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool-calls'],
    ['refusal', 'refusal'],
    ['pause_turn', 'pause'],
    ['something_new', 'other'],
  ])('has for stop_reason %s the reason %s', (raw, reason) => {
    const events = decoded([start(), ...hello, ...end(raw, {}, { stop_sequence: 'END' })]);
    expect(finish(events)).toMatchObject({ type: 'finish', reason, raw, stopSequence: 'END' });
  });

  it('has the reason tool-calls for a call with stop_reason end_turn', () => {
    const events = decoded([start(), ...hello, call(1), stop(1), ...end('end_turn')]);
    expect(finish(events)).toMatchObject({ reason: 'tool-calls', raw: 'end_turn' });
    const cut = decoded([start(), call(0), stop(0), ...end('max_tokens')]);
    expect(finish(cut)).toMatchObject({ reason: 'length' });
  });

  it('adds cache reads and writes to the input tokens', () => {
    const usage = {
      input_tokens: 3,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 20,
      output_tokens: 1,
    };
    const more = { output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } };
    expect(finish(decoded([start(usage), ...hello, ...end('end_turn', more)]))).toMatchObject({
      usage: { input: 123, output: 9, cachedInput: 100, cacheWrite: 20, reasoning: 4 },
    });
  });

  it.each([
    [
      'later counts replace earlier ones',
      { input_tokens: 43, output_tokens: 1 },
      { input_tokens: 61, output_tokens: 2 },
      { input: 61, output: 2 },
    ],
    ['input only at the end', {}, { input_tokens: 7, output_tokens: 2 }, { input: 7, output: 2 }],
    [
      'invalid counts are ignored',
      { input_tokens: 5 },
      { input_tokens: -1, output_tokens: '9' },
      { input: 5, output: 0 },
    ],
  ])('reads usage: %s', (_, first, last, usage) => {
    expect(finish(decoded([start(first), ...hello, ...end('end_turn', last)]))).toMatchObject({
      usage,
    });
  });

  it('has no usage if the provider reported none', () => {
    expect(finish(decoded([start({}), ...hello, ...end('end_turn', {})]))).toMatchObject({
      usage: null,
    });
  });

  it.each([
    ['missing', [call(0)], ''],
    ['empty', [call(0), json(0, '')], ''],
    ['in the start event', [call(0, { a: 1 })], '{"a":1}'],
    ['in both', [call(0, { a: 1 }), json(0, '{"a":2}')], '{"a":2}'],
  ])('reads arguments that are %s', (_, events, args) => {
    const decodes = decoded([start(), ...events, stop(0), ...end('tool_use')]);
    expect(blocksOf(decodes)).toEqual([called(0, args)]);
    expect(decodes).not.toContainEqual(expect.objectContaining({ type: 'tool-delta', json: '' }));
  });

  it('keeps empty signed thinking and drops empty text', () => {
    const events = decoded([
      start(),
      block(0, { type: 'thinking', thinking: '' }),
      delta(0, 'signature_delta', { signature: 'signed' }),
      stop(0),
      block(1, { type: 'text', text: '' }),
      stop(1),
      ...end('end_turn'),
    ]);
    expect(blocksOf(events)).toEqual([thought('', { signature: 'signed' })]);
  });

  it('decodes the explanation of a refusal', () => {
    const stop_details = { type: 'refusal', category: 'cyber', explanation: 'No.' };
    const events = decoded([start(), ...end('refusal', {}, { stop_details })]);
    expect(blocksOf(events)).toEqual([{ type: 'refusal', text: 'No.' }]);
    expect(finish(events)).toMatchObject({ type: 'finish', reason: 'refusal' });
    const silent = decoded([start(), ...end('refusal', {}, { stop_details: null })]);
    expect(types(silent)).toEqual(['start', 'usage', 'finish']);
  });

  it('decodes web citations and keeps other citations as native', () => {
    const web = {
      type: 'web_search_result_location',
      url: 'https://a.b',
      title: 'A',
      cited_text: 'a',
      encrypted_index: 'x',
    };
    const place = { type: 'char_location', cited_text: 'a', document_index: 0 };
    const events = decoded([
      start(),
      block(0, { type: 'text', text: '', citations: [] }),
      text(0, 'As given'),
      delta(0, 'citations_delta', { citation: web }),
      delta(0, 'citations_delta', { citation: place }),
      stop(0),
      ...end('end_turn'),
    ]);
    const citation = { url: 'https://a.b', title: 'A', start: null, end: null, quote: 'a' };
    const native = { type: 'text', text: '', citations: [place] };
    expect(blocksOf(events)).toEqual([
      said('As given', citation),
      { type: 'native', text: JSON.stringify(native) },
    ]);
  });

  it('has native blocks for blocks that only Anthropic has', () => {
    const events = decoded([
      start(),
      block(0, { type: 'server_tool_use', id: 'a', name: 'web_search', input: {} }),
      json(0, '{"query":'),
      json(0, '"x"}'),
      stop(0),
      block(1, { type: 'compaction', content: null }),
      delta(1, 'compaction_delta', { content: 'All ' }),
      delta(1, 'compaction_delta', { content: 'of it' }),
      stop(1),
      block(2, {
        type: 'tool_use',
        id: 'b',
        name: 'c',
        input: {},
        caller: { type: 'code_execution_20250825', tool_id: 'd' },
      }),
      stop(2),
      ...end('tool_use'),
    ]);
    expect(events.slice(2, -1)).toMatchObject([
      { type: 'native', block: 0, value: { type: 'server_tool_use', input: { query: 'x' } } },
      { type: 'native', block: 1, value: { type: 'compaction', content: 'All of it' } },
      { type: 'native', block: 2, value: { type: 'tool_use', caller: { tool_id: 'd' } } },
    ]);
    expect(finish(events)).toMatchObject({ reason: 'tool-calls' });
  });

  it('reads content in message_start', () => {
    const content = [{ type: 'tool_use', id: 'a', name: 'b', input: { c: 1 } }];
    const events = decoded([
      start({}, { content, stop_reason: 'tool_use' }),
      { type: 'message_stop' },
    ]);
    expect(blocksOf(events)).toEqual([
      { type: 'tool', text: '{"c":1}', more: { id: 'a', name: 'b' } },
    ]);
  });

  it('emits interleaved blocks one after another', () => {
    const events = decoded([
      start(),
      block(0, { type: 'text', text: '' }),
      text(0, 'a'),
      call(1),
      json(1, '{"a":'),
      text(0, 'b'),
      json(1, '1}'),
      stop(1),
      text(0, 'c'),
      stop(0),
      ...end('tool_use'),
    ]);
    expect(blocksOf(events)).toEqual([said('abc'), called(1, '{"a":1}')]);
  });

  it('accepts text without content_block_start and content_block_stop', () => {
    const events = decoded([text(0, 'a'), call(1), ...end('tool_use')]);
    expect(blocksOf(events)).toEqual([said('a'), called(1)]);
  });

  it('makes an id for a call without one', () => {
    const events = decoded([
      start(),
      block(0, { type: 'tool_use', id: '', name: 'a' }),
      stop(0),
      ...end('tool_use'),
    ]);
    expect(events[2]).toMatchObject({
      type: 'tool-start',
      id: expect.stringMatching(/^toolu_\w+$/),
    });
  });

  it('continues after a second message_start of the same message', () => {
    const events = decoded([start(), start(), ...hello, ...end('end_turn')]);
    expect(blocksOf(events)).toEqual([said('Hello')]);
    expect(finish(events)).toMatchObject({ type: 'finish' });
  });

  it('ends with stream_restarted at another message after content', () => {
    const other = start({ input_tokens: 20 }, { id: 'msg_2' });
    const late = decoded([start(), ...hello, other, ...hello, ...end('end_turn')]);
    expect(finish(late)).toMatchObject({ type: 'error', failure: { code: 'stream_restarted' } });
    const early = decoded([start(), other, ...hello, ...end('end_turn')]);
    expect(types(early).filter((type) => type === 'start')).toHaveLength(1);
    expect(finish(early)).toMatchObject({ type: 'finish', usage: { input: 20 } });
  });
});

describe('a malformed messages stream', () => {
  it.each([
    ['before anything', []],
    ['in a text', [start(), block(0, { type: 'text', text: '' }), text(0, 'Hel')]],
    ['before its own end', [start(), ...hello, end('end_turn')[0]!]],
    ['with the end of another dialect', [start(), ...hello, '[DONE]']],
  ])('that ends %s is stream_truncated', (_, events) => {
    expect(finish(decoded(events))).toMatchObject({
      type: 'error',
      failure: { type: 'network_error', code: 'stream_truncated' },
    });
  });

  it('emits nothing after an error event', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const events = decoded([start(), ...hello, error, ...hello, ...end('end_turn')]);
    expect(types(events).slice(-2)).toEqual(['text-end', 'error']);
  });

  it.each([
    ['broken JSON', '{"type":'],
    ['HTML', '<html>'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a number', '5'],
    ['a block that is null', { type: 'content_block_start', index: 0, content_block: null }],
    ['a delta that is a text', { type: 'content_block_delta', index: 0, delta: 'a' }],
    ['arguments without a call', json(0, '{}')],
  ])('with %s ends with one service_error', (_, event) => {
    const events = decoded([start(), event, ...end('end_turn')]);
    expect(finish(events)).toMatchObject({ type: 'error', failure: { type: 'service_error' } });
    expect(types(events).filter((type) => type === 'error')).toHaveLength(1);
  });

  it('of arbitrary events does not throw and ends once', () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('text', 'tool_use', 'thinking', '__proto__'),
    );
    const event = fc.record(
      {
        type: fc.constantFrom(
          'message_start',
          'content_block_start',
          'content_block_delta',
          'content_block_stop',
          'message_delta',
          'message_stop',
          'error',
        ),
        index: fc.oneof(fc.nat(3), value),
        message: value,
        content_block: fc.oneof(value, fc.record({ type: value, text: value, input: value })),
        delta: fc.oneof(value, fc.record({ type: value, text: value, partial_json: value })),
        usage: value,
      },
      { requiredKeys: ['type'] },
    );
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const emitted = types(decoded(events));
        const ends = emitted.filter((type) => type === 'finish' || type === 'error');
        expect(ends).toHaveLength(1);
        expect(emitted.at(-1)).toBe(ends[0]);
      }),
    );
  });
});

describe('a messages answer that is not streamed', () => {
  it.each([
    null,
    'text',
    [],
    {},
    { content: 'text' },
    { content: [null] },
    { type: 'error', error: {} },
  ])('with a malformed body is an error: %j', (body) => {
    expect(types(decodedWhole(body)).at(-1)).toBe('error');
  });
});
