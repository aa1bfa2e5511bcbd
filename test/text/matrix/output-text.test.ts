import { describe, expect, it } from 'vitest';
import { DIALECTS, modelTo, sharedGateway } from '../gateway-daemon.ts';
import { eventsOf, plainBody, send } from '../raw.ts';
import { USAGE } from '../script.ts';

const gateway = sharedGateway();

describe.each(DIALECTS)('a responses answer, upstream %s', (upstream) => {
  it.each([false, true])('has all its text in output_text, streamed: %s', async (stream) => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ steps: [{ text: 'Good ' }, { text: 'day' }], usage: USAGE });
    const body = plainBody('responses', modelTo(upstream), { stream });
    const text = await (await send(daemon, 'responses', body)).text();
    const answer = stream ? eventsOf(text).at(-1)!.data.response : JSON.parse(text);
    expect(answer).toMatchObject({
      status: 'completed',
      output_text: 'Good day',
    });
  });
});
