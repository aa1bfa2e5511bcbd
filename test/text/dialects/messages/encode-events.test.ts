import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import type { TextEvent, Usage } from '../../../../src/text/canonical/events.ts';
import { unwrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
import * as answers from '../answer-events.ts';
import { calls, dataOf, framesOf, refuses, START, says, thinks } from '../answer-events.ts';
import { block, delta, end, start, stop, text } from './answers.ts';

const usage: Usage = { input: 30, output: 9, cachedInput: 10, cacheWrite: 5, reasoning: 4 };
const finished = (...[reason, more]: Parameters<typeof answers.finished>) =>
  answers.finished(reason, { usage, ...more });
const own = (value: Json) => ({ dialect: 'messages', provider: 'anthropic', value }) as const;
const foreign = { dialect: 'responses', provider: 'openai', value: { id: 'rs_1' } } as const;

const sent = (events: readonly TextEvent[]) =>
  dataOf(framesOf('messages', events)).map((data) => JSON.parse(data) as Json);
const folded = (events: readonly TextEvent[]) => answers.folded('messages', events);

describe('an encoded messages stream', () => {
  it('has all event types of the format, in order', () => {
    const events = sent([
      START,
      ...thinks(0, own({ signature: 'signed' }), 'Hm'),
      ...says(1, 'Hel', 'lo'),
      ...calls(2, 'functions.x:0', '{"a":', '1}'),
      finished('tool-calls'),
    ]);
    const counted = {
      input_tokens: 15,
      cache_read_input_tokens: 10,
      cache_creation_input_tokens: 5,
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 4 },
    };
    const begun = { id: expect.stringMatching(/^msg_/), model: 'upstream-model' };
    const id = expect.stringMatching(/^[\w-]{1,64}$/);
    expect(events).toMatchObject([
      start({ input_tokens: 0, output_tokens: 0 }, begun),
      block(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, 'thinking_delta', { thinking: 'Hm' }),
      delta(0, 'signature_delta', { signature: 'signed' }),
      stop(0),
      block(1, { type: 'text', text: '' }),
      text(1, 'Hel'),
      text(1, 'lo'),
      stop(1),
      block(2, { type: 'tool_use', id, name: 'look', input: {} }),
      delta(2, 'input_json_delta', { partial_json: '{"a":' }),
      delta(2, 'input_json_delta', { partial_json: '1}' }),
      stop(2),
      ...end('tool_use', counted),
    ]);
  });

  it('has in message_start the usage known so far', () => {
    const [first] = sent([START, { type: 'usage', usage }, ...says(0, 'a')]);
    expect(first).toMatchObject({
      message: {
        usage: { input_tokens: 15, cache_read_input_tokens: 10, cache_creation_input_tokens: 5 },
      },
    });
  });

  it.each([
    ['stop', {}, 'end_turn', null],
    ['stop', { stopSequence: 'END' }, 'stop_sequence', 'END'],
    ['length', {}, 'max_tokens', null],
    ['length', { raw: 'model_context_window_exceeded' }, 'model_context_window_exceeded', null],
    ['tool-calls', {}, 'tool_use', null],
    ['refusal', {}, 'refusal', null],
    ['pause', {}, 'pause_turn', null],
    ['other', {}, 'end_turn', null],
  ] as const)(
    'has for the reason %s %j the stop_reason %s',
    (reason, more, stop_reason, stop_sequence) => {
      const events = [START, ...says(0, 'a'), finished(reason, more)];
      expect(sent(events).at(-2)).toMatchObject({
        delta: { stop_reason, stop_sequence },
      });
      expect(folded(events)).toMatchObject({ stop_reason, stop_sequence });
    },
  );

  it('has a refusal in stop_details and as a text, which is what most clients show', () => {
    const events: TextEvent[] = [START, ...refuses(0, 'No.'), finished()];
    expect(folded(events)).toMatchObject({
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: null, explanation: 'No.' },
      content: [{ type: 'text', text: 'No.' }],
    });
    const deltas = sent(events).filter(({ type }) => type === 'content_block_delta');
    expect(deltas).toMatchObject([{ delta: { type: 'text_delta', text: 'No.' } }]);
  });

  it('keeps empty thinking with a signature and drops empty texts', () => {
    const events = [
      START,
      ...thinks(0, own({ signature: 's' })),
      ...thinks(1, null),
      ...says(2),
      finished(),
    ];
    expect(folded(events)).toMatchObject({
      content: [{ type: 'thinking', thinking: '', signature: 's' }],
    });
    expect(sent(events).filter(({ type }) => type === 'content_block_start')).toHaveLength(1);
  });

  it('wraps signatures of other formats and invents none', () => {
    const events = sent([START, ...thinks(0, foreign, 'a'), ...thinks(1, null, 'b'), finished()]);
    const signed = events.flatMap(({ delta }) => (delta as Json | undefined)?.['signature'] ?? []);
    expect(signed).toHaveLength(1);
    expect(unwrapSignature(signed[0] as string)).toEqual(foreign);
  });

  it('has one empty delta for a call without arguments', () => {
    const events = sent([START, ...calls(0, 'functions.x:0'), finished('tool-calls')]);
    expect(events.filter(({ type }) => type === 'content_block_delta')).toEqual([
      delta(0, 'input_json_delta', { partial_json: '' }),
    ]);
    expect(folded([START, ...calls(0, 'functions.x:0'), finished('tool-calls')])).toMatchObject({
      content: [{ input: {} }],
    });
  });
});

describe('a messages stream that fails', () => {
  const failure = new Failure('rate_limit', 'Slow down', { originalCode: 'slow', param: 'model' });

  it('ends with an error and without message_stop', () => {
    const [, , ...rest] = sent([
      START,
      ...says(0, 'a').slice(0, 2),
      { type: 'error', failure },
      ...says(1, 'b'),
      finished(),
    ]);
    expect(rest).toEqual([
      text(0, 'a'),
      {
        type: 'error',
        error: { type: 'rate_limit', message: 'Slow down', param: 'model', code: 'slow' },
      },
    ]);
    expect(() => folded([START, { type: 'error', failure }])).toThrow(failure);
    expect(() => folded([START])).toThrow('before it was whole');
  });

  it.each(['[1]', '"text"', '{"a":'])(
    'fails for a call whose arguments are %s, not an object',
    (json) => {
      expect(() =>
        folded([START, ...calls(0, 'functions.x:0', json), finished('tool-calls')]),
      ).toThrow('not a JSON object');
    },
  );
});
