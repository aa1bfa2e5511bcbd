import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FAILURE_TYPES } from '../../../src/failure.ts';
import type { TextEvent, TextRequest } from '../../../src/text/canonical.ts';
import { answerFromSandbox } from '../../../src/text/sandbox/sandbox.ts';
import { countTokens } from '../../../src/text/sandbox/tokens.ts';
import { answerTo, eventsOf, requestFor, targetFor, toldBy, tool, turn } from './request.ts';

const CHAT = targetFor('chat');
const REASONER = targetFor('reasoner');

/** What is wrong with the order of events, or null. */
function disorder(events: readonly TextEvent[]): string | null {
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
  .map(({ prompt: said, effort, ...more }) =>
    requestFor(said, { ...more, reasoning: { effort, budget: null, summary: null } }),
  );

describe('the work of the sandbox', () => {
  const failureOf = async (prompt: string, more: Partial<TextRequest>) => {
    const { end } = await answerTo(prompt, more);
    return end.type === 'error' ? end.failure.message : end.type;
  };

  it('is bounded for all tools of a request together', async () => {
    const parameters = {
      properties: { list: { type: 'array', minItems: 500 } },
      required: ['list'],
    };
    const tools = Array.from({ length: 500 }, (_, index) => tool(`tool_${index}`, parameters));
    expect(await failureOf('call all tools', { tools: tools.slice(0, 2) })).toBe('finish');
    expect(await failureOf('call all tools', { tools })).toMatch(/too large for the sandbox/);
  });

  it('is bounded for names that the prompt has in many places', async () => {
    const tools = Array.from({ length: 1000 }, () => tool('a'));
    expect(await failureOf('aa'.repeat(10_000), { tools })).toMatch(/too many for the sandbox/);
  });

  it('is bounded for stop sequences', async () => {
    const stop = Array.from({ length: 101 }, (_, index) => `end ${index}`);
    expect(await failureOf('hello', { stop: stop.slice(1) })).toBe('finish');
    expect(await failureOf('hello', { stop })).toMatch(/at most 100 texts .* received 101/);
  });
});

describe('what the sandbox emits', () => {
  it('is in order, complete and the same every time', async () => {
    await fc.assert(
      fc.asyncProperty(request, fc.constantFrom(CHAT, REASONER), async (asked, target) => {
        const events = await eventsOf(asked, target);
        expect(disorder(events)).toBe(null);
        expect(await eventsOf(asked, target)).toEqual(events);
      }),
    );
  });

  it('has as many tokens as its usage says, and no more than allowed', async () => {
    await fc.assert(
      fc.asyncProperty(request, fc.constantFrom(CHAT, REASONER), async (asked, target) => {
        const { end, text, reasoning, refusal, calls } = toldBy(await eventsOf(asked, target));
        if (end.type !== 'finish') return;
        const { output, reasoning: thought, input } = end.usage!;
        const called = calls.reduce(
          (sum, { name, json }) => sum + countTokens(`${name} ${json}`),
          0,
        );
        const told = countTokens(reasoning) + countTokens(refusal) + countTokens(text) + called;
        // A stop sequence was written too, and is not told.
        if (end.stopSequence === null) expect(output).toBe(told);
        else expect(output).toBeGreaterThanOrEqual(told);
        expect(thought).toBe(countTokens(reasoning));
        expect(input).toBeGreaterThan(0);
        expect(output).toBeLessThanOrEqual(asked.maxOutputTokens ?? Number.POSITIVE_INFINITY);
      }),
    );
  });

  it('has no stop sequence in it, and ends where the first one would stand', async () => {
    await fc.assert(
      fc.asyncProperty(request, async (asked) => {
        const { stop, maxOutputTokens } = asked;
        const unlimited = { ...asked, maxOutputTokens: null };
        const whole = toldBy(await eventsOf({ ...unlimited, stop: null })).text;
        const cut = toldBy(await eventsOf(unlimited));
        const places = (stop ?? []).map((one) => whole.indexOf(one)).filter((at) => at >= 0);
        expect(cut.text).toBe(places.length > 0 ? whole.slice(0, Math.min(...places)) : whole);
        if (cut.end.type === 'finish') {
          expect(cut.end.stopSequence === null).toBe(places.length === 0);
        }
        // A limit may fall into the middle of a stop sequence, which then is none.
        const limited = toldBy(await eventsOf({ ...asked, maxOutputTokens })).text;
        expect(whole.startsWith(limited)).toBe(true);
        expect((stop ?? []).some((one) => limited.includes(one))).toBe(false);
      }),
    );
  });
});

describe('an answer', () => {
  it('says that it is a sandbox, and what was said', async () => {
    const { text, reasoning, end } = await answerTo('Why is the sky blue?');
    expect(text).toBe('This is the sandbox: no model read this. You said: Why is the sky blue?');
    expect(reasoning).toBe('');
    expect(end).toMatchObject({ type: 'finish', reason: 'stop', stopSequence: null });
  });

  it('comes word by word', async () => {
    const events = await eventsOf(requestFor('Hi'));
    const words = events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []));
    expect(words.slice(0, 4)).toEqual(['This', ' is', ' the', ' sandbox:']);
  });

  it('is cut at the limit exactly', async () => {
    const { text, end } = await answerTo('Hi', { maxOutputTokens: 5 });
    expect(text).toBe('This is the sandbox:');
    expect(end).toMatchObject({ reason: 'length', usage: { output: 5 } });
    expect(await answerTo('Hi', {}, targetFor('chat', 5))).toMatchObject({ text, end });
  });

  it('counts reasoning in its limit', async () => {
    const { text, reasoning, end } = await answerTo('Hi', { maxOutputTokens: 4 }, REASONER);
    expect(text).toBe('');
    expect(countTokens(reasoning)).toBe(4);
    expect(end).toMatchObject({ reason: 'length', usage: { output: 4, reasoning: 4 } });
  });

  it('reasons the longer the more it is to', async () => {
    const lengths = [];
    for (const effort of ['none', 'low', 'medium', 'high', 'xhigh'] as const) {
      const reasoning = { effort, budget: null, summary: null };
      lengths.push((await answerTo('Hi', { reasoning })).reasoning.length);
    }
    expect(lengths[0]).toBe(0);
    expect(lengths).toEqual([...new Set(lengths)].sort((a, b) => a - b));
    expect((await answerTo('Hi', {}, REASONER)).reasoning).toContain('Step 8 of 8');
  });

  it('tells how many images it was shown', async () => {
    const image = {
      type: 'media',
      media: 'image',
      source: { kind: 'url', url: 'https://example.com/a.png' },
      detail: null,
      filename: null,
      path: 'messages[0].content[1]',
    } as const;
    const { text } = await answerTo('', { turns: [turn('user', 'Look', image, image)] });
    expect(text).toContain('I see 2 images.');
  });

  it('is JSON where that is asked for', async () => {
    expect(JSON.parse((await answerTo('Hi', { format: { type: 'json-object' } })).text)).toEqual({
      sandbox: true,
      said: 'Hi',
    });
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const about = { name: 'x', description: null, strict: true } as const;
    const format = { type: 'json-schema', schema, ...about } as const;
    expect(JSON.parse((await answerTo('Give me 7', { format })).text)).toEqual({ n: 7 });
  });

  it('refuses a schema that nothing fits, by the name of its field', async () => {
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

  it('refuses what only a provider can do', async () => {
    const value = { type: 'web_search' };
    const native = { type: 'native', dialect: 'responses', value, path: 'tools[0]' } as const;
    expect(await eventsOf(requestFor('Hi', { tools: [native] }))).toMatchObject([
      { type: 'error', failure: { status: 400, param: 'tools[0]' } },
    ]);
  });

  it('refuses what nests deeper than can be followed', async () => {
    let deep: object = {};
    for (let level = 0; level < 50_000; level += 1) deep = { items: deep };
    const events = await eventsOf(requestFor('Hi', { tools: [tool('x', deep as never)] }));
    expect(events).toMatchObject([{ type: 'error', failure: { code: 'nested_too_deeply' } }]);
  });
});

describe('a tool', () => {
  const names = ({ calls }: { calls: readonly { name: string }[] }) =>
    calls.map(({ name }) => name);
  const tools = [WEATHER, CLOCK];

  it('is called where the prompt names it, with what the prompt says', async () => {
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

  it.each<[said: string, more: Partial<TextRequest>, called: string[]]>([
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
  ])('for "%s" and %j: %j', async (said, more, called) => {
    expect(names(await answerTo(said, { tools, ...more }))).toEqual(called);
  });

  it('that a system turn brings in midway is called too', async () => {
    const system = { ...turn('system'), tools: [CLOCK] };
    expect(names(await answerTo('', { turns: [system, turn('user', 'Use clock')] }))).toEqual([
      'clock',
    ]);
  });

  it('is answered for with its result', async () => {
    const call = { type: 'tool-call', id: 'a', name: 'clock', arguments: '{}', path: 'x' } as const;
    const result = {
      type: 'tool-result',
      callId: 'a',
      content: [{ type: 'text', text: 'noon', path: 'x' }],
      isError: false,
      path: 'x',
    } as const;
    const turns = [turn('user', 'Use clock'), turn('assistant', call), turn('user', result)];
    const { text, calls } = await answerTo('', { tools, turns });
    expect(calls).toEqual([]);
    expect(text).toContain('The tool clock answered: noon');
    const again = await answerTo('', { tools, turns, toolChoice: { type: 'required' } });
    expect(names(again)).toEqual(['get_weather']);
  });

  it('is not called where no room is left for its arguments', async () => {
    expect(await answerTo('Use get_weather', { tools, maxOutputTokens: 3 })).toMatchObject({
      calls: [],
      end: { reason: 'length' },
    });
  });

  it.each<[choice: TextRequest['toolChoice'], with_: TextRequest['tools']]>([
    [{ type: 'tool', name: 'none' }, tools],
    [{ type: 'required' }, []],
  ])('that is not there is refused: %j', async (toolChoice, given) => {
    expect(await eventsOf(requestFor('Hi', { tools: given, toolChoice }))).toMatchObject([
      { type: 'error', failure: { status: 400, param: 'tool_choice' } },
    ]);
  });
});

describe('a prompt that asks for trouble', () => {
  it.each(FAILURE_TYPES)('gets sandbox:fail=%s', async (type) => {
    expect(await eventsOf(requestFor(`Please sandbox:fail=${type}.`))).toMatchObject([
      { type: 'error', failure: { type } },
    ]);
  });

  it.each([
    ['midstream', { type: 'service_error' }],
    ['truncate', { type: 'network_error', code: 'stream_truncated' }],
  ])('gets sandbox:fail=%s after some text', async (accident, failure) => {
    const { text, end } = await answerTo(`sandbox:fail=${accident}`);
    expect(text).not.toBe('');
    expect(end).toMatchObject({ type: 'error', failure });
  });

  it('gets a refusal', async () => {
    const { refusal, text, end } = await answerTo('sandbox:refuse');
    expect(refusal).toContain('sandbox');
    expect(text).toBe('');
    expect(end).toMatchObject({ reason: 'refusal' });
  });

  it('gets as many words as it wants', async () => {
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
  ])('is told what is wrong with %s', async (said, message) => {
    expect(await eventsOf(requestFor(said))).toMatchObject([
      {
        type: 'error',
        failure: {
          type: 'invalid_request',
          param: 'messages[0].content',
          message: expect.stringMatching(message),
        },
      },
    ]);
  });

  it('is heard in the last turn of the user only', async () => {
    const turns = [
      turn('user', 'sandbox:fail=timeout'),
      turn('assistant', 'x'),
      turn('user', 'Hi'),
    ];
    expect(await answerTo('', { turns })).toMatchObject({ end: { type: 'finish' } });
  });
});

describe('a client', () => {
  it('that is slow is waited for', async () => {
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
    'that leaves during %s is let go',
    async (said) => {
      const leaving = new AbortController();
      const emitted: TextEvent[] = [];
      const answered = answerFromSandbox(requestFor(said), CHAT, {
        signal: leaving.signal,
        emit: (event) => void emitted.push(event),
      });
      await new Promise(setImmediate);
      leaving.abort();
      const before = emitted.length;
      await answered;
      expect(emitted).toHaveLength(before);
      expect(disorder([...emitted, { type: 'error', failure: null as never }])).toBe(null);
    },
  );

  it('that leaves while it is waited for is let go', async () => {
    const leaving = new AbortController();
    const answered = answerFromSandbox(requestFor('Hi'), CHAT, {
      signal: leaving.signal,
      emit: () => new Promise(() => {}),
    });
    leaving.abort();
    await answered;
  });

  it('shares the loop with others during a long answer', async () => {
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
