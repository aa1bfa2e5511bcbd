import { describe, expect, it } from 'vitest';
import { modelTo, sharedGateway } from '../gateway-daemon.ts';
import { plainBody, send } from '../raw.ts';
import { USAGE } from '../script.ts';

const gateway = sharedGateway();

const HISTORY = [{ role: 'user', content: 'Name a city' }];

const BEGUN = { role: 'assistant', content: 'Os' };

describe.each([
  ['partial: true', { messages: [...HISTORY, { ...BEGUN, partial: true }] }],
  ['prefix: true', { messages: [...HISTORY, { ...BEGUN, prefix: true }] }],
  ['continue_final_message', { messages: [...HISTORY, BEGUN], continue_final_message: true }],
  ['add_generation_prompt: false', { messages: [...HISTORY, BEGUN], add_generation_prompt: false }],
])('an answer of chat that the client begins by %s', (_, begun) => {
  it('is continued by an upstream of messages', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ steps: [{ text: 'lo' }], usage: USAGE });
    const body = plainBody('chat', modelTo('messages'), begun);
    expect((await send(daemon, 'chat', body)).status).toBe(200);
    expect(mock.only().body.messages.at(-1)).toEqual(BEGUN);
    expect(mock.only().text).not.toMatch(/continue_final|generation_prompt/);
  });

  it('is sent unchanged to an upstream of chat', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ steps: [{ text: 'lo' }], usage: USAGE });
    const body = plainBody('chat', modelTo('chat'), begun);
    expect((await send(daemon, 'chat', body)).status).toBe(200);
    expect(mock.only().body).toMatchObject(begun);
  });

  it('is refused for an upstream of responses, which cannot continue it', async () => {
    const { daemon } = gateway();
    const response = await send(daemon, 'chat', plainBody('chat', modelTo('responses'), begun));
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; param: string } };
    expect(error.param).toBe('messages[1]');
    expect(error.message).toMatch(
      /cannot continue an answer that the client began; .*never left out/,
    );
  });
});

it('continue_final_message after a message of the user is refused for other formats', async () => {
  const { daemon } = gateway();
  const body = plainBody('chat', modelTo('messages'), { continue_final_message: true });
  const response = await send(daemon, 'chat', body);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: 'continue_final_message' } });
});

it.each(['chat', 'responses'] as const)(
  'an answer that a client of messages begins is refused for an upstream of %s',
  async (to) => {
    const { daemon } = gateway();
    const messages = [...HISTORY, { role: 'assistant', content: 'Os' }];
    const response = await send(
      daemon,
      'messages',
      plainBody('messages', modelTo(to), { messages }),
    );
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; param: string } };
    expect(error.param).toBe('messages[1]');
    expect(error.message).toContain('cannot continue an answer that the client began');
  },
);
