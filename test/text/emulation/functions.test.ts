import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { DIALECTS, modelTo, sharedGateway } from '../gateway-daemon.ts';
import { send } from '../raw.ts';
import { type Script, USAGE } from '../script.ts';

const gateway = sharedGateway();

// biome-ignore lint/suspicious/noExplicitAny: bodies and answers of several formats
type Loose = any;

const FUNCTIONS = [
  { name: 'find', description: 'Finds.', parameters: { type: 'object', properties: {} } },
  { name: 'save', parameters: { type: 'object', properties: {} } },
];
const HISTORY = [
  { role: 'user', content: 'Find it' },
  { role: 'assistant', content: null, function_call: { name: 'find', arguments: '{"a":1}' } },
  { role: 'function', name: 'find', content: 'found' },
];

/** Two calls, although a client of functions can be sent one. */
const CALLS: Script = {
  steps: [
    { text: 'I save.' },
    { call: 'save', id: 'call_a', arguments: '{"b":"c"}' },
    { call: 'find', id: 'call_b', arguments: '{"d":"e"}' },
  ],
  usage: USAGE,
};

describe.each(DIALECTS)('functions of chat, upstream %s', (to) => {
  const client = () =>
    new OpenAI({ apiKey: OWNER_KEY, baseURL: `${gateway().daemon.url}/v1`, maxRetries: 0 });
  const body = (more: object = {}): Loose => ({
    model: modelTo(to),
    messages: HISTORY,
    functions: FUNCTIONS,
    ...more,
  });

  it('are tools upstream, and the first call is a function_call', async () => {
    const { upstream: mock } = gateway();
    mock.play(CALLS);
    const { choices } = (await client().chat.completions.create(
      body({ function_call: { name: 'save' } }),
    )) as OpenAI.ChatCompletion;
    expect(choices[0]).toMatchObject({
      message: { content: 'I save.', function_call: { name: 'save', arguments: '{"b":"c"}' } },
      finish_reason: 'function_call',
    });
    expect(choices[0]!.message).not.toHaveProperty('tool_calls');
    const sent = mock.only().body;
    expect(sent.tools.map((tool: Loose) => tool.function?.name ?? tool.name)).toEqual([
      'find',
      'save',
    ]);
    expect(sent).not.toHaveProperty('functions');
    expect(JSON.stringify(sent.tool_choice)).toContain('"save"');
    if (to === 'messages') expect(sent.tool_choice.disable_parallel_tool_use).toBe(true);
    else expect(sent.parallel_tool_calls).toBe(false);
    const turns = JSON.stringify(sent.messages ?? sent.input);
    expect(turns.match(/call_function_1/g)).toHaveLength(2);
    expect(turns).toContain('"found"');
  });

  it('stream a function_call that the client accumulates', async () => {
    const { upstream: mock } = gateway();
    mock.play(CALLS);
    const stream = client().chat.completions.stream(body({ stream: true }));
    const { choices } = (await stream.finalChatCompletion()) as Loose;
    expect(choices[0]).toMatchObject({
      message: { content: 'I save.', function_call: { name: 'save', arguments: '{"b":"c"}' } },
      finish_reason: 'function_call',
    });
    expect(choices[0].message.tool_calls).toBeUndefined();
  });

  it('answer in text where nothing is called', async () => {
    const { upstream: mock } = gateway();
    mock.play({ steps: [{ text: 'Hello' }], usage: USAGE });
    const { choices } = await client().chat.completions.create(body({ function_call: 'none' }));
    expect(choices[0]).toMatchObject({ message: { content: 'Hello' }, finish_reason: 'stop' });
    expect(choices[0]!.message).not.toHaveProperty('function_call');
  });

  it.each([
    [{ tools: [{ type: 'function', function: FUNCTIONS[0] }] }, 'functions'],
    [{ tool_choice: 'auto', function_call: 'auto' }, 'function_call'],
    [{ messages: [HISTORY[0], HISTORY[2]] }, 'messages[1].name'],
    [
      {
        messages: [
          HISTORY[0],
          { ...HISTORY[1], tool_calls: [{ id: 'a', function: { name: 'b' } }] },
        ],
      },
      'messages[1].function_call',
    ],
    [{ functions: [{ name: '' }] }, 'functions[0].name'],
  ])('are refused with what contradicts them: %j', async (more, param) => {
    const response = await send(gateway().daemon, 'chat', body(more));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request', param } });
  });
});
