import { describe, expect, it } from 'vitest';
import { AnswerFolder, callsOf, textOf } from '../../../src/console/views/chat/formats/answer.ts';
import type { FormatName } from '../../../src/console/views/chat/formats/conversation.ts';
import { FORMATS } from '../../../src/console/views/chat/formats/formats.ts';
import { outsideFolder } from '../../outside-material.ts';
import { readStream } from '../../text/recorded.ts';

/** Folds events of a stream; a text is data as it stands. */
function fold(format: FormatName, events: readonly (object | string)[]) {
  const decoder = FORMATS[format].decoder();
  const folder = new AnswerFolder();
  for (const event of events) {
    const data = typeof event === 'string' ? event : JSON.stringify(event);
    for (const one of decoder.decode({ event: 'message', data })) folder.add(one);
  }
  return { answer: folder.answer, replay: decoder.replay(folder.answer) };
}

const delta = (change: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: change, finish_reason: finish }],
});

const CHAT = [
  delta({ role: 'assistant', content: '' }),
  delta({ reasoning_content: 'Let me ' }),
  delta({ reasoning_content: 'see.' }),
  delta({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'Let me see.' }] }),
  delta({ reasoning_details: [{ type: 'reasoning.text', index: 0, signature: 'sig' }] }),
  delta({ content: 'I ask ' }),
  delta({ content: 'for it.' }),
  delta({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'find', arguments: '' } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] }),
  delta({ tool_calls: [{ index: 1, id: 'c2', function: { name: 'list', arguments: '' } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }),
  delta({}, 'tool_calls'),
  {
    choices: [],
    usage: {
      prompt_tokens: 10,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
  },
  '[DONE]',
];

const REASONING_ITEM = { id: 'rs', type: 'reasoning', summary: [], encrypted_content: 'enc' };
const CALL_ITEM = {
  id: 'fc',
  type: 'function_call',
  call_id: 'c1',
  name: 'find',
  arguments: '{"a":1}',
};
const LIST_ITEM = { ...CALL_ITEM, id: 'fc2', call_id: 'c2', name: 'list', arguments: '' };

const RESPONSES = [
  { type: 'response.created', response: { id: 'r', usage: null } },
  { type: 'response.output_item.added', output_index: 0, item: REASONING_ITEM },
  { type: 'response.reasoning_summary_part.added', output_index: 0, summary_index: 0 },
  { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'Let me ' },
  { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'see.' },
  { type: 'response.output_item.done', output_index: 0, item: REASONING_ITEM },
  { type: 'response.output_item.added', output_index: 1, item: { type: 'message' } },
  { type: 'response.output_text.delta', output_index: 1, delta: 'I ask ' },
  { type: 'response.output_text.delta', output_index: 1, delta: 'for it.' },
  { type: 'response.output_item.done', output_index: 1, item: { type: 'message' } },
  { type: 'response.output_item.added', output_index: 2, item: { ...CALL_ITEM, arguments: '' } },
  { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{"a":' },
  // Some upstreams have all arguments at the end only.
  { type: 'response.output_item.done', output_index: 2, item: CALL_ITEM },
  { type: 'response.output_item.added', output_index: 3, item: LIST_ITEM },
  { type: 'response.output_item.done', output_index: 3, item: LIST_ITEM },
  {
    type: 'response.completed',
    response: {
      usage: {
        input_tokens: 10,
        output_tokens: 7,
        input_tokens_details: { cached_tokens: 4 },
        output_tokens_details: { reasoning_tokens: 3 },
      },
    },
  },
];

const block = (index: number, content: object) => ({
  type: 'content_block_start',
  index,
  content_block: content,
});
const piece = (index: number, change: object) => ({
  type: 'content_block_delta',
  index,
  delta: change,
});
const stop = (index: number) => ({ type: 'content_block_stop', index });

const MESSAGES = [
  { type: 'message_start', message: { usage: { input_tokens: 6, cache_read_input_tokens: 4 } } },
  { type: 'ping' },
  block(0, { type: 'thinking', thinking: '', signature: '' }),
  piece(0, { type: 'thinking_delta', thinking: 'Let me see.' }),
  piece(0, { type: 'signature_delta', signature: 'sig' }),
  stop(0),
  block(1, { type: 'text', text: '' }),
  piece(1, { type: 'text_delta', text: 'I ask ' }),
  piece(1, { type: 'text_delta', text: 'for it.' }),
  stop(1),
  block(2, { type: 'tool_use', id: 'c1', name: 'find', input: {} }),
  piece(2, { type: 'input_json_delta', partial_json: '{"a":' }),
  piece(2, { type: 'input_json_delta', partial_json: '1}' }),
  stop(2),
  block(3, { type: 'tool_use', id: 'c2', name: 'list', input: {} }),
  piece(3, { type: 'input_json_delta', partial_json: '' }),
  stop(3),
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use' },
    usage: { output_tokens: 7, output_tokens_details: { thinking_tokens: 3 } },
  },
  { type: 'message_stop' },
];

const STREAMS = { chat: CHAT, responses: RESPONSES, messages: MESSAGES };

describe.each(Object.entries(STREAMS))('the decoder of %s streams', (name, events) => {
  const format = name as FormatName;

  it('reads reasoning, text, calls, usage and the end', () => {
    expect(fold(format, events).answer).toEqual({
      parts: [
        { type: 'reasoning', text: 'Let me see.' },
        { type: 'text', text: 'I ask for it.' },
        { type: 'call', id: 'c1', name: 'find', arguments: '{"a":1}' },
        { type: 'call', id: 'c2', name: 'list', arguments: '' },
      ],
      usage: { input: 10, cached: 4, cacheWritten: 0, output: 7, reasoning: 3 },
      stop: 'calls',
      error: null,
      isComplete: true,
    });
  });

  it('does not take a stream that is cut anywhere for a whole answer', () => {
    for (let length = 0; length < events.length; length += 1) {
      expect(fold(format, events.slice(0, length)).answer.isComplete).toBe(false);
    }
  });

  it('ignores unknown events, wrong types and data that is no JSON', () => {
    const noise = ['', 'null', '[]', '{', '7', { type: 'unknown' }, { type: 7, choices: 7 }];
    const wrong = [
      { choices: [{ delta: { content: 7, tool_calls: [{ index: 9 }, null] } }] },
      { type: 'response.output_item.added', item: null },
      { type: 'response.output_text.delta', delta: { a: 1 } },
      { type: 'content_block_start', content_block: 'text' },
      { type: 'content_block_delta', delta: { type: 'input_json_delta' } },
      { type: 'message_delta' },
    ];
    expect(() => fold(format, [...noise, ...wrong, ...events])).not.toThrow();
    expect(fold(format, [...noise, ...events]).answer).toEqual(fold(format, events).answer);
  });
});

describe('what is sent back', () => {
  it('has reasoning details and calls in chat', () => {
    expect(fold('chat', CHAT).replay).toEqual([
      {
        role: 'assistant',
        content: 'I ask for it.',
        reasoning_content: 'Let me see.',
        reasoning_details: [
          { type: 'reasoning.text', index: 0, text: 'Let me see.', signature: 'sig' },
        ],
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'find', arguments: '{"a":1}' } },
          { id: 'c2', type: 'function', function: { name: 'list', arguments: '{}' } },
        ],
      },
    ]);
  });

  it('has the items of responses as they came', () => {
    expect(fold('responses', RESPONSES).replay).toEqual([
      REASONING_ITEM,
      { type: 'message' },
      CALL_ITEM,
      LIST_ITEM,
    ]);
  });

  it('has signatures and inputs in messages', () => {
    expect(fold('messages', MESSAGES).replay).toEqual([
      { type: 'thinking', thinking: 'Let me see.', signature: 'sig' },
      { type: 'text', text: 'I ask for it.' },
      { type: 'tool_use', id: 'c1', name: 'find', input: { a: 1 } },
      { type: 'tool_use', id: 'c2', name: 'list', input: {} },
    ]);
  });
});

describe('errors in a stream', () => {
  const error = { type: 'service_error', message: 'It broke', param: null, code: 'broken' };
  const expected = { message: 'It broke', type: 'service_error', code: 'broken', param: null };

  it.each([
    ['chat', [CHAT[5]!, { error }]],
    ['responses', [RESPONSES[7]!, { ...error, type: 'error', error }]],
    ['messages', [MESSAGES[6]!, MESSAGES[7]!, { type: 'error', error }]],
  ] as const)('keep the text before them in %s', (format, events) => {
    const { answer } = fold(format, events);
    expect(answer).toMatchObject({ isComplete: false, error: expected });
    expect(textOf(answer)).toBe('I ask ');
  });

  it('come from response.failed where no event error precedes it', () => {
    const failed = { type: 'response.failed', response: { error: { code: 'x', message: 'No' } } };
    expect(fold('responses', [failed]).answer.error).toMatchObject({ code: 'x', message: 'No' });
    const flat = { type: 'error', code: 'broken', message: 'It broke', param: null };
    expect(fold('responses', [flat, failed]).answer.error).toMatchObject({ message: 'It broke' });
  });
});

const FOLDERS = {
  'openai-chat': 'chat',
  'openai-responses': 'responses',
  anthropic: 'messages',
} as const;

/** Recordings of several answers in a row, of custom tools, with deltas left out, and with a line that is no JSON. */
const IRREGULAR = /programmatic-tool|openai-phase|custom-tool|parallel-tool-call-wrapper/;

describe.each(Object.entries(FOLDERS))('recorded %s streams', (name, format) => {
  const { files, read } = outsideFolder(`recordings/${name}`);
  const regular = files.filter((file) => file.endsWith('.chunks.txt') && !IRREGULAR.test(file));

  it.skipIf(files.length === 0)('exist', () => expect(regular).not.toEqual([]));

  it.each(regular)('%s has the text, calls and tokens of an independent reader', (file) => {
    const lines = read(file).split('\n').filter(Boolean);
    const done = format === 'chat' ? ['[DONE]'] : [];
    const { answer } = fold(format, [...lines, ...done]);
    if (answer.error) return;
    const expected = readStream(
      format,
      lines.map((line) => JSON.parse(line) as object),
    );
    expect(textOf(answer)).toBe(expected.text);
    expect(callsOf(answer).map(({ name }) => name)).toEqual(expected.calls.map(({ name }) => name));
    if (expected.usage) expect(answer.usage!.output).toBe(expected.usage.output);
  });
});
