import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it, test } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import type { Usage } from '../../../../src/text/canonical/events.ts';
import { responses } from '../../../../src/text/dialects/responses/responses.ts';
import { areAbsent, faultsOf, faultsOfEvent } from '../../openapi-documents.ts';
import {
  ANSWERS,
  calls,
  finished,
  refuses,
  SIGNATURE,
  START,
  says,
  thinks,
} from '../answer-events.ts';
import { contextOf, encode, eventsIn } from './events.ts';

const usage: Usage = { input: 10, output: 7, cachedInput: 4, cacheWrite: 1, reasoning: 3 };
const finish = (reason?: Parameters<typeof finished>[0]) => finished(reason, { usage });

const CUT = [START, ...calls(0, 'c1', '{"a":'), finish('length')];

const body = {
  instructions: 'Be brief.',
  tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
  tool_choice: 'auto',
  max_output_tokens: 100,
  temperature: 0.5,
  metadata: { a: 'b' },
  reasoning: { effort: 'low' },
};

/** Removes ids, which are new for each answer. */
function nameless(value: unknown): unknown {
  const text = JSON.stringify(value, (name, one) => (name === 'completed_at' ? null : one));
  return JSON.parse(text.replace(/"(resp|msg|fc|rs_oriel)_\w{20}"/g, '"$1"'));
}

describe.each(Object.entries({ ...ANSWERS, 'a call cut short': CUT }))('%s', (_, events) => {
  const context = contextOf(body);
  const stream = eventsIn(encode(events, context));
  const final = stream.at(-1)!['response'] as Json;

  it('has sequence numbers from 0, a start and an end', () => {
    expect(stream.map((event) => event['sequence_number'])).toEqual([...stream.keys()]);
    expect(stream.slice(0, 2).map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
    ]);
    expect(stream.at(-1)!['type']).toBe(`response.${final['status']}`);
  });

  it('has a done event for each added one, with the same indexes and ids', () => {
    const added = stream.filter(({ type }) => type === 'response.output_item.added');
    const done = stream.filter(({ type }) => type === 'response.output_item.done');
    expect(added.map((event) => event['output_index'])).toEqual([...added.keys()]);
    expect(done.map((event) => event['output_index'])).toEqual([...added.keys()]);
    const ids = (list: readonly Json[]) => list.map(({ item }) => (item as Json)['id']);
    expect(ids(done)).toEqual(ids(added));
    expect(done.map(({ item }) => item)).toEqual(final['output']);
    for (const event of stream) {
      if (event['item_id'])
        expect(event['item_id']).toBe(ids(added)[event['output_index'] as number]);
    }
  });

  it('folds to the answer that is not streamed', () => {
    expect(nameless(responses.foldEvents(context, [events]))).toEqual(nameless(final));
  });

  test.skipIf(areAbsent)('follows the public documents (in the folder ORIEL_SHARED)', () => {
    for (const event of stream) {
      expect(faultsOfEvent('openai', event)).toEqual([]);
      expect(faultsOfEvent('open', event)).toEqual([]);
    }
    expect(faultsOf('openai', 'Response', final)).toEqual([]);
    expect(faultsOf('open', 'ResponseResource', final)).toEqual([]);
  });
});

describe('encoded responses events', () => {
  it('have the official order', () => {
    const stream = eventsIn(
      encode([
        START,
        ...thinks(0, SIGNATURE, 'hm'),
        ...says(1, 'a'),
        ...calls(2, 'c1', '{}'),
        ...refuses(3, 'no'),
        finish(),
      ]),
    );
    expect(stream.map(({ type }) => String(type).replace('response.', ''))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'refusal.delta',
      'refusal.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
  });

  it('echo the request and count usage in both forms', () => {
    const answer = responses.foldEvents(contextOf(body), [[START, ...says(0, 'Hello'), finish()]]);
    expect(answer).toMatchObject({
      object: 'response',
      created_at: 1_700_000_000,
      status: 'completed',
      model: 'upstream-model',
      instructions: 'Be brief.',
      max_output_tokens: 100,
      temperature: 0.5,
      metadata: { a: 'b' },
      reasoning: { effort: 'low', summary: null },
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object' }, strict: false }],
      store: false,
      output_text: 'Hello',
      usage: {
        prompt_tokens: 10,
        completion_tokens: 7,
        total_tokens: 17,
        input_tokens: 10,
        output_tokens: 7,
        cached_input_tokens: 4,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
        output_tokens_details: { reasoning_tokens: 3 },
      },
    });
  });

  it('mark only the call that was cut as incomplete', () => {
    const events = [START, ...says(0, 'a'), ...calls(1, 'c1', '{"a":'), finish('length')];
    const answer = responses.foldEvents(contextOf(), [events]);
    expect(answer).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'completed' }, { status: 'incomplete', arguments: '{"a":' }],
    });
  });

  it('have call ids that every provider accepts', () => {
    const { output } = responses.foldEvents(contextOf(), [
      [START, ...calls(0, 'functions.x:0'), finish('tool-calls')],
    ]);
    const [item] = output as Json[];
    expect(item!['call_id']).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    const input = [item, { type: 'function_call_output', call_id: item!['call_id'], output: 'x' }];
    const { turns } = responses.decodeRequest({ model: 'm', input });
    expect(turns[0]!.parts[0]).toMatchObject({ id: 'functions.x:0' });
    expect(turns[1]!.parts[0]).toMatchObject({ callId: 'functions.x:0' });
  });

  const failure = new Failure('rate_limit', 'too fast', { originalCode: 'slow_down' });

  it('end a failed stream with error and response.failed', () => {
    const frames = encode([
      START,
      { type: 'text-start', block: 0 },
      { type: 'text-delta', block: 0, text: 'Hel' },
      { type: 'error', failure },
      finish(),
    ]);
    const [error, failed] = eventsIn(frames).slice(-2);
    expect(error).toMatchObject({
      type: 'error',
      code: 'slow_down',
      message: 'too fast',
      param: null,
      error: { type: 'rate_limit', message: 'too fast', code: 'slow_down', param: null },
    });
    expect(failed).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'rate_limit_exceeded', message: 'too fast' },
        output: [],
      },
    });
    for (const event of areAbsent ? [] : [error, failed]) {
      expect(faultsOfEvent('openai', event)).toEqual([]);
      expect(faultsOfEvent('open', event)).toEqual([]);
    }
    expect(() => responses.foldEvents(contextOf(), [[START, { type: 'error', failure }]])).toThrow(
      failure,
    );
  });

  it('have error and response.failed for a failure before the start', () => {
    const types = eventsIn(encode([{ type: 'error', failure }])).map(({ type }) => type);
    expect(types).toEqual(['response.created', 'response.in_progress', 'error', 'response.failed']);
  });

  it('do not fold to an answer without an end', () => {
    expect(() => responses.foldEvents(contextOf(), [[START, ...says(0, 'a')]])).toThrow(
      expect.objectContaining({ type: 'network_error' }),
    );
    expect(() => responses.foldEvents(contextOf(), [])).toThrow(Failure);
  });
});
