import { expect, it } from 'vitest';
import { DIALECTS, gatewayConfig, sharedGateway } from './gateway-daemon.ts';
import { eventsOf, plainBody, send } from './raw.ts';
import { everyByte, type Script } from './script.ts';

const gateway = sharedGateway((url) => {
  const { models } = gatewayConfig(url) as { models: Record<string, object> };
  return { models: { ...models, repaired: { ...models['to-chat'], normalize: true } } };
});

const USAGE = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };

const streamed = (...choices: object[]): Script => ({
  raw: {
    type: 'text/event-stream',
    body: choices
      .map((choice) => ({ id: 'c', model: 'm', choices: [{ index: 0, ...choice }] }))
      .concat({ id: 'c', model: 'm', choices: [], usage: USAGE } as never)
      .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
      .concat('data: [DONE]\n\n')
      .join(''),
  },
});

/** The deltas of a stream for a client of chat. */
async function deltasOf(model: string, more: object = {}) {
  const body = plainBody('chat', model, { stream: true, ...more });
  const events = eventsOf(await (await send(gateway().daemon, 'chat', body)).text());
  // biome-ignore lint/suspicious/noExplicitAny: chunks of several shapes
  return events.flatMap(({ data }): any[] => data.choices?.map(({ delta }: any) => delta) ?? []);
}

const call = (name: string, args: unknown, more: object = {}) => ({
  type: 'function',
  function: { name, arguments: args },
  ...more,
});

it.each([
  ['one index for all', [call('a', '{"x":1}', { index: 0, id: 'i1' })], { index: 0, id: 'i2' }],
  ['no index', [call('a', '{"x":1}', { id: 'i1' })], { id: 'i2' }],
  ['no id', [call('a', '{"x":1}', { index: 0 })], { index: 1 }],
  ['one id for all', [call('a', '{"x":1}', { index: 0, id: 'i1' })], { index: 1, id: 'i1' }],
  ['arguments as an object', [call('a', { x: 1 }, { index: 0, id: 'i1' })], { index: 1, id: 'i2' }],
])('tool calls with %s get indices, identifiers and text', async (_, first, second) => {
  gateway().upstream.play(
    streamed(
      { delta: { role: 'assistant', tool_calls: first } },
      { delta: { tool_calls: [call('b', { y: 2 }, second)] } },
      { delta: {}, finish_reason: 'tool_calls' },
    ),
  );
  const calls: { id: string; name: string; json: string }[] = [];
  for (const { tool_calls: parts = [] } of await deltasOf('repaired')) {
    for (const {
      index,
      id,
      function: { name, arguments: json },
    } of parts) {
      calls[index] ??= { id, name, json: '' };
      calls[index]!.json += json;
    }
  }
  expect(calls).toEqual([
    { id: expect.stringMatching(/./), name: 'a', json: '{"x":1}' },
    { id: expect.stringMatching(/./), name: 'b', json: '{"y":2}' },
  ]);
  expect(calls[0]!.id).not.toBe(calls[1]!.id);
});

const TAGGED = '\n<think>\nTwo < three.</think>\n\nYes, <think> is a tag.';

it.each([
  ['whole', [TAGGED]],
  ['cut everywhere', everyByte(Buffer.from(TAGGED)).map(String)],
])('reasoning between tags leaves the text, %s', async (_, pieces) => {
  const play = () =>
    gateway().upstream.play(
      streamed(...pieces.map((content) => ({ delta: { content } })), {
        delta: {},
        finish_reason: 'stop',
      }),
    );
  const joined = (deltas: Record<string, string>[], name: string) =>
    deltas.map((delta) => delta[name] ?? '').join('');
  play();
  const deltas = await deltasOf('repaired');
  expect(joined(deltas, 'reasoning_content')).toBe('Two < three.');
  expect(joined(deltas, 'content')).toBe('Yes, <think> is a tag.');
  play();
  expect(joined(await deltasOf('to-chat'), 'content')).toBe(TAGGED);
});

it('whole answers are normalised, and their usage reaches the client', async () => {
  const message = { role: 'assistant', content: TAGGED };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const body = JSON.stringify({ id: 'c', model: 'm', choices, usage: USAGE });
  gateway().upstream.play({ raw: { type: 'application/json', body } });
  const response = await send(gateway().daemon, 'chat', plainBody('chat', 'repaired'));
  expect(await response.json()).toMatchObject({
    choices: [
      { message: { content: 'Yes, <think> is a tag.', reasoning_content: 'Two < three.' } },
    ],
    usage: USAGE,
  });
});

it("Mistral's references reach clients of its format, and are left out for others", async () => {
  const { daemon, upstream } = gateway();
  const reference = { type: 'reference', reference_ids: [0, 1] };
  const content = [{ type: 'text', text: 'Paris' }, reference, { type: 'text', text: '.' }];
  for (const client of DIALECTS) {
    upstream.play(streamed({ delta: { content }, finish_reason: 'stop' }));
    const body = plainBody(client, 'to-chat', { stream: true });
    const response = await send(daemon, client, body);
    const text = await response.text();
    expect([response.status, text.includes('reference_ids')]).toEqual([200, client === 'chat']);
    expect(text).not.toContain('untranslatable');
    expect(text).toMatch(/Paris[\s\S]*"\."/);
  }
  // Clients send the answer back with the next request.
  const turns = [
    { role: 'user', content: 'Where?' },
    { role: 'assistant', content },
    { role: 'user', content: 'Why?' },
  ];
  upstream.play({ steps: [{ text: 'Since.' }] });
  const next = await send(daemon, 'chat', { model: 'to-chat', messages: turns });
  expect([next.status, upstream.only().body.messages[1].content]).toEqual([200, content]);
  const refused = await send(daemon, 'chat', { model: 'to-messages', messages: turns });
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: { param: 'messages[1].content[1]' } },
  ]);
});
