import { describe, expect, it } from 'vitest';
import { settled } from '../account.ts';
import { DIALECTS, modelTo, newKey, sharedGateway } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { plainBody, send } from '../raw.ts';
import type { Script } from '../script.ts';

const gateway = sharedGateway();

const frame = (data: object | string) =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const json = (body: object): Script => ({
  raw: { type: 'application/json', body: JSON.stringify(body) },
});
const streamed = (body: string): Script => ({
  raw: { type: 'text/event-stream', body },
  cut: (bytes) => (bytes.toString().match(/[\s\S]*?\n\n/g) ?? []).map((text) => Buffer.from(text)),
});

const chunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
const response = (more: object) => ({ id: 'resp_1', object: 'response', model: 'm', ...more });
const TEXT = 'word '.repeat(80);
const message = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: TEXT }],
};
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };

/** An answer with a usage, whole and as the events of a stream. */
const ANSWERS: Readonly<Record<DialectName, (usage: object) => readonly [object, object[]]>> = {
  chat: (usage) => [
    {
      id: 'c',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
      usage,
    },
    [chunk({ content: TEXT }), chunk({}, 'stop'), { id: 'c', choices: [], usage }],
  ],
  responses: (usage) => [
    response({ status: 'completed', output: [message], usage }),
    [
      { type: 'response.created', response: response({ status: 'in_progress', output: [] }) },
      { type: 'response.output_text.delta', delta: TEXT },
      {
        type: 'response.completed',
        response: response({ status: 'completed', output: [message], usage }),
      },
    ],
  ],
  messages: (usage) => [
    { ...MESSAGE, content: [{ type: 'text', text: TEXT }], stop_reason: 'end_turn', usage },
    [
      { type: 'message_start', message: { ...MESSAGE, content: [], usage } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ],
  ],
};

const usageOf = (dialect: DialectName, input: unknown, output: unknown, other: unknown) =>
  dialect === 'chat'
    ? {
        prompt_tokens: input,
        completion_tokens: output,
        total_tokens: other,
        prompt_tokens_details: { cached_tokens: other },
      }
    : {
        input_tokens: input,
        output_tokens: output,
        ...(dialect === 'responses' && { total_tokens: other }),
      };

let accounts = 0;
const fresh = () => newKey(gateway().daemon, `invalid-${++accounts}`);

const ask = (dialect: DialectName, key: string, stream: boolean) => {
  const more = { stream, ...(dialect === 'chat' && { stream_options: { include_usage: true } }) };
  return send(gateway().daemon, dialect, plainBody(dialect, modelTo(dialect), more), { key });
};

/** Everything within a text that names a count of tokens. */
const countsIn = (text: string) =>
  Array.from(text.matchAll(/"\w+_tokens":(?!\{)([^,}]*)/g), ([, count]) => count!);

describe.each(DIALECTS)('an answer in the format of %s, passed on', (dialect) => {
  const played = (usage: object, stream: boolean): Script => {
    const [whole, events] = ANSWERS[dialect](usage);
    const end = dialect === 'chat' ? frame('[DONE]') : '';
    return stream ? streamed(events.map(frame).join('') + end) : json(whole);
  };

  it.each([false, true])(
    'has an integer in place of a count that is a text, stream %s',
    async (stream) => {
      const key = await fresh();
      gateway().upstream.play(played(usageOf(dialect, '12', 7, '19'), stream));
      const text = await (await ask(dialect, key, stream)).text();
      const counts = countsIn(text);
      expect(counts).toContain('7');
      for (const count of counts) expect(count).toMatch(/^\d+$/);
      // The input is estimated.
      const { credits } = await settled(gateway().daemon, key);
      expect(credits.spent).toBeGreaterThan(0.07);
      expect(credits.spent).toBeLessThan(0.2);
    },
  );

  it.each([
    [-5, 1.5, null, false],
    [-5, 1.5, null, true],
    ['12', '7', '19', false],
    ['12', '7', '19', true],
    [null, '', -1, true],
  ])('is charged an estimate without any count: %j %j %j, stream %s', async (...row) => {
    const [input, output, total, stream] = row;
    const key = await fresh();
    gateway().upstream.play(played(usageOf(dialect, input, output, total), stream));
    const answer = await ask(dialect, key, stream);
    const text = await answer.text();
    expect(answer.status).toBe(200);
    for (const count of countsIn(text)) expect(count).toMatch(/^\d+$/);
    const { credits } = await settled(gateway().daemon, key);
    // 400 characters are about 100 tokens; a relayed event counts as one.
    expect(credits.spent).toBeGreaterThan(stream ? 0.01 : 0.9);
    expect(credits.spent).toBeLessThan(1.2);
  });

  it.each(['{"id":"c","choi', 'not JSON', '["a"]', '{"error":oops}'])(
    'fails at the event %s',
    async (event) => {
      const key = await fresh();
      const [, events] = ANSWERS[dialect](usageOf(dialect, 12, 7, 19));
      const [first, second, third, ...rest] = events.map(frame);
      const begun = `${first}${second}${dialect === 'messages' ? third : ''}`;
      const later = dialect === 'messages' ? rest.join('') : `${third}${rest.join('')}`;
      gateway().upstream.play(streamed(begun + frame(event) + later));
      const answer = await ask(dialect, key, true);
      const text = await answer.text();
      expect(text).toContain('word word');
      expect(text).not.toContain(event);
      expect(text).toMatch(/invalid_upstream_answer|an event that is no JSON object/);
      expect(text).not.toMatch(/\[DONE\]|message_stop|response\.completed/);
      const { credits } = await settled(gateway().daemon, key);
      expect(credits.spent).toBeGreaterThan(0);
    },
  );
});

describe('an answer of chat without choices', () => {
  it.each([false, true])('fails, stream %s', async (stream) => {
    const key = await fresh();
    const usage = usageOf('chat', 12, 7, 19);
    const body = { id: 'c', object: 'chat.completion', choices: [], usage };
    gateway().upstream.play(stream ? streamed(frame(body) + frame('[DONE]')) : json(body));
    const answer = await ask('chat', key, stream);
    expect(answer.status).toBe(502);
    expect(await answer.text()).toContain('invalid_upstream_answer');
  });
});
