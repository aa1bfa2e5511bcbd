import { describe, expect, it } from 'vitest';
import { MODES, STOPS, WEATHER } from '../conversation.ts';
import { modelTo, PAIRS, sharedGateway } from '../gateway-daemon.ts';
import { type Script, USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

const CALL: Script = {
  steps: [
    { text: 'I shall look.' },
    {
      call: 'get_weather',
      id: 'call_a1',
      arguments: '{"city":"Łódź"}',
      pieces: ['{"ci', 'ty":"Łó', 'dź"}'],
    },
  ],
  usage: USAGE,
};

const PARALLEL: Script = {
  steps: [
    { call: 'get_weather', id: 'call_a1', arguments: '{"city":"Oslo"}' },
    { call: 'get_weather', id: 'call_b2', arguments: '{"city":"Rome"}' },
    { call: 'get_weather', id: 'call_c3', arguments: '{"city":"Kyiv"}' },
  ],
  usage: USAGE,
};

const DONE: Script = { steps: [{ text: 'It rains.' }], usage: USAGE };

/** The declaration of the tool in each dialect. */
const DECLARED = {
  chat: { type: 'function', function: WEATHER },
  responses: { type: 'function', ...WEATHER },
  messages: {
    name: WEATHER.name,
    description: WEATHER.description,
    input_schema: WEATHER.parameters,
  },
} as const;

/** The calls and the results in a request: [call, id, arguments] and [result, id, text]. */
// biome-ignore lint/suspicious/noExplicitAny: a body in one of three formats
function exchangesOf(body: any): unknown[] {
  // biome-ignore lint/suspicious/noExplicitAny: a body in one of three formats
  const text = (content: any): string =>
    // biome-ignore lint/suspicious/noExplicitAny: a part in one of three formats
    typeof content === 'string' ? content : content.map((part: any) => part.text).join('');
  // biome-ignore lint/suspicious/noExplicitAny: an item in one of three formats
  return (body.input ?? body.messages).flatMap((item: any) => {
    if (item.type === 'function_call') {
      return [['call', item.call_id, JSON.parse(item.arguments)]];
    }
    if (item.type === 'function_call_output') return [['result', item.call_id, text(item.output)]];
    if (item.role === 'tool') return [['result', item.tool_call_id, text(item.content)]];
    if (item.tool_calls) {
      // biome-ignore lint/suspicious/noExplicitAny: a call of chat
      return item.tool_calls.map((call: any) => [
        'call',
        call.id,
        JSON.parse(call.function.arguments),
      ]);
    }
    if (!Array.isArray(item.content)) return [];
    // biome-ignore lint/suspicious/noExplicitAny: a block of messages
    return item.content.flatMap((block: any) => {
      if (block.type === 'tool_use') return [['call', block.id, block.input]];
      if (block.type === 'tool_result') {
        return [['result', block.tool_use_id, text(block.content)]];
      }
      return [];
    });
  });
}

describe.each(PAIRS)('a client of %s, an upstream of %s', (client, upstream) => {
  const start = () =>
    talk(client, gateway().daemon, { model: modelTo(upstream), tools: [WEATHER] }).user('Weather?');

  it.each(MODES)('a tool call and its result are translated: %s', async (mode) => {
    const { upstream: mock } = gateway();
    // Some providers end calls with the reason `stop`, which a translation corrects.
    mock.play(client === upstream ? CALL : { ...CALL, stop: 'stop' }, DONE);
    const conversation = start();
    const called = await conversation.ask(mode);
    expect(called).toMatchObject({
      text: 'I shall look.',
      calls: [{ id: 'call_a1', name: 'get_weather', arguments: { city: 'Łódź' } }],
      stop: STOPS['tool-calls'][client],
    });
    const answered = await conversation.results({ id: 'call_a1', content: 'rain' }).ask(mode);
    expect(answered).toMatchObject({ text: 'It rains.', calls: [], stop: STOPS.stop[client] });

    const [first, second] = mock.requests.map(({ body }) => body);
    expect(first.tools).toMatchObject([DECLARED[upstream]]);
    expect(exchangesOf(second)).toEqual([
      ['call', 'call_a1', { city: 'Łódź' }],
      ['result', 'call_a1', 'rain'],
    ]);
  });

  it.each(MODES)('parallel tool calls and their results are translated: %s', async (mode) => {
    const { upstream: mock } = gateway();
    mock.play(PARALLEL, DONE);
    const conversation = start();
    const { calls } = await conversation.ask(mode);
    expect(calls.map(({ id, arguments: input }) => [id, input])).toEqual([
      ['call_a1', { city: 'Oslo' }],
      ['call_b2', { city: 'Rome' }],
      ['call_c3', { city: 'Kyiv' }],
    ]);
    // Results in another order than the calls are matched by id.
    await conversation
      .results(
        { id: 'call_c3', content: 'sun' },
        { id: 'call_a1', content: 'snow' },
        { id: 'call_b2', content: 'wind' },
      )
      .ask(mode);
    const { body } = mock.requests[1]!;
    const exchanges = exchangesOf(body) as [string, string, unknown][];
    expect(exchanges.filter(([kind]) => kind === 'call').map(([, id]) => id)).toEqual([
      'call_a1',
      'call_b2',
      'call_c3',
    ]);
    const results = exchanges.filter(([kind]) => kind === 'result');
    expect(new Map(results.map(([, id, text]) => [id, text]))).toEqual(
      new Map([
        ['call_a1', 'snow'],
        ['call_b2', 'wind'],
        ['call_c3', 'sun'],
      ]),
    );
    if (upstream === 'messages') {
      // One assistant turn with all calls, then one user turn with all results.
      expect(body.messages.map(({ role }: { role: string }) => role)).toEqual([
        'user',
        'assistant',
        'user',
      ]);
    }
    if (upstream === 'chat') {
      const calling = body.messages.filter((message: object) => 'tool_calls' in message);
      expect(calling).toHaveLength(1);
      expect(calling[0].tool_calls).toHaveLength(3);
    }
  });

  it.each([
    ['auto', { chat: 'auto', responses: 'auto', messages: { type: 'auto' } }],
    ['none', { chat: 'none', responses: 'none', messages: { type: 'none' } }],
    ['required', { chat: 'required', responses: 'required', messages: { type: 'any' } }],
    [
      { name: 'get_weather' },
      {
        chat: { type: 'function', function: { name: 'get_weather' } },
        responses: { type: 'function', name: 'get_weather' },
        messages: { type: 'tool', name: 'get_weather' },
      },
    ],
  ] as const)('the tool choice is translated: %j', async (toolChoice, words) => {
    const { upstream: mock } = gateway();
    mock.play(toolChoice === 'none' ? DONE : CALL);
    await start().ask('whole', { toolChoice });
    expect(mock.only().body.tool_choice).toEqual(words[upstream]);
    expect(mock.only().body.tools).toHaveLength(1);
  });
});
