import { expect, it } from 'vitest';
import { DIALECTS, modelTo, sharedGateway } from '../gateway-daemon.ts';
import { plainBody, send } from '../raw.ts';
import { USAGE } from '../script.ts';

const gateway = sharedGateway();

it.each(DIALECTS)(
  'a client of %s gets a stream that its provider sends as text',
  async (client) => {
    const { daemon, upstream } = gateway();
    const steps = [{ text: 'Hello wörld', pieces: ['Hello ', 'wörld'] }];
    upstream.play({ steps, usage: USAGE, headers: { 'content-type': 'text/plain' } });
    const asked = plainBody(client, modelTo('chat'), { stream: true });
    const text = await (await send(daemon, client, asked)).text();
    expect(text).toMatch(
      /^(?:data|event): .*wörld.*(?:\[DONE\]|response\.completed|message_stop)/s,
    );
  },
);

it.each([
  [
    'an answer that is no JSON object (status 200): Sign in',
    { raw: { type: 'text/html', body: '<html><title>Sign in</title></html>' } },
  ],
  [
    'an answer without choices: welcome',
    { raw: { type: 'application/json', body: '{"message": "welcome"}' } },
  ],
  [
    'status 308: to https://new.example/v1',
    { refuse: { status: 308, headers: { location: 'https://new.example/v1?token=x' } } },
  ],
])('the log says what the provider sent: %s', async (detail, script) => {
  const { daemon, upstream } = gateway();
  upstream.play(script);
  const response = await send(daemon, 'chat', plainBody('chat', modelTo('chat')));
  expect(response.status).toBe(502);
  expect(await response.text()).not.toMatch(/Sign in|welcome|new\.example/);
  await expect.poll(() => daemon.log).toContainEqual(expect.objectContaining({ detail }));
});
