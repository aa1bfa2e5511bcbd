import { describe, expect, it, test } from 'vitest';
import { chat } from '../../../../src/text/dialects/chat/chat.ts';
import { chunk } from './conversation.ts';

const told = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const usage = { input: 10, output: 5, cachedInput: 0, cacheWrite: 0, reasoning: null };
const whole = { ...told, input_tokens: 10, output_tokens: 5, cached_input_tokens: 0 };
const marked = (event: unknown) =>
  chat.markers.some((marker) => JSON.stringify(event).includes(marker));

describe('what a relay is told', () => {
  it('of most chunks: nothing, and they need not be read', () => {
    const plain = chunk({ content: 'an "error" and a "usage":{ and "finish_reason":"' }, null, {
      usage: null,
    });
    expect(marked(plain)).toBe(false);
    expect(chat.observe(plain)).toEqual({});
  });

  it('of the end', () => {
    const end = chunk({}, 'stop');
    expect(marked(end)).toBe(true);
    expect(JSON.stringify(end).replaceAll(':', ': ')).toContain(chat.markers[3]);
    expect(chat.observe(end)).toEqual({ terminal: true });
  });

  it('of a chunk of usage, which becomes whole', () => {
    const event = { ...chunk(null), choices: [], usage: { ...told } };
    expect(marked(event)).toBe(true);
    expect(chat.observe(event)).toEqual({
      usage,
      rewritten: { ...event, usage: whole },
      usageOnly: true,
    });
  });

  it('of usage that is whole already: nothing to write anew', () => {
    const event = { ...chunk({}, 'stop'), usage: whole };
    expect(chat.observe(event)).toEqual({ usage, terminal: true });
  });

  it('of usage that comes in parts: the whole of it so far', () => {
    const { usage: first = null } = chat.observe({ ...chunk({}), usage: { prompt_tokens: 10 } });
    const seen = chat.observe({ ...chunk({}), usage: { completion_tokens: 5 } }, first);
    expect(seen).toMatchObject({ usage, rewritten: { usage: whole } });
  });

  it('of a failure', () => {
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
  ])('of %j: nothing', (event) => {
    expect(chat.observe(event)).toEqual({});
  });
});

test('a whole answer gets the usage that it must have', () => {
  const body = { choices: [], usage: { ...told, prompt_tokens_details: { cached_tokens: 3 } } };
  expect(chat.observeAnswer(body)).toEqual({
    usage: { ...usage, cachedInput: 3 },
    body: { choices: [], usage: { ...body.usage, ...whole, cached_input_tokens: 3 } },
    failure: null,
  });
  const bare = { choices: [] };
  expect(chat.observeAnswer(bare)).toEqual({ usage: null, body: bare, failure: null });
});
