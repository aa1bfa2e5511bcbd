import { describe, expect, it } from 'vitest';
import { account, settled } from '../account.ts';
import { DIALECTS, gatewayConfig, newKey, PAIRS, sharedGateway } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { eventsOf, plainBody, send } from '../raw.ts';
import { type Script, USAGE } from '../script.ts';

/** Two routes of one dialect each, so that the second request of the mock is that to the second route. */
const gateway = sharedGateway((url) => {
  const { models } = gatewayConfig(url) as { models: Record<string, { routes: object[] }> };
  const twice = (dialect: DialectName) => {
    const { routes, ...model } = models[`to-${dialect}`]!;
    return [`two-${dialect}`, { ...model, routes: [...routes, { ...routes[0], model: 'second' }] }];
  };
  return { models: { ...models, ...Object.fromEntries(DIALECTS.map(twice)) } };
});

const GOOD: Script = { steps: [{ text: 'Hello' }], usage: USAGE };
/** 18 input tokens at 1000 per million, 5 cached at 100, 11 output at 10000. */
const COST = (18 * 1000 + 5 * 100 + 11 * 10_000) / 1_000_000;

const frame = (data: object | string) =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const chunk = (delta: object, more: object = {}) =>
  frame({ id: 'gen-1', object: 'chat.completion.chunk', choices: [{ index: 0, delta }], ...more });

const COMMENTS = ': OPENROUTER PROCESSING\n\n'.repeat(3);
const MESSAGE = { id: 'msg_failed-1', type: 'message', role: 'assistant', model: 'm', content: [] };
const RESPONSE = { id: 'resp_failed-1', object: 'response', status: 'in_progress', output: [] };
const ERROR = { code: 502, message: 'Provider returned error' };

/** Streams of frames without output, and the error after them. */
const FAILED: Readonly<Record<DialectName, string>> = {
  chat:
    COMMENTS +
    'data:\n\n' +
    frame({ id: '', choices: [], prompt_filter_results: [] }) +
    chunk({ role: 'assistant', content: '', reasoning: null }) +
    chunk({}, { error: ERROR, choices: [{ delta: { content: '' }, finish_reason: 'error' }] }),
  messages:
    COMMENTS +
    frame({ type: 'message_start', message: { ...MESSAGE, usage: { input_tokens: 23 } } }) +
    frame({ type: 'ping' }) +
    frame({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
  responses:
    COMMENTS +
    frame({ type: 'response.created', response: RESPONSE, sequence_number: 0 }) +
    frame({ type: 'response.in_progress', response: RESPONSE, sequence_number: 1 }) +
    frame({ type: 'response.failed', response: { ...RESPONSE, status: 'failed', error: ERROR } }),
};

const streamed = (body: string): Script => ({
  raw: { type: 'text/event-stream', body },
  cut: (bytes) => (bytes.toString().match(/[\s\S]*?\n\n/g) ?? []).map((text) => Buffer.from(text)),
});

let accounts = 0;
const freshKey = () => {
  accounts += 1;
  return newKey(gateway().daemon, `commit-${accounts}`);
};

describe.each(PAIRS)('a stream for a client of %s from an upstream of %s', (client, upstream) => {
  const ask = (key: string) => {
    const body = plainBody(client, `two-${upstream}`, { stream: true });
    return send(gateway().daemon, client, body, { key });
  };

  it('fails over without a charge at an error behind comments and empty frames', async () => {
    const { daemon, upstream: mock } = gateway();
    const key = await freshKey();
    mock.play(streamed(FAILED[upstream]), GOOD);
    const response = await ask(key);
    const text = await response.text();
    expect([response.status, mock.requests.length]).toEqual([200, 2]);
    expect(text).toContain('llo');
    expect(text).not.toMatch(/Overloaded|Provider returned|OPENROUTER|failed-1/);
    expect((await settled(daemon, key, COST)).credits.spent).toBeCloseTo(COST, 6);
  });

  it('is an HTTP error without a charge where no other route is left', async () => {
    const { daemon, upstream: mock } = gateway();
    const key = await freshKey();
    mock.play(streamed(FAILED[upstream]));
    const response = await ask(key);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      expect.toSatisfy((status: number) => status >= 500),
      expect.stringContaining('application/json'),
    ]);
    expect((await account(daemon, key)).credits).toMatchObject({ reserved: 0, spent: 0 });
  });
});

it('frames before the output are all passed on, in their order', async () => {
  const { daemon, upstream: mock } = gateway();
  const head = chunk({ role: 'assistant', content: '' }, { system_fingerprint: 'fp_1' });
  const end = frame({ id: 'gen-1', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  for (const [body, events] of [
    [head + chunk({ content: 'Hi' }) + end, 4],
    [head + end, 3],
  ] as const) {
    mock.play(streamed(COMMENTS + body + frame('[DONE]')));
    const response = await send(daemon, 'chat', plainBody('chat', 'two-chat', { stream: true }));
    const received = eventsOf(await response.text());
    expect(received).toHaveLength(events);
    expect(received[0]!.data).toMatchObject({ system_fingerprint: 'fp_1' });
  }
});

it('an overflow of the context has the words and codes that clients look for', async () => {
  const { daemon, upstream: mock } = gateway();
  const message = "This model's maximum context length is 8192 tokens.";
  const overflow = { error: { message, type: 'invalid_request_error' } };
  const ask = (client: DialectName) =>
    send(daemon, client, plainBody(client, 'to-chat', { stream: true }));
  mock.play({ refuse: { status: 400, body: overflow } });
  for (const client of DIALECTS) {
    const refused = await ask(client);
    const said = client === 'messages' ? `prompt is too long: ${message}` : message;
    const error = { code: 'context_length_exceeded', message: said };
    expect([refused.status, await refused.json()]).toMatchObject([400, { error }]);
  }
  mock.play(streamed(chunk({ content: 'Hi' }) + frame(overflow)));
  expect(await (await ask('messages')).text()).toContain(`"prompt is too long: ${message}"`);
  const failed = eventsOf(await (await ask('responses')).text()).at(-1)!.data.response;
  expect(failed.error).toEqual({ code: 'context_length_exceeded', message });
});

describe.each(DIALECTS)('for clients of %s', (client) => {
  const ask = (model: string, stream: boolean, key: string) =>
    send(gateway().daemon, client, plainBody(client, model, { stream }), { key });

  it.each([false, true])('base_resp with choices: null is an error; stream %s', async (stream) => {
    const { daemon, upstream: mock } = gateway();
    const key = await freshKey();
    const body = { choices: null, base_resp: { status_code: 1002, status_msg: 'rate limit' } };
    const type = stream ? 'text/event-stream' : 'application/json';
    mock.play({ raw: { type, body: stream ? frame(body) : JSON.stringify(body) } });
    const refused = await ask('two-chat', stream, key);
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringContaining('rate_limit'),
    ]);
    expect(mock.requests).toHaveLength(2);
    expect((await account(daemon, key)).credits).toMatchObject({ reserved: 0, spent: 0 });
  });

  it.each([false, true])('the text beside an empty delta arrives; stream %s', async (stream) => {
    const { upstream: mock } = gateway();
    const choice = {
      index: 0,
      finish_reason: 'stop',
      message: { role: 'assistant', content: 'Paris.' },
      delta: { role: 'assistant', content: '' },
    };
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    const body = { id: 'p-1', model: 'sonar', object: 'chat.completion', choices: [choice], usage };
    const type = stream ? 'text/event-stream' : 'application/json';
    mock.play({ raw: { type, body: stream ? frame(body) : JSON.stringify(body) } });
    expect(await (await ask('two-chat', stream, await freshKey())).text()).toContain('Paris.');
  });
});
