import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FAILURE_TYPES } from '../../../src/failure.ts';
import type { TextRequest } from '../../../src/text/canonical/canonical.ts';
import type { TextEvent } from '../../../src/text/canonical/events.ts';
import { answerFromSandbox } from '../../../src/text/sandbox/sandbox.ts';
import { countTokens } from '../../../src/text/sandbox/tokens.ts';
import { called, image, reasoning, result, words } from '../parts.ts';
import { answerOf, answerTo, eventsOf, requestFor, targetFor, tool, turn } from './request.ts';

const CHAT = targetFor('chat');
const REASONER = targetFor('reasoner');

/** The first violation of the order of events; null for none. */
function orderViolation(events: readonly TextEvent[]): string | null {
  let open: number | null = null;
  let next = 0;
  for (const [index, event] of events.entries()) {
    const last = index === events.length - 1;
    if ((event.type === 'finish' || event.type === 'error') !== last)
      return `${event.type} at ${index}`;
    if (event.type === 'error') return null;
    if ((event.type === 'start') !== (index === 0)) return 'start';
    if (!('block' in event)) continue;
    if (event.type.endsWith('-start')) {
      if (open !== null || event.block !== next) return `start of ${event.block}`;
      open = event.block;
      next += 1;
    } else if (event.block !== open) return `${event.type} of ${event.block}`;
    if (event.type.endsWith('-end')) open = null;
  }
  return open === null ? null : 'a block without its end';
}

const WEATHER = tool('get_weather', {
  type: 'object',
  properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
  required: ['city'],
});
const CLOCK = tool('clock');

const prompt = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    'Call get_weather and clock',
    'call a tool',
    'sandbox:repeat=200',
    'sandbox:refuse',
    'sandbox:fail=midstream',
    'sandbox:fail=timeout',
  ),
);

const request = fc
  .record({
    prompt,
    tools: fc.constantFrom([], [WEATHER], [CLOCK, WEATHER]),
    stop: fc.option(fc.array(fc.constantFrom('the', 'no model', ' ', 'sandbox', '"', '你'))),
    maxOutputTokens: fc.option(fc.integer({ min: 1, max: 60 })),
    effort: fc.constantFrom(null, 'none', 'low', 'xhigh') as fc.Arbitrary<null | 'none' | 'low'>,
    format: fc.constantFrom<TextRequest['format']>(null, { type: 'json-object' }),
  })
  .map(({ prompt: text, effort, ...more }) =>
    requestFor(text, { ...more, reasoning: reasoning(effort) }),
  );

describe('the step budget of the sandbox', () => {
  const failureOf = async (prompt: string, more: Partial<TextRequest>) => {
    const { end } = await answerTo(prompt, more);
    return end.type === 'error' ? end.failure.message : end.type;
  };

  it('bounds all tools of a request together', async () => {
    const parameters = {
      properties: { list: { type: 'array', minItems: 500 } },
      required: ['list'],
    };
    const tools = Array.from({ length: 500 }, (_, index) => tool(`tool_${index}`, parameters));
    expect(await failureOf('call all tools', { tools: tools.slice(0, 2) })).toBe('finish');
    expect(await failureOf('call all tools', { tools })).toMatch(/too large for the sandbox/);
  });

  it('bounds tool names that occur many times in the prompt', async () => {
    const tools = Array.from({ length: 1000 }, () => tool('a'));
    expect(await failureOf('aa'.repeat(10_000), { tools })).toMatch(/too many for the sandbox/);
  });

  it('rejects more than 100 stop sequences', async () => {
    const stop = Array.from({ length: 101 }, (_, index) => `end ${index}`);
    expect(await failureOf('hello', { stop: stop.slice(1) })).toBe('finish');
    expect(await failureOf('hello', { stop })).toMatch(/at most 100 texts .* received 101/);
  });
});

describe('events of the sandbox', () => {
  it('are in order, complete and the same for the same request', async () => {
    await fc.assert(
      fc.asyncProperty(request, fc.constantFrom(CHAT, REASONER), async (asked, target) => {
        const events = await eventsOf(asked, target);
        expect(orderViolation(events)).toBe(null);
        expect(await eventsOf(asked, target)).toEqual(events);
      }),
    );
  });

  it('have as many tokens as the usage says, within max output tokens', async () => {
    await fc.assert(
      fc.asyncProperty(request, fc.constantFrom(CHAT, REASONER), async (asked, target) => {
        const { end, text, reasoning, refusal, calls } = answerOf(await eventsOf(asked, target));
        if (end.type !== 'finish') return;
        const { output, reasoning: thought, input } = end.usage!;
        const called = calls.reduce(
          (sum, { name, json }) => sum + countTokens(`${name} ${json}`),
          0,
        );
        const total = countTokens(reasoning) + countTokens(refusal) + countTokens(text) + called;
        // A stop sequence counts as output and is not emitted.
        if (end.stopSequence === null) expect(output).toBe(total);
        else expect(output).toBeGreaterThanOrEqual(total);
        expect(thought).toBe(countTokens(reasoning));
        expect(input).toBeGreaterThan(0);
        expect(output).toBeLessThanOrEqual(asked.maxOutputTokens ?? Number.POSITIVE_INFINITY);
      }),
    );
  });

  it('end before the first stop sequence', async () => {
    await fc.assert(
      fc.asyncProperty(request, async (asked) => {
        const { stop, maxOutputTokens } = asked;
        const unlimited = { ...asked, maxOutputTokens: null };
        const whole = answerOf(await eventsOf({ ...unlimited, stop: null })).text;
        const cut = answerOf(await eventsOf(unlimited));
        const places = (stop ?? []).map((one) => whole.indexOf(one)).filter((at) => at >= 0);
        expect(cut.text).toBe(places.length > 0 ? whole.slice(0, Math.min(...places)) : whole);
        if (cut.end.type === 'finish') {
          expect(cut.end.stopSequence === null).toBe(places.length === 0);
        }
        // A limit may cut a stop sequence, which then does not match.
        const limited = answerOf(await eventsOf({ ...asked, maxOutputTokens })).text;
        expect(whole.startsWith(limited)).toBe(true);
        expect((stop ?? []).some((one) => limited.includes(one))).toBe(false);
      }),
    );
  });
});

describe('an answer of the sandbox', () => {
  it('names the sandbox and quotes the prompt', async () => {
    const { text, reasoning, end } = await answerTo('Why is the sky blue?');
    expect(text).toBe('This is the sandbox: no model read this. You said: Why is the sky blue?');
    expect(reasoning).toBe('');
    expect(end).toMatchObject({ type: 'finish', reason: 'stop', stopSequence: null });
  });

  it('has one delta per word', async () => {
    const events = await eventsOf(requestFor('Hi'));
    const words = events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []));
    expect(words.slice(0, 4)).toEqual(['This', ' is', ' the', ' sandbox:']);
  });

  it('ends at max output tokens with the reason length', async () => {
    const { text, end } = await answerTo('Hi', { maxOutputTokens: 5 });
    expect(text).toBe('This is the sandbox:');
    expect(end).toMatchObject({ reason: 'length', usage: { output: 5 } });
    expect(await answerTo('Hi', {}, targetFor('chat', 5))).toMatchObject({ text, end });
  });

  it('counts reasoning tokens towards max output tokens', async () => {
    const { text, reasoning, end } = await answerTo('Hi', { maxOutputTokens: 4 }, REASONER);
    expect(text).toBe('');
    expect(countTokens(reasoning)).toBe(4);
    expect(end).toMatchObject({ reason: 'length', usage: { output: 4, reasoning: 4 } });
  });

  it('has longer reasoning for a higher effort', async () => {
    const lengths = [];
    for (const effort of ['none', 'low', 'medium', 'high', 'xhigh'] as const) {
      const more = { reasoning: reasoning(effort) };
      lengths.push((await answerTo('Hi', more)).reasoning.length);
    }
    expect(lengths[0]).toBe(0);
    expect(lengths).toEqual([...new Set(lengths)].sort((a, b) => a - b));
    expect((await answerTo('Hi', {}, REASONER)).reasoning).toContain('Step 8 of 8');
  });

  it('counts the images of the prompt', async () => {
    const { text } = await answerTo('', { turns: [turn('user', 'Look', image, image)] });
    expect(text).toContain('I see 2 images.');
  });

  it('is JSON for the response formats json-object and json-schema', async () => {
    expect(JSON.parse((await answerTo('Hi', { format: { type: 'json-object' } })).text)).toEqual({
      sandbox: true,
      said: 'Hi',
    });
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const about = { name: 'x', description: null, strict: true } as const;
    const format = { type: 'json-schema', schema, ...about } as const;
    expect(JSON.parse((await answerTo('Give me 7', { format })).text)).toEqual({ n: 7 });
  });

  it('is an invalid_request naming response_format for a contradictory schema', async () => {
    const schema = { allOf: [{ type: 'string' }, { type: 'null' }] };
    const format = {
      type: 'json-schema',
      schema,
      name: 'x',
      description: null,
      strict: null,
    } as const;
    expect(await eventsOf(requestFor('Hi', { format }))).toMatchObject([
      { type: 'error', failure: { type: 'invalid_request', param: 'response_format' } },
    ]);
  });

  it('is a 400 for a tool that only a provider has', async () => {
    const value = { type: 'web_search' };
    const native = { type: 'native', dialect: 'responses', value, path: 'tools[0]' } as const;
    expect(await eventsOf(requestFor('Hi', { tools: [native] }))).toMatchObject([
      { type: 'error', failure: { status: 400, param: 'tools[0]' } },
    ]);
  });

  it('is an error nested_too_deeply for 50,000 nested schemas', async () => {
    let deep: object = {};
    for (let level = 0; level < 50_000; level += 1) deep = { items: deep };
    const events = await eventsOf(requestFor('Hi', { tools: [tool('x', deep as never)] }));
    expect(events).toMatchObject([{ type: 'error', failure: { code: 'nested_too_deeply' } }]);
  });
});

describe('a tool call of the sandbox', () => {
  const names = ({ calls }: { calls: readonly { name: string }[] }) =>
    calls.map(({ name }) => name);
  const tools = [WEATHER, CLOCK];

  it('is made for a tool that the prompt names, with values of the prompt', async () => {
    const { calls, text, end } = await answerTo(
      'Use get_weather for the weather in Oslo, in celsius',
      {
        tools,
      },
    );
    expect(calls.map(({ name, json }) => [name, JSON.parse(json)])).toEqual([
      ['get_weather', { city: 'Oslo', unit: 'celsius' }],
    ]);
    expect(calls[0]?.id).toMatch(/^call_[\da-f]{24}$/);
    expect(text).toBe('');
    expect(end).toMatchObject({ reason: 'tool-calls' });
  });

  it.each<[prompt: string, more: Partial<TextRequest>, called: string[]]>([
    ['Hello', {}, []],
    ['Please call a tool', {}, ['get_weather']],
    ['Call both tools', {}, ['get_weather', 'clock']],
    ['clock first, get_weather then', {}, ['clock', 'get_weather']],
    ['clock first, get_weather then', { parallelToolCalls: false }, ['clock']],
    ['What does get weather say?', {}, ['get_weather']],
    ['The clockwork', {}, []],
    ['Use the clock', { toolChoice: { type: 'none' } }, []],
    ['Hello', { toolChoice: { type: 'required' } }, ['get_weather']],
    ['Use the clock', { toolChoice: { type: 'required' } }, ['clock']],
    ['Hello', { toolChoice: { type: 'tool', name: 'clock' } }, ['clock']],
    ['Use get_weather', { toolChoice: { type: 'tool', name: 'clock' } }, ['clock']],
  ])('for the prompt "%s" and %j calls %j', async (prompt, more, called) => {
    expect(names(await answerTo(prompt, { tools, ...more }))).toEqual(called);
  });

  it('is not repeated once its result is in the conversation, unless required', async () => {
    const turns = [
      turn('user', 'Use clock'),
      turn('assistant', called('a', 'clock')),
      turn('user', result('a', [words('noon')])),
    ];
    const { text, calls } = await answerTo('', { tools, turns });
    expect(calls).toEqual([]);
    expect(text).toContain('The tool clock answered: noon');
    const again = await answerTo('', { tools, turns, toolChoice: { type: 'required' } });
    expect(names(again)).toEqual(['get_weather']);
  });

  it('is left out if max output tokens do not suffice for its arguments', async () => {
    expect(await answerTo('Use get_weather', { tools, maxOutputTokens: 3 })).toMatchObject({
      calls: [],
      end: { reason: 'length' },
    });
  });

  it.each<[choice: TextRequest['toolChoice'], with_: TextRequest['tools']]>([
    [{ type: 'tool', name: 'none' }, tools],
    [{ type: 'required' }, []],
  ])('is a 400 naming tool_choice if the chosen tool is missing: %j', async (toolChoice, given) => {
    expect(await eventsOf(requestFor('Hi', { tools: given, toolChoice }))).toMatchObject([
      { type: 'error', failure: { status: 400, param: 'tool_choice' } },
    ]);
  });
});

describe('a sandbox directive in a prompt', () => {
  it.each(FAILURE_TYPES)('sandbox:fail=%s fails with that type', async (type) => {
    expect(await eventsOf(requestFor(`Please sandbox:fail=${type}.`))).toMatchObject([
      { type: 'error', failure: { type } },
    ]);
  });

  it.each([
    ['midstream', { type: 'service_error' }],
    ['truncate', { type: 'network_error', code: 'stream_truncated' }],
  ])('sandbox:fail=%s fails after some text', async (fault, failure) => {
    const { text, end } = await answerTo(`sandbox:fail=${fault}`);
    expect(text).not.toBe('');
    expect(end).toMatchObject({ type: 'error', failure });
  });

  it('sandbox:refuse answers with a refusal', async () => {
    const { refusal, text, end } = await answerTo('sandbox:refuse');
    expect(refusal).toContain('sandbox');
    expect(text).toBe('');
    expect(end).toMatchObject({ reason: 'refusal' });
  });

  it('sandbox:repeat=1000 answers with 1,000 words', async () => {
    const { text, end } = await answerTo('sandbox:repeat=1000');
    expect(text.split(' ')).toHaveLength(1000);
    expect(end).toMatchObject({ reason: 'stop' });
  });

  it.each([
    ['sandbox:fail=no', /one of invalid_request, .*, truncate, received "no"/],
    ['sandbox:delay=5', /a duration/],
    ['sandbox:delay=11m', /up to 10m/],
    ['sandbox:repeat=0', /from 1 to 1000000/],
    ['sandbox:repeat=1000001', /from 1 to 1000000/],
    ['sandbox:dealy=5s', /unknown/],
  ])('%s is an invalid_request that says what is expected', async (prompt, message) => {
    expect(await eventsOf(requestFor(prompt))).toMatchObject([
      {
        type: 'error',
        failure: {
          type: 'invalid_request',
          param: 'p',
          message: expect.stringMatching(message),
        },
      },
    ]);
  });

  it('has no effect in an earlier turn of the user', async () => {
    const turns = [
      turn('user', 'sandbox:fail=timeout'),
      turn('assistant', 'x'),
      turn('user', 'Hi'),
    ];
    expect(await answerTo('', { turns })).toMatchObject({ end: { type: 'finish' } });
  });
});

describe('answerFromSandbox', () => {
  it('waits for the promise of emit before the next event', async () => {
    let released = () => {};
    const emitted: TextEvent[] = [];
    const answered = answerFromSandbox(requestFor('Hi'), CHAT, {
      signal: new AbortController().signal,
      emit: (event) => {
        emitted.push(event);
        return new Promise((resolve) => {
          released = resolve;
        });
      },
    });
    for (let count = 1; emitted.at(-1)?.type !== 'finish'; count += 1) {
      await new Promise(setImmediate);
      expect(emitted).toHaveLength(count);
      released();
      await new Promise(setImmediate);
    }
    released();
    await answered;
  });

  it.each(['sandbox:fail=hang', 'sandbox:delay=10m', 'sandbox:repeat=1000000'])(
    'ends when the client disconnects during %s',
    async (prompt) => {
      const disconnect = new AbortController();
      const emitted: TextEvent[] = [];
      const answered = answerFromSandbox(requestFor(prompt), CHAT, {
        signal: disconnect.signal,
        emit: (event) => void emitted.push(event),
      });
      await new Promise(setImmediate);
      disconnect.abort();
      const before = emitted.length;
      await answered;
      expect(emitted).toHaveLength(before);
      expect(orderViolation([...emitted, { type: 'error', failure: null as never }])).toBe(null);
    },
  );

  it('ends when the client disconnects while emit is pending', async () => {
    const disconnect = new AbortController();
    const answered = answerFromSandbox(requestFor('Hi'), CHAT, {
      signal: disconnect.signal,
      emit: () => new Promise(() => {}),
    });
    disconnect.abort();
    await answered;
  });

  it('yields to the event loop during a long answer', async () => {
    let turns = 0;
    let over = false;
    const count = () => {
      turns += 1;
      if (!over) setImmediate(count);
    };
    setImmediate(count);
    await eventsOf(requestFor('sandbox:repeat=10000'));
    over = true;
    expect(turns).toBeGreaterThan(100);
  });
});
