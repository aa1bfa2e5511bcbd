import { describe, expect, it } from 'vitest';
import { ask } from './ask.ts';
import { modelTo, sharedGateway } from './gateway-daemon.ts';
import type { DialectName } from './mock-upstream.ts';

const gateway = sharedGateway();

const HOUR = { type: 'ephemeral', ttl: '1h' } as const;
const MARK = { type: 'ephemeral' } as const;
const BREAKPOINT = { mode: 'explicit' } as const;
const text = (content: string, more: object = {}) => ({ type: 'text', text: content, ...more });

/** Sends a request. @returns the upstream's body, and the header of ignored fields */
async function sent(client: DialectName, upstream: DialectName, more: object) {
  const { sent: body, ignored } = await ask(gateway(), client, modelTo(upstream), more);
  return { body, ignored };
}

const weather = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: {} } },
};

describe('cache_control of chat clients', () => {
  it('is sent to messages upstreams: of parts, messages, results of tools, and tools', async () => {
    const { body, ignored } = await sent('chat', 'messages', {
      tools: [{ ...weather, cache_control: HOUR }],
      messages: [
        { role: 'system', content: [text('Be brief.', { cache_control: HOUR })] },
        { role: 'user', content: [text('How is it?', { cache_control: null }), text('There?')] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: [text('Sun.', { cache_control: MARK })] },
        { role: 'user', content: 'And tomorrow?', cache_control: MARK },
      ],
    });
    expect(ignored).toBeNull();
    expect(body.tools).toMatchObject([{ name: 'weather', cache_control: HOUR }]);
    expect(body.system).toEqual([text('Be brief.', { cache_control: HOUR })]);
    const [first, , last] = body.messages;
    expect(JSON.stringify(first)).not.toContain('cache_control');
    expect(last.content).toEqual([
      { type: 'tool_result', tool_use_id: 'call_1', content: 'Sun.', cache_control: MARK },
      text('And tomorrow?', { cache_control: MARK }),
    ]);
  });

  it('is sent to messages upstreams at the top of the body, and then counts as a mark', async () => {
    const messages = ['a', 'b', 'c', 'd'].map((word) => ({
      role: 'user',
      content: [text(word, { cache_control: MARK })],
    }));
    const { body, ignored } = await sent('chat', 'messages', { messages, cache_control: HOUR });
    expect(body.cache_control).toEqual(HOUR);
    expect(ignored).toBe('messages[0].content[0].cache_control');
    expect(body.messages[0].content).toEqual([
      text('a'),
      ...['b', 'c', 'd'].map((word) => text(word, { cache_control: MARK })),
    ]);
  });

  it('that no upstream knows, or beyond four, is named in x-oriel-ignored', async () => {
    const unknown = [{ type: 'other' }, { type: 'ephemeral', ttl: '9h' }];
    const marks = [...unknown, ...Array(5).fill(MARK)];
    const messages = marks.map((mark, index) => ({
      role: 'user',
      content: [text(`${index}`, { cache_control: mark })],
    }));
    const { body, ignored } = await sent('chat', 'messages', { messages });
    expect(ignored).toBe(
      [0, 1, 2].map((at) => `messages[${at}].content[0].cache_control`).join(', '),
    );
    const found = JSON.stringify(body).match(/"cache_control":\{"type":"ephemeral"\}/g);
    expect(found).toHaveLength(4);
  });

  it('has no field in responses, and is named', async () => {
    const { body, ignored } = await sent('chat', 'responses', {
      cache_control: MARK,
      messages: [{ role: 'user', content: [text('Hello', { cache_control: MARK })] }],
    });
    expect(JSON.stringify(body)).not.toContain('cache_control');
    expect(ignored?.split(', ').sort()).toEqual([
      'cache_control',
      'messages[0].content[0].cache_control',
    ]);
  });
});

it.each(['chat', 'responses'] as const)(
  'cache_control of messages clients has no field in %s, and is named',
  async (upstream) => {
    const { body, ignored } = await sent('messages', upstream, {
      max_tokens: 100,
      system: [text('Be brief.', { cache_control: HOUR })],
      messages: [{ role: 'user', content: [text('Hello', { cache_control: MARK })] }],
    });
    expect(JSON.stringify(body)).not.toContain('cache_control');
    expect(ignored).toBe('system[0].cache_control, messages[0].content[0].cache_control');
  },
);

it('cache_control of messages clients reaches messages upstreams unchanged', async () => {
  const system = [text('Be brief.', { cache_control: HOUR })];
  const messages = [{ role: 'user', content: [text('Hello', { cache_control: MARK })] }];
  const given = { max_tokens: 100, system, messages };
  const { body, ignored } = await sent('messages', 'messages', given);
  expect(body).toMatchObject(given);
  expect(ignored).toBeNull();
});

describe('the cache of OpenAI clients', () => {
  const labels = {
    prompt_cache_key: 'thread-1',
    prompt_cache_retention: '24h',
    prompt_cache_options: { mode: 'explicit' },
  };
  const chat = {
    ...labels,
    messages: [{ role: 'user', content: [text('Hello', { prompt_cache_breakpoint: BREAKPOINT })] }],
  };
  const responses = {
    ...labels,
    input: [
      {
        role: 'user',
        content: [{ type: 'input_text', text: 'Hello', prompt_cache_breakpoint: BREAKPOINT }],
      },
    ],
  };

  it('has its keys and breakpoints in both formats of OpenAI', async () => {
    const toResponses = await sent('chat', 'responses', chat);
    expect(toResponses.body).toMatchObject(responses);
    expect(toResponses.ignored).toBeNull();
    const toChat = await sent('responses', 'chat', responses);
    expect(toChat.body).toMatchObject(chat);
    expect(toChat.ignored).toBeNull();
  });

  it.each([
    ['chat', chat],
    ['responses', responses],
  ] as const)(
    'breakpoints of %s become marks of messages, keys are named',
    async (client, body) => {
      const { body: received, ignored } = await sent(client, 'messages', body);
      expect(received.messages[0].content).toEqual([text('Hello', { cache_control: MARK })]);
      expect(ignored?.split(', ').sort()).toEqual(Object.keys(labels).sort());
    },
  );
});
