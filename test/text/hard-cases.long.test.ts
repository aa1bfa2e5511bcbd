import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY, type TestDaemon } from '../daemon.ts';
import { ask, DONE } from './ask.ts';
import { MODES, STOPS, WEATHER } from './conversation.ts';
import { DIALECTS, FOREIGN, modelTo, PAIRS, sharedGateway } from './gateway-daemon.ts';
import { eventsOf, send } from './raw.ts';
import { cutAt, everyByte, type Framing, type Script, type Step, USAGE } from './script.ts';
import { talk } from './talk.ts';

// The most frequent defects of model gateways, one test each.

const gateway = sharedGateway();

const CALL: Step = { call: 'get_weather', id: 'call_a1', arguments: '{"city":"Oslo"}' };

const TO = (upstream: string) => ({ model: `to-${upstream}`, tools: [WEATHER] });

/** Each format once on both sides of a translation. */
const WAYS = [
  ['chat', 'responses'],
  ['responses', 'messages'],
  ['messages', 'chat'],
] as const;

// biome-ignore lint/suspicious/noExplicitAny: an answer in one of three formats
type Loose = any;

/** The parts of an answer, in order; none for chat, whose messages have no order of parts. */
function shapeOf(client: string, raw: Loose): string[] {
  if (client === 'messages') {
    return raw.content.map((block: Loose) =>
      block.type === 'text' ? block.text : block.type === 'thinking' ? block.thinking : block.name,
    );
  }
  if (client === 'chat') return [];
  return raw.output.map((item: Loose) => {
    if (item.type === 'message') return item.content.map(({ text }: Loose) => text).join('');
    return item.type === 'reasoning' ? item.summary[0].text : item.name;
  });
}

describe('interleaved parts of an answer', () => {
  const INTERLEAVED: readonly (readonly [string, readonly Step[], readonly string[]])[] = [
    [
      'reason, call, reason',
      [
        { reasoning: 'First I think.', signature: 'sig-1', encrypted: 'enc-1' },
        CALL,
        { reasoning: 'Then I think again.', signature: 'sig-2', encrypted: 'enc-2' },
        { ...CALL, id: 'call_b2' },
      ],
      ['First I think.', 'get_weather', 'Then I think again.', 'get_weather'],
    ],
    [
      'text, call, text',
      [{ text: 'Before.' }, CALL, { text: 'After.' }],
      ['Before.', 'get_weather', 'After.'],
    ],
  ];
  const cases = FOREIGN.flatMap(([client, upstream]) =>
    INTERLEAVED.map((one) => [client, upstream, ...one] as const),
  );

  it.each(cases)('client %s, upstream %s: %s', async (client, upstream, _, steps, order) => {
    const { daemon, upstream: mock } = gateway();
    for (const mode of MODES) {
      mock.play({ steps, usage: USAGE }, DONE);
      const conversation = talk(client, daemon, TO(upstream)).user('Weather?');
      const answer = await conversation.ask(mode);
      const texts = steps.flatMap((step) => ('text' in step ? [step.text] : []));
      const thoughts = steps.flatMap((step) => ('reasoning' in step ? [step.reasoning] : []));
      expect(answer.text).toBe(texts.join(''));
      expect(answer.reasoning.replaceAll('\n', '')).toBe(thoughts.join(''));
      expect(answer.stop).toBe(STOPS['tool-calls'][client]);
      // A chat message does not have the order of text and calls.
      if (client !== 'chat' && upstream !== 'chat') {
        expect(shapeOf(client, answer.raw)).toEqual(order);
      }
      const results = answer.calls.map(({ id }) => ({ id, content: 'snow' }));
      expect((await conversation.results(...results).ask(mode)).text).toBe('Done.');
      if (upstream === 'messages') {
        const [, assistant, user] = mock.requests[1]!.body.messages;
        const signed = assistant.content.filter(({ type }: Loose) => type === 'thinking');
        expect(signed.map(({ thinking }: Loose) => thinking)).toEqual(thoughts);
        expect(user.content.every(({ type }: Loose) => type === 'tool_result')).toBe(true);
      }
    }
  });
});

describe('tool call ids that Anthropic rejects', () => {
  it.each(FOREIGN.filter(([, upstream]) => upstream !== 'messages'))(
    'client %s, upstream %s: are restored for the upstream',
    async (client, upstream) => {
      const { daemon, upstream: mock } = gateway();
      const id = 'functions.get_weather:0';
      mock.play({ steps: [{ ...CALL, id }], usage: USAGE }, DONE);
      const conversation = talk(client, daemon, TO(upstream)).user('Weather?');
      const { calls } = await conversation.ask();
      if (client === 'messages') expect(calls[0]!.id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      await conversation.results({ id: calls[0]!.id, content: 'snow' }).ask();
      const { messages, input } = mock.requests[1]!.body;
      if (upstream === 'chat') {
        expect(messages[1].tool_calls[0].id).toBe(id);
        expect(messages[2].tool_call_id).toBe(id);
      } else {
        expect(input[2].call_id).toBe(input[1].call_id);
      }
    },
  );
});

describe('a model with fixed reasoning', () => {
  const ASK = { model: 'always-reasons', tools: [WEATHER] };

  it.each(DIALECTS)('client %s: the reasoning is replayed to the upstream', async (client) => {
    const { daemon, upstream: mock } = gateway();
    for (const mode of MODES) {
      mock.play({ steps: [{ reasoning: 'I must look.' }, CALL], usage: USAGE }, DONE);
      const conversation = talk(client, daemon, ASK).user('Weather?');
      await conversation.ask(mode);
      await conversation.results({ id: 'call_a1', content: 'snow' }).ask(mode);
      expect(mock.requests[1]!.body.messages[1]).toMatchObject({
        role: 'assistant',
        reasoning_content: 'I must look.',
        tool_calls: [{ id: 'call_a1' }],
      });
    }
  });

  it('gets the newer name of the limit and no sampling settings, and its rules are errors', async () => {
    const sampling = { temperature: 1, top_p: 0.5, frequency_penalty: 1, presence_penalty: 1 };
    const more = { max_tokens: 77, reasoning_effort: 'max', n: 1, ...sampling };
    const { sent } = await ask(gateway(), 'chat', 'always-reasons', more);
    expect(sent).toMatchObject({ max_completion_tokens: 77, reasoning_effort: 'max' });
    for (const gone of ['max_tokens', ...Object.keys(sampling)]) {
      expect(sent).not.toHaveProperty(gone);
    }
    const { status, error, requests } = await ask(gateway(), 'chat', 'always-reasons', { n: 2 });
    expect([status, error.param, requests.length]).toEqual([400, 'n', 0]);
  });
});

describe('tool call arguments', () => {
  it.each([...FOREIGN, ['messages', 'messages'] as const])(
    'client %s, upstream %s: empty arguments become {}',
    async (client, upstream) => {
      const { daemon, upstream: mock } = gateway();
      const script = { steps: [{ ...CALL, arguments: '' }], usage: USAGE };
      for (const mode of MODES) {
        mock.play(script, DONE);
        const conversation = talk(client, daemon, TO(upstream)).user('Weather?');
        const { calls } = await conversation.ask(mode);
        expect(calls).toEqual([{ id: 'call_a1', name: 'get_weather', arguments: {} }]);
        expect((await conversation.results({ id: 'call_a1', content: 'x' }).ask(mode)).text).toBe(
          'Done.',
        );
      }
    },
  );

  it.each(['chat', 'messages'] as const)(
    'client %s, upstream responses: arguments in the last event only are kept',
    async (client) => {
      const { daemon, upstream: mock } = gateway();
      mock.play({ steps: [{ ...CALL, arguments: '{"city":"Oslo"}', late: true }], usage: USAGE });
      const { calls } = await talk(client, daemon, TO('responses')).user('Weather?').ask('events');
      expect(calls).toMatchObject([{ arguments: { city: 'Oslo' } }]);
    },
  );
});

describe('a chat chunk with usage and no choices', () => {
  it.each(DIALECTS)('client %s: is not taken for the end', async (client) => {
    const { daemon, upstream: mock } = gateway();
    const chunk = (rest: object) => ({
      id: '',
      object: '',
      created: 0,
      model: '',
      choices: [],
      ...rest,
    });
    mock.play({
      steps: [
        { frames: [chunk({ prompt_filter_results: [] })] },
        { text: 'Hello' },
        { frames: [chunk({ usage: { prompt_tokens: 3 } })] },
      ],
      usage: { input: 9, output: 4 },
    });
    const { text, usage } = await talk(client, daemon, { model: 'to-chat' })
      .user('Hi')
      .ask('events');
    expect(text).toBe('Hello');
    expect(usage.output_tokens ?? usage.completion_tokens).toBe(4);
  });
});

describe('a tool name that is too long or has other characters', () => {
  const LONG = `mcp__a_server_with_a_name__${'very_'.repeat(12)}long_tool`;
  const NAMES = [LONG, 'files.read/all'];

  it.each(PAIRS)(
    'client %s, upstream %s: is shortened upstream and restored for the client',
    async (client, up) => {
      const { daemon, upstream: mock } = gateway();
      for (const name of NAMES) {
        const tools = [{ ...WEATHER, name }];
        // The first request shows the name that the upstream gets.
        mock.play(DONE);
        await talk(client, daemon, { model: modelTo(up), tools, toolChoice: { name } })
          .user('Go')
          .ask();
        const { body } = mock.only();
        const sent = body.tools[0].name ?? body.tools[0].function.name;
        expect(sent).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(body.tool_choice.name ?? body.tool_choice.function.name).toBe(sent);
        for (const mode of MODES) {
          mock.play({ steps: [{ ...CALL, call: sent }], usage: USAGE }, DONE);
          const conversation = talk(client, daemon, { model: modelTo(up), tools }).user('Go');
          const { calls } = await conversation.ask(mode);
          expect(calls[0]!.name).toBe(name);
          await conversation.results({ id: 'call_a1', content: 'x' }).ask(mode);
          expect(mock.requests[1]!.text).not.toContain(name);
        }
      }
    },
  );
});

describe('an assistant message nested in its own text part', () => {
  // OpenAI's Agents SDK sends answers with text and calls like this.
  it.each(DIALECTS)(
    'client chat, upstream %s: is read as the message, with its reasoning',
    async (upstream) => {
      const { daemon, upstream: mock } = gateway();
      const reasoning = { reasoning: 'I think.', signature: 'sig+/=', encrypted: 'enc' };
      mock.play({ steps: [reasoning, { text: 'I look.' }, CALL], usage: USAGE }, DONE);
      const { raw } = await talk('chat', daemon, TO(upstream)).user('Weather?').ask();
      const { content, ...echo } = raw.choices[0].message;
      const ask = (more: object) =>
        talk('chat', daemon, TO(upstream))
          .user('Weather?')
          .push({
            role: 'assistant',
            content: [{ type: 'text', text: content, ...echo, ...more }],
            tool_calls: echo.tool_calls,
          })
          .results({ id: 'call_a1', content: 'snow' })
          .ask();
      expect((await ask({})).text).toBe('Done.');
      const { text } = mock.requests.at(-1)!;
      expect(text).toContain('I think.');
      if (upstream !== 'chat') expect(text).toContain(upstream === 'messages' ? 'sig+/=' : 'enc');
      for (const odd of [7, null, [null], 'x', [[]]]) {
        expect((await ask({ reasoning_details: odd })).text).toBe('Done.');
      }
    },
  );
});

describe('a stream split at any byte', () => {
  const TEXT = 'ä€🙂 Łódź 日本語 \u2028 "quoted" \\ end';
  const SCRIPT: Script = {
    steps: [
      { reasoning: 'Gründe…', signature: 'sig', encrypted: 'enc' },
      { text: TEXT, pieces: ['ä€🙂 Łódź 日', '本語 \u2028 "quoted" \\ end'] },
      { ...CALL, arguments: '{"city":"Łódź 🙂"}' },
    ],
    usage: USAGE,
  };
  const FRAMINGS: Readonly<Record<string, Framing>> = {
    ...{ LF: {}, 'CR LF': { line: '\r\n' }, CR: { line: '\r' } },
    ...{
      comments: { comments: true },
      'multi-line data': { multiline: true },
      'no space': { tight: true },
    },
  };
  const SOME = cutAt(1, 2, 3, 50, 51, 52, 200, 500);
  // The decoder of an upstream's format reads frames, whoever the client is. matrix/model.test.ts has streams that are
  // passed on.
  const cases = Object.entries(FRAMINGS).flatMap(([name, framing]) =>
    (name === 'LF' ? PAIRS : WAYS).map((pair) => [...pair, name, framing] as const),
  );

  it.each(cases)(
    'client %s, upstream %s: is read with framing: %s',
    async (client, upstream, name, framing) => {
      const { daemon, upstream: mock } = gateway();
      // sse.test.ts splits all framings.
      for (const cut of name === 'LF' ? [everyByte, SOME] : [SOME]) {
        mock.play({ ...SCRIPT, framing, cut });
        const answer = await talk(client, daemon, TO(upstream)).user('Hi').ask('events');
        expect(answer).toMatchObject({
          text: TEXT,
          reasoning: 'Gründe…',
          calls: [{ arguments: { city: 'Łódź 🙂' } }],
          stop: STOPS['tool-calls'][client],
        });
      }
    },
  );
});

describe('a request and an answer of more than 1 MB', () => {
  const SIZE = 1.2 * 1024 * 1024;

  /** The text of a responses stream, whose last event repeats the deltas. */
  async function streamed(daemon: TestDaemon, body: object): Promise<string> {
    const events = eventsOf(await (await send(daemon, 'responses', body)).text());
    const pieces = events.filter(({ event }) => event === 'response.output_text.delta');
    const text = pieces.map(({ data }) => data.delta).join('');
    const last = events.at(-1)!;
    expect(last.event).toBe('response.completed');
    expect(shapeOf('responses', last.data.response)[0] === text).toBe(true);
    return text;
  }

  it.each([...WAYS, ['responses', 'responses'] as const])(
    'client %s, upstream %s: arrive unchanged',
    async (client, upstream) => {
      const { daemon, upstream: mock } = gateway();
      const line = 'Zeile für Zeile, und 🙂 dazwischen.\n';
      const text = line.repeat(Math.ceil(SIZE / Buffer.byteLength(line)));
      const pieces = Array.from({ length: Math.ceil(text.length / 65_536) }, (_, index) =>
        text.slice(index * 65_536, (index + 1) * 65_536),
      );
      for (const mode of ['whole', 'events'] as const) {
        mock.play({ steps: [{ text, pieces }], usage: USAGE });
        const model = modelTo(upstream);
        // The official client rescans the whole buffered event at each chunk,
        // and the last events of responses have all the text.
        const read =
          client === 'responses' && mode === 'events'
            ? await streamed(daemon, { model, input: text, stream: true })
            : (await talk(client, daemon, { model }).user(text).ask(mode)).text;
        expect(read === text).toBe(true);
        expect(Buffer.byteLength(mock.only().text)).toBeGreaterThan(SIZE);
      }
    },
  );
});

describe('the header anthropic-beta', () => {
  it('forwards betas that are free or allowed to a messages upstream', async () => {
    const { daemon, upstream: mock } = gateway();
    const client = new Anthropic({ apiKey: OWNER_KEY, baseURL: daemon.url, maxRetries: 0 });
    const ask = async (model: string) => {
      mock.play(DONE);
      const { response } = await client.messages
        .create(
          { model, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
          { headers: { 'anthropic-beta': 'context-1m-2025-08-07, effort-2025-11-24,' } },
        )
        .withResponse();
      return [mock.only().headers['anthropic-beta'], response.headers.get('x-oriel-ignored')];
    };
    expect(await ask('to-messages')).toEqual(['effort-2025-11-24', 'context-1m-2025-08-07']);
    expect(await ask('allows-messages')).toEqual(['context-1m-2025-08-07,effort-2025-11-24', null]);
  });
});
