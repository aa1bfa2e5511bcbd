import { describe, expect, it } from 'vitest';
import { ask } from '../ask.ts';
import { modelTo, sharedGateway } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';

const gateway = sharedGateway();

const HISTORY = [{ role: 'user', content: 'Name a city' }];

const BEGUN = { role: 'assistant', content: 'Os' };

describe.each([
  ['partial: true', { messages: [...HISTORY, { ...BEGUN, partial: true }] }],
  ['prefix: true', { messages: [...HISTORY, { ...BEGUN, prefix: true }] }],
  ['continue_final_message', { messages: [...HISTORY, BEGUN], continue_final_message: true }],
  ['add_generation_prompt: false', { messages: [...HISTORY, BEGUN], add_generation_prompt: false }],
])('an answer of chat that the client begins by %s', (_, begun) => {
  const to = (upstream: DialectName) => ask(gateway(), 'chat', modelTo(upstream), begun);

  it('is continued by an upstream of messages', async () => {
    const { status, sent, wire } = await to('messages');
    expect(status).toBe(200);
    expect(sent.messages.at(-1)).toEqual(BEGUN);
    expect(wire).not.toMatch(/continue_final|generation_prompt/);
  });

  it('is sent unchanged to an upstream of chat', async () => {
    const { status, sent } = await to('chat');
    expect(status).toBe(200);
    expect(sent).toMatchObject(begun);
  });

  it('is refused for an upstream of responses, which cannot continue it', async () => {
    const { status, error } = await to('responses');
    expect([status, error.param]).toEqual([400, 'messages[1]']);
    expect(error.message).toMatch(
      /cannot continue an answer that the client began; .*never left out/,
    );
  });
});

it('continue_final_message after a message of the user is refused for other formats', async () => {
  const more = { continue_final_message: true };
  const { status, error } = await ask(gateway(), 'chat', modelTo('messages'), more);
  expect([status, error.param]).toEqual([400, 'continue_final_message']);
});

it.each(['chat', 'responses'] as const)(
  'an answer that a client of messages begins is refused for an upstream of %s',
  async (to) => {
    const messages = [...HISTORY, BEGUN];
    const { status, error } = await ask(gateway(), 'messages', modelTo(to), { messages });
    expect([status, error.param]).toEqual([400, 'messages[1]']);
    expect(error.message).toContain('cannot continue an answer that the client began');
  },
);
