import '../../../src/text/built-in-dialects.ts';
import { describe, expect, it, test } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import type { Json } from '../../../src/text/canonical/canonical.ts';
import { dialectNamed } from '../../../src/text/dialects/registry.ts';
import { chunk } from './chat/conversation.ts';

const USAGE = { input: 10, output: 5, cachedInput: 0, cacheWrite: 0, reasoning: null };
const CHAT = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const CHAT_SIX = { ...CHAT, input_tokens: 10, output_tokens: 5, cached_input_tokens: 0 };
const RESPONSES = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
const RESPONSES_SIX = {
  ...RESPONSES,
  prompt_tokens: 10,
  completion_tokens: 5,
  cached_input_tokens: 0,
};

const isMarked = (dialect: string, event: unknown) =>
  dialectNamed(dialect).markers.some((marker) => {
    const text = JSON.stringify(event);
    return typeof marker === 'string' ? text.includes(marker) : marker.test(text);
  });

const completed = (status: string, usage: Json) => ({
  type: `response.${status}`,
  sequence_number: 9,
  response: { id: 'r', usage },
});

/** Rows: the format, the event, and what a relay reads from it; nothing from events without a marker. */
test.each<[string, Json, object]>([
  ['chat', chunk({ content: 'an "error" and a "usage":{ and "finish_reason":"' }), {}],
  ['chat', chunk({}, 'stop'), { terminal: true }],
  [
    'chat',
    { ...chunk(null), choices: [], usage: CHAT },
    {
      usage: USAGE,
      rewritten: { ...chunk(null), choices: [], usage: CHAT_SIX },
      usageOnly: true,
    },
  ],
  ['chat', { ...chunk({}, 'stop'), usage: CHAT_SIX }, { usage: USAGE, terminal: true }],
  ['responses', { type: 'response.output_text.delta', delta: '{"type":"error"}' }, {}],
  ...['completed', 'incomplete'].map((status): [string, Json, object] => [
    'responses',
    completed(status, RESPONSES),
    { terminal: true, usage: USAGE, rewritten: completed(status, RESPONSES_SIX) },
  ]),
  ['responses', { type: 'response.completed' }, { terminal: true }],
  ['responses', { type: 'response.completed', response: { usage: 3 } }, { terminal: true }],
  [
    'messages',
    { type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 5 } } },
    { usage: USAGE },
  ],
  ['messages', { type: 'message_stop' }, { terminal: true }],
  ['messages', { type: 'ping' }, {}],
])('a relay of %s reads from %j: %j', (dialect, event, observation) => {
  const copy = structuredClone(event);
  expect(dialectNamed(dialect).observe(copy)).toEqual(observation);
  expect(isMarked(dialect, event)).toBe(Object.keys(observation).length > 0);
});

test.each<[string, Json]>([
  ['chat', { error: { message: 'No' } }],
  ['chat', chunk({}, 'stop', { error: 'No' })],
  ['chat', { choices: [{ index: 0, error: { code: 502 } }] }],
  ['responses', { type: 'response.failed', response: { error: { code: 'x' }, usage: null } }],
  ['responses', { type: 'error', code: 'x', message: 'y' }],
  ['responses', { type: 'error', error: { code: 'x' } }],
  ['messages', { type: 'error', error: { type: 'api_error', message: 'a' } }],
])('a relay of %s reads a failure from %j', (dialect, event) => {
  expect(isMarked(dialect, event)).toBe(true);
  expect(dialectNamed(dialect).observe(event).failure).toBeInstanceOf(Failure);
});

test.each<[string, Json]>([
  ['chat', {}],
  ['chat', { choices: [null, 5] }],
  ['chat', { choices: {}, usage: [] }],
  ['chat', { usage: 5, error: null }],
  ['messages', { type: 'message_start' }],
  ['messages', { type: 'message_delta', usage: 'much' }],
  ['messages', {}],
])('a relay of %s ignores %j', (dialect, event) => {
  expect(dialectNamed(dialect).observe(event)).toEqual({});
});

describe('usage that comes in parts is added up', () => {
  it('in a stream of chat', () => {
    const { observe } = dialectNamed('chat');
    const { usage = null } = observe({ ...chunk({}), usage: { prompt_tokens: 10 } });
    const last = observe({ ...chunk({}), usage: { completion_tokens: 5 } }, usage);
    expect(last).toMatchObject({ usage: USAGE, rewritten: { usage: CHAT_SIX } });
  });

  it('in a stream of messages', () => {
    const { observe } = dialectNamed('messages');
    const usage = { input_tokens: 5, cache_read_input_tokens: 10, output_tokens: 1 };
    const first = observe({ type: 'message_start', message: { usage } }).usage;
    expect(first).toMatchObject({ input: 15, cachedInput: 10, output: 1 });
    const last = observe({ type: 'message_delta', usage: { output_tokens: 7 } }, first);
    expect(last).toEqual({ usage: { ...USAGE, input: 15, cachedInput: 10, output: 7 } });
  });
});

test.each<[string, Json, Json]>([
  ['chat', { choices: [], usage: CHAT }, { choices: [], usage: CHAT_SIX }],
  ['responses', { id: 'r', usage: RESPONSES }, { id: 'r', usage: RESPONSES_SIX }],
  ['messages', { usage: RESPONSES }, { usage: RESPONSES }],
])(
  'an answer of %s that is not streamed has all fields of usage: %j',
  (dialect, body, rewritten) => {
    const { observeAnswer } = dialectNamed(dialect);
    expect(observeAnswer(structuredClone(body))).toMatchObject({ usage: USAGE, body: rewritten });
    const { usage: _, ...bare } = body;
    expect(observeAnswer(bare)).toMatchObject({ usage: null, body: bare });
  },
);
