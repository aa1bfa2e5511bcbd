import { describe, expect, it } from 'vitest';
import { gatewayDaemon, modelTo } from '../gateway-daemon.ts';
import { plainBody, send } from '../raw.ts';
import { USAGE } from '../script.ts';

const gateway = gatewayDaemon();

const HISTORY = [{ role: 'user', content: 'Name a city' }];

describe.each(['partial', 'prefix'])('an answer of chat that begins with %s: true', (name) => {
  const messages = [...HISTORY, { role: 'assistant', content: 'Os', [name]: true }];

  it('is continued by an upstream of messages', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ steps: [{ text: 'lo' }], usage: USAGE });
    const body = plainBody('chat', modelTo('messages'), { messages });
    expect((await send(daemon, 'chat', body)).status).toBe(200);
    expect(mock.only().body.messages.at(-1)).toEqual({ role: 'assistant', content: 'Os' });
  });

  it('is refused for an upstream of responses, which cannot continue it', async () => {
    const { daemon } = gateway();
    const body = plainBody('chat', modelTo('responses'), { messages });
    expect((await send(daemon, 'chat', body)).status).toBe(400);
  });
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
