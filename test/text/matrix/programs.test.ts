import { describe, expect, it } from 'vitest';
import { MODES, WEATHER } from '../conversation.ts';
import { FOREIGN, modelTo, sharedGateway } from '../gateway-daemon.ts';
import { plainBody, send } from '../raw.ts';
import { type Script, type Step, USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

/** An output item of a responses upstream, streamed and not. */
function item(output_index: number, value: object): Step {
  return {
    frames: [
      { type: 'response.output_item.added', output_index, item: value },
      { type: 'response.output_item.done', output_index, item: value },
    ],
    block: value,
  };
}

/** A content block of a messages upstream, streamed and not. */
function block(value: object): Step {
  return {
    frames: [
      { type: 'content_block_start', index: 0, content_block: value },
      { type: 'content_block_stop', index: 0 },
    ],
    block: value,
  };
}

const CODE = 'text(await tools.get_weather({city: "Oslo"}))';

/** A program that runs at the provider calls a tool of the client. */
const CALLING: Readonly<Record<'responses' | 'messages', Script>> = {
  responses: {
    steps: [
      item(0, { id: 'cm_1', type: 'program', call_id: 'call_p', code: CODE, fingerprint: 'f' }),
      item(1, {
        id: 'fc_1',
        type: 'function_call',
        status: 'in_progress',
        call_id: 'call_a1',
        name: 'get_weather',
        arguments: '{"city":"Oslo"}',
        caller: { type: 'program', caller_id: 'call_p' },
      }),
    ],
    usage: USAGE,
  },
  messages: {
    steps: [
      block({
        type: 'tool_use',
        id: 'call_a1',
        name: 'get_weather',
        input: { city: 'Oslo' },
        caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_p' },
      }),
    ],
    stop: 'tool-calls',
    usage: USAGE,
  },
};

const RETURNED: Script = {
  steps: [
    item(0, { id: 'cmo_1', type: 'program_output', call_id: 'call_p', result: '{"snow":true}' }),
    item(1, {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'It snows.', annotations: [], logprobs: [] }],
    }),
  ],
  usage: USAGE,
};

const TRANSLATED = FOREIGN.filter(([, upstream]) => upstream !== 'chat') as readonly (readonly [
  'chat' | 'responses' | 'messages',
  'responses' | 'messages',
])[];

describe.each(TRANSLATED)('a client of %s, an upstream of %s', (client, upstream) => {
  it.each(MODES)('a tool call by a program is a tool call: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(CALLING[upstream], { steps: [{ text: 'It snows.' }], usage: USAGE });
    const settings = { model: modelTo(upstream), tools: [WEATHER] };
    const conversation = talk(client, daemon, settings).user('Weather in Oslo?');
    const { calls, text } = await conversation.ask(mode);
    expect(text).toBe('');
    expect(calls).toEqual([{ id: 'call_a1', name: 'get_weather', arguments: { city: 'Oslo' } }]);
    const answer = await conversation.results({ id: 'call_a1', content: 'snow' }).ask(mode);
    expect(answer.text).toBe('It snows.');
    expect(mock.requests[1]!.text).toContain('call_a1');
  });
});

describe.each(['chat', 'messages'] as const)(
  'a client of %s, a program at the provider',
  (client) => {
    it.each(MODES)('gets the text after the output of the program: %s', async (mode) => {
      const { daemon, upstream: mock } = gateway();
      mock.play(RETURNED);
      const asked = talk(client, daemon, { model: modelTo('responses') }).user('Weather in Oslo?');
      expect(await asked.ask(mode)).toMatchObject({ text: 'It snows.', calls: [] });
    });
  },
);

const PARAMETERS = { type: 'object', properties: {} };

/** Tools for programs at the provider only, in the format of each client. */
const PROGRAMMATIC = {
  chat: [
    { type: 'programmatic_tool_calling' },
    { type: 'function', function: { name: 'f' }, allowed_callers: ['programmatic'] },
  ],
  responses: [
    { type: 'programmatic_tool_calling' },
    { type: 'function', name: 'f', parameters: PARAMETERS, allowed_callers: ['programmatic'] },
  ],
  messages: [
    { type: 'code_execution_20250825', name: 'code_execution' },
    { name: 'f', input_schema: PARAMETERS, allowed_callers: ['code_execution_20250825'] },
  ],
} as const;

it.each(
  FOREIGN.flatMap(([client, to]) =>
    PROGRAMMATIC[client].map((tool) => [client, to, tool] as const),
  ),
)('client %s, upstream %s: a tool for programs only is refused: %j', async (client, to, tool) => {
  const { daemon, upstream: mock } = gateway();
  mock.play({ steps: [{ text: 'Paid.' }], usage: USAGE });
  const response = await send(daemon, client, plainBody(client, modelTo(to), { tools: [tool] }));
  expect(response.status).toBe(400);
  const { error } = (await response.json()) as { error: { param: string } };
  expect(error.param).toMatch(/^tools\[0\]/);
  expect(mock.requests).toHaveLength(0);
});

it.each(['chat', 'messages'] as const)(
  'a tool for direct calls only is translated for %s',
  async (to) => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ steps: [{ text: 'Fine.' }], usage: USAGE });
    const tool = {
      type: 'function',
      name: 'f',
      parameters: PARAMETERS,
      allowed_callers: ['direct'],
    };
    const response = await send(
      daemon,
      'responses',
      plainBody('responses', modelTo(to), { tools: [tool] }),
    );
    expect(response.status).toBe(200);
    await response.text();
    expect(mock.only().text).not.toContain('allowed_callers');
  },
);
