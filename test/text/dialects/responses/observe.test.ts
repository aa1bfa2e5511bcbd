import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it } from 'vitest';
import { responses } from '../../../../src/text/dialects/responses/responses.ts';

const usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 17,
};
const counted = { input: 10, output: 7, cachedInput: 4, cacheWrite: 0, reasoning: 3 };
const six = {
  ...usage,
  prompt_tokens: 10,
  completion_tokens: 7,
  cached_input_tokens: 4,
};
const marked = (event: unknown) =>
  responses.markers.some((marker) => JSON.stringify(event).includes(marker));

describe('observation of a passed-on responses stream', () => {
  it.each(['completed', 'incomplete'])('reports usage when it is %s', (status) => {
    const event = { type: `response.${status}`, sequence_number: 9, response: { id: 'r', usage } };
    expect(marked(event)).toBe(true);
    expect(responses.observe(event)).toEqual({
      terminal: true,
      usage: counted,
      rewritten: { ...event, response: { id: 'r', usage: six } },
    });
  });

  it('reports response.failed', () => {
    const event = { type: 'response.failed', response: { error: { code: 'x' }, usage: null } };
    expect(marked(event)).toBe(true);
    const { failure, ...rest } = responses.observe(event);
    expect(rest).toEqual({ terminal: true });
    expect(failure?.type).toBeTypeOf('string');
  });

  it.each([
    { type: 'error', code: 'x', message: 'y' },
    { type: 'error', error: { code: 'x' } },
  ])('reports an error: %j', (event) => {
    expect(marked(event)).toBe(true);
    expect(responses.observe(event).failure?.type).toBeTypeOf('string');
  });

  it('skips text deltas of any content', () => {
    const event = { type: 'response.output_text.delta', delta: '{"type":"error"}' };
    expect(marked(event)).toBe(false);
    expect(responses.observe(event)).toEqual({});
  });

  it.each([{ type: 'response.completed' }, { type: 'response.completed', response: { usage: 3 } }])(
    'ends without usage if it has none: %j',
    (event) => {
      expect(responses.observe(event)).toEqual({ terminal: true });
    },
  );

  it('adds all fields of usage to an answer that is not streamed', () => {
    expect(responses.observeAnswer({ id: 'r', usage })).toEqual({
      usage: counted,
      body: { id: 'r', usage: six },
    });
    expect(responses.observeAnswer({ id: 'r' })).toEqual({ usage: null, body: { id: 'r' } });
  });
});
