import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callsOf, textOf } from '../../../src/console/views/chat/formats/answer.ts';
import type { FormatName } from '../../../src/console/views/chat/formats/conversation.ts';
import { FORMAT_NAMES } from '../../../src/console/views/chat/formats/formats.ts';
import { outsideFolder } from '../../outside-material.ts';
import { readStream } from '../../text/recorded.ts';
import { fold } from './fold.ts';

/** One answer with reasoning, text and two calls as each format streams it, an event a line. */
const STREAMS = Object.fromEntries(
  FORMAT_NAMES.map((name) => {
    const file = join(import.meta.dirname, 'streams', `${name}.txt`);
    return [name, readFileSync(file, 'utf8').split('\n').filter(Boolean)] as const;
  }),
) as Record<FormatName, string[]>;

/** The first events of a stream, up to the one with the text before the calls. */
const startOf = (format: FormatName) => {
  const events = STREAMS[format];
  return events.slice(0, events.findIndex((event) => event.includes('I ask ')) + 1);
};

describe.each(FORMAT_NAMES)('the decoder of %s streams', (format) => {
  const events = STREAMS[format];

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
    expect(fold('chat', STREAMS.chat).replay).toEqual([
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
    const done = STREAMS.responses.filter((event) => event.includes('output_item.done'));
    const items = done.map((event) => (JSON.parse(event) as { item: object }).item);
    expect(items).toHaveLength(4);
    expect(fold('responses', STREAMS.responses).replay).toEqual(items);
  });

  it('has signatures and inputs in messages', () => {
    expect(fold('messages', STREAMS.messages).replay).toEqual([
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
    ['chat', { error }],
    ['responses', { ...error, type: 'error', error }],
    ['messages', { type: 'error', error }],
  ] as const)('keep the text before them in %s', (format, event) => {
    const { answer } = fold(format, [...startOf(format), event]);
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
