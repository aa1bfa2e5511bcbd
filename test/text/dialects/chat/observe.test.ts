import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it, test } from 'vitest';
import { chat } from '../../../../src/text/dialects/chat/chat.ts';
import { chunk } from './conversation.ts';

const reported = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const usage = { input: 10, output: 5, cachedInput: 0, cacheWrite: 0, reasoning: null };
const whole = { ...reported, input_tokens: 10, output_tokens: 5, cached_input_tokens: 0 };
const marked = (event: unknown) =>
  chat.markers.some((marker) => JSON.stringify(event).includes(marker));

describe('observation of a passed-on chat stream', () => {
  it('skips chunks without usage, finish or error', () => {
    const plain = chunk({ content: 'an "error" and a "usage":{ and "finish_reason":"' }, null, {
      usage: null,
    });
    expect(marked(plain)).toBe(false);
    expect(chat.observe(plain)).toEqual({});
  });

  it('reports the end', () => {
    const end = chunk({}, 'stop');
    expect(marked(end)).toBe(true);
    expect(JSON.stringify(end).replaceAll(':', ': ')).toContain(chat.markers[3]);
    expect(chat.observe(end)).toEqual({ terminal: true });
  });

  it('reports usage and adds the missing fields to its chunk', () => {
    const event = { ...chunk(null), choices: [], usage: { ...reported } };
    expect(marked(event)).toBe(true);
    expect(chat.observe(event)).toEqual({
      usage,
      rewritten: { ...event, usage: whole },
      usageOnly: true,
    });
  });

  it('leaves a chunk with complete usage unchanged', () => {
    const event = { ...chunk({}, 'stop'), usage: whole };
    expect(chat.observe(event)).toEqual({ usage, terminal: true });
  });

  it('adds up usage that comes in parts', () => {
    const { usage: first = null } = chat.observe({ ...chunk({}), usage: { prompt_tokens: 10 } });
    const seen = chat.observe({ ...chunk({}), usage: { completion_tokens: 5 } }, first);
    expect(seen).toMatchObject({ usage, rewritten: { usage: whole } });
  });

  it('reports a failure', () => {
    for (const event of [
      { error: { message: 'No' } },
      chunk({}, 'stop', { error: 'No' }),
      { choices: [{ index: 0, error: { code: 502 } }] },
    ]) {
      expect(marked(event)).toBe(true);
      expect(Object.keys(chat.observe(event))).toEqual(['failure']);
    }
  });

  it.each([
    [{}],
    [{ choices: [null, 5] }],
    [{ choices: {}, usage: [] }],
    [{ usage: 5, error: null }],
  ])('ignores %j', (event) => {
    expect(chat.observe(event)).toEqual({});
  });
});

test('an answer that is not streamed gets all fields of usage', () => {
  const body = { choices: [], usage: { ...reported, prompt_tokens_details: { cached_tokens: 3 } } };
  expect(chat.observeAnswer(body)).toEqual({
    usage: { ...usage, cachedInput: 3 },
    body: { choices: [], usage: { ...body.usage, ...whole, cached_input_tokens: 3 } },
    failure: null,
  });
  const bare = { choices: [] };
  expect(chat.observeAnswer(bare)).toEqual({ usage: null, body: bare, failure: null });
});
