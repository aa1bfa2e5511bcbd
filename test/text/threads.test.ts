import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../daemon.ts';
import { DIALECTS, modelTo, sharedGateway } from './gateway-daemon.ts';
import { plainBody, send } from './raw.ts';
import { USAGE } from './script.ts';

const gateway = sharedGateway();

describe.each(DIALECTS)('a request with a thread, upstream %s', (upstream) => {
  it('is refused with the details that Anthropic documents', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ steps: [{ text: 'Never.' }], usage: USAGE });
    const body = plainBody('messages', modelTo(upstream), { thread: { type: 'create' } });
    const response = await send(daemon, 'messages', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: {
        type: 'invalid_request',
        param: 'thread',
        code: 'thread_unsupported_request',
        details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
      },
    });
    expect(mock.requests).toHaveLength(0);
  });

  it('is sent again without the thread by the tool runner of the SDK', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(
      { steps: [{ call: 'add', id: 'call_1', arguments: '{"a":1}' }], usage: USAGE },
      { steps: [{ text: 'Two.' }], usage: USAGE },
    );
    const sent: unknown[] = [];
    const client = new Anthropic({
      authToken: OWNER_KEY,
      baseURL: daemon.url,
      maxRetries: 0,
      fetch: (url, init) => {
        sent.push(init?.body);
        return fetch(url, init);
      },
    });
    const add = betaTool({
      name: 'add',
      description: 'Adds one.',
      inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
      run: ({ a }) => String(Number(a) + 1),
    });
    const answer = await client.beta.messages.toolRunner({
      model: modelTo(upstream),
      max_tokens: 500,
      messages: [{ role: 'user', content: 'Add one to 1' }],
      tools: [add],
    });
    expect(answer.content).toMatchObject([{ type: 'text', text: 'Two.' }]);
    expect(mock.requests).toHaveLength(2);
    expect(sent.map((body) => String(body).includes('"thread"'))).toEqual([true, false, false]);
  });
});
