import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it, test } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import type { Json, TextRequest } from '../../../../src/text/canonical/canonical.ts';
import type { TextEvent } from '../../../../src/text/canonical/events.ts';
import { chat } from '../../../../src/text/dialects/chat/chat.ts';
import { wrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
import {
  calls,
  dataOf,
  finished,
  folded,
  framesOf,
  SIGNATURE,
  START,
  says,
  thinks,
} from '../answer-events.ts';
import { request } from './conversation.ts';

const asked = (more: Json = {}) =>
  request({ stream: true, stream_options: { include_usage: true }, ...more });

const frames = (events: readonly TextEvent[], of: TextRequest = asked()) =>
  framesOf('chat', events, { request: of, created: 7 });

// biome-ignore lint/suspicious/noExplicitAny: tests read any property
const chunksOf = (stream: string): any[] =>
  dataOf(stream)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data));

const deltasOf = (stream: string) =>
  chunksOf(stream).flatMap(({ choices }) => choices.map(({ delta }: Json) => delta));

// biome-ignore lint/suspicious/noExplicitAny: tests read any property
const choiceOf = (events: readonly TextEvent[]): any =>
  (folded('chat', events)['choices'] as Json[])[0];

describe('an encoded chat stream', () => {
  it('has chunks in order with one id, model and time', () => {
    const stream = frames([START, ...says(0, 'Hel', 'lo'), finished()]);
    expect(dataOf(stream).at(-1)).toBe('[DONE]');
    const chunks = chunksOf(stream);
    expect(chunks[0]!.id).toMatch(/^chatcmpl-\w{29}$/);
    const head = {
      id: chunks[0]!.id,
      object: 'chat.completion.chunk',
      created: 7,
      model: 'upstream-model',
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
          prompt_tokens: 10,
          completion_tokens: 5,
          total_tokens: 15,
          input_tokens: 10,
          output_tokens: 5,
          cached_input_tokens: 4,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 2 },
        },
      },
    ]);
  });

  it('has usage only with include_usage', () => {
    const of = request({ stream: true });
    expect(frames([START, ...says(0, 'x'), finished()], of)).not.toContain('usage');
  });

  it('has no usage chunk if the upstream reported none', () => {
    const chunks = chunksOf(frames([START, finished('stop', { usage: null })]));
    expect(chunks.every(({ usage, choices }) => usage === null && choices.length === 1)).toBe(true);
  });

  it('begins with the role for any first event', () => {
    const [first] = deltasOf(frames(says(0, 'x')));
    expect(first).toEqual({ role: 'assistant', content: '' });
  });

  it('has index, id, type and name of a tool call once', () => {
    const stream = frames([
      START,
      ...calls(0, 'a', '{"x"', ':1}'),
      ...calls(1, 'b'),
      finished('tool-calls'),
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
  ] as const)('has for the reason %s the finish_reason %s', (reason, finish_reason) => {
    const events = [START, ...says(0, 'x'), finished(reason)];
    expect(chunksOf(frames(events)).at(-2)).toMatchObject({ choices: [{ finish_reason }] });
    expect(choiceOf(events).finish_reason).toBe(finish_reason);
  });

  it('that fails ends with an error, without finish_reason and [DONE]', () => {
    const failure = new Failure('rate_limit', 'Too many\nrequests', { originalCode: 'slow_down' });
    const stream = frames([
      START,
      ...says(0, 'x').slice(0, 2),
      { type: 'error', failure },
      finished(),
    ]);
    expect(dataOf(stream)).not.toContain('[DONE]');
    const chunks = chunksOf(stream);
    expect(chunks.at(-1)).toEqual({
      error: { type: 'rate_limit', message: 'Too many\nrequests', param: null, code: 'slow_down' },
    });
    expect(stream).not.toContain('"finish_reason":"');
  });
});

test('several choices are one stream with one id and summed usage', () => {
  const encoder = chat.encodeEvents({ request: asked({ n: 2 }), created: 7 });
  const stream = [
    encoder.push(START, 1),
    encoder.push(START, 0),
    ...says(0, 'one').map((event) => encoder.push(event, 0)),
    encoder.push(finished(), 0),
    ...says(0, 'two').map((event) => encoder.push(event, 1)),
    encoder.push(finished('length'), 1),
  ].join('');
  expect(dataOf(stream).filter((data) => data === '[DONE]')).toHaveLength(1);
  expect(dataOf(stream).at(-1)).toBe('[DONE]');
  const chunks = chunksOf(stream);
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  const usage = { prompt_tokens: 20, completion_tokens: 10, cached_input_tokens: 8 };
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage });
  const ends = chunks.flatMap(({ choices }) => choices.filter((one: Json) => one['finish_reason']));
  expect(ends).toMatchObject([
    { index: 0, finish_reason: 'stop' },
    { index: 1, finish_reason: 'length' },
  ]);
  const whole = chat.foldEvents({ request: asked({ n: 2 }), created: 7 }, [
    [START, ...says(0, 'one'), finished()],
    [START, ...says(0, 'two'), finished('length')],
  ]);
  expect(whole).toMatchObject({
    choices: [
      { index: 0, message: { content: 'one' }, finish_reason: 'stop' },
      { index: 1, message: { content: 'two' }, finish_reason: 'length' },
    ],
    usage,
  });
});

describe('reasoning in a chat answer', () => {
  it('of another format has its signature wrapped in one chunk of reasoning_details', () => {
    const { message } = choiceOf([
      START,
      ...thinks(0, SIGNATURE, 'First.'),
      ...calls(1, 'a', '{}'),
      ...thinks(2, null, 'Then.'),
      ...calls(3, 'b', '{}'),
      finished('tool-calls'),
    ]);
    expect(message.reasoning_content).toBe('First.Then.');
    expect(message.reasoning_details).toEqual([
      { type: 'reasoning.text', text: 'First.', signature: wrapSignature(SIGNATURE), index: 0 },
      { type: 'reasoning.text', text: 'Then.', after_tool_calls: 1, index: 1 },
    ]);
  });

  it('of a chat upstream has its reasoning_details unchanged', () => {
    const reasoning_details = [{ type: 'reasoning.encrypted', data: 'xyz', index: 0 }];
    const signature = { dialect: 'chat', provider: 'a', value: { reasoning_details } } as const;
    const { message } = choiceOf([START, ...thinks(0, signature), finished()]);
    expect(message.reasoning_details).toEqual(reasoning_details);
  });
});

test('calls of tools with text input are numbered with the others', () => {
  const call = { id: 'c', type: 'custom', custom: { name: 's', input: 'la' } };
  const native: TextEvent = {
    type: 'native',
    block: 0,
    dialect: 'chat',
    value: { tool_calls: [call] },
  };
  const events = [START, native, ...calls(1, 'a', '{}'), finished('tool-calls')];
  const sent = deltasOf(frames(events)).flatMap(({ tool_calls: some }) => some ?? []);
  expect(sent.map(({ index, id }: Json) => [index, id])).toEqual([
    [0, 'c'],
    [1, 'a'],
    [1, undefined],
  ]);
  expect(choiceOf(events).message.tool_calls).toMatchObject([call, { id: 'a' }]);
});

test('the positions of citations are those in the whole text', () => {
  const citation = (start: number | null, end: number | null): TextEvent => ({
    type: 'citation',
    block: 1,
    citation: { url: 'https://a', title: null, start, end, quote: null },
  });
  const [begin, ...rest] = says(1, 'Cited', '.');
  const [cited, dot, end] = rest as [TextEvent, TextEvent, TextEvent];
  const events = [
    START,
    ...says(0, 'Before. '),
    begin!,
    cited,
    citation(0, 3),
    citation(null, null),
    dot,
    end,
    finished(),
  ];
  const expected = [
    [8, 11],
    [8, 13],
  ].map(([start_index, end_index]) => ({
    type: 'url_citation',
    url_citation: { url: 'https://a', title: 'https://a', start_index, end_index },
  }));
  expect(choiceOf(events).message.annotations).toEqual(expected);
  expect(deltasOf(frames(events)).flatMap(({ annotations }) => annotations ?? [])).toEqual(
    expected,
  );
});
