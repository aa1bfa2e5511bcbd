import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it, test } from 'vitest';
import type { Json, Part, TextRequest, Turn } from '../../../../src/text/canonical/canonical.ts';
import { chat } from '../../../../src/text/dialects/chat/chat.ts';
import { wrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
import { nameOnWire } from '../../../../src/text/dialects/tool-names.ts';
import { failureOf, turn } from '../../request.ts';
import { foreign, request, TARGET } from './conversation.ts';

const LONG = 'mcp__a_server_with_a_long_name__a_tool_with_a_name_that_is_longer_still';

const words = (text: string): Part => ({ type: 'text', text, path: 'p' });
const image: Part = {
  type: 'media',
  path: 'messages[0].content[0]',
  media: 'image',
  source: { kind: 'data', mediaType: 'image/png', data: 'AAAA' },
  detail: null,
  filename: null,
};
const call = (id: string, name = 'look'): Part => ({
  type: 'tool-call',
  id,
  name,
  arguments: '{}',
  path: 'p',
});
const result = (
  callId: string,
  content: Extract<Part, { type: 'tool-result' }>['content'],
  isError = false,
): Part => ({
  type: 'tool-result',
  callId,
  content,
  isError,
  path: 'p',
});

function messagesOf(turns: readonly Turn[], target = TARGET): Json[] {
  return chat.encodeRequest(foreign({ turns }), target)['messages'] as Json[];
}

describe('a conversation encoded for a chat upstream', () => {
  it('keeps the position of system and developer messages', () => {
    expect(
      messagesOf([
        turn('system', [words('a'), words('b')]),
        turn('user', [words('c')], { name: 'Ann' }),
        turn('developer', [words('d')]),
      ]),
    ).toEqual([
      {
        role: 'system',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'user', content: 'c', name: 'Ann' },
      { role: 'developer', content: 'd' },
    ]);
  });

  it('has parallel calls in one message followed by their results', () => {
    expect(
      messagesOf([
        turn('user', [words('q')]),
        turn('assistant', [words('One moment.'), call('functions.look:0')]),
        turn('assistant', [call('b', LONG)]),
        turn('user', [words('first this')]),
        turn('user', [
          result('b', [words('B') as never]),
          result('functions.look:0', []),
          words('now'),
        ]),
      ]),
    ).toEqual([
      { role: 'user', content: 'q' },
      {
        role: 'assistant',
        content: 'One moment.',
        tool_calls: [
          { id: 'functions.look:0', type: 'function', function: { name: 'look', arguments: '{}' } },
          { id: 'b', type: 'function', function: { name: nameOnWire(LONG), arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'b', content: 'B' },
      { role: 'tool', tool_call_id: 'functions.look:0', content: '' },
      { role: 'user', content: 'first this' },
      { role: 'user', content: 'now' },
    ]);
  });

  it('moves images of tool results into the next user message and marks failed results', () => {
    expect(
      messagesOf([
        turn('assistant', [call('a'), call('b')]),
        turn('user', [
          result('a', [words('not found') as never, image as never], true),
          result('b', [words('Error: no') as never], true),
          image,
        ]),
      ]).slice(1),
    ).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'Error: not found' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: no' },
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
      },
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
      },
    ]);
  });

  it('has null as the content of a message with calls only, and no empty texts', () => {
    expect(
      messagesOf([turn('assistant', [words(''), call('a')]), turn('user', [words('x')])])[0],
    ).toMatchObject({
      content: null,
    });
  });

  it('has documents as files and other media unchanged', () => {
    const media = (more: object): Part => ({ ...image, ...more }) as Part;
    const [message] = messagesOf([
      turn('user', [
        media({ source: { kind: 'url', url: 'https://a/b.png' }, detail: 'low' }),
        media({
          media: 'document',
          source: { kind: 'data', mediaType: 'application/pdf', data: 'BB' },
        }),
        media({ media: 'audio', source: { kind: 'data', mediaType: 'audio/mpeg', data: 'CC' } }),
      ]),
    ]);
    expect(message!['content']).toEqual([
      { type: 'image_url', image_url: { url: 'https://a/b.png', detail: 'low' } },
      { type: 'file', file: { filename: 'document', file_data: 'data:application/pdf;base64,BB' } },
      { type: 'input_audio', input_audio: { data: 'CC', format: 'mp3' } },
    ]);
    for (const odd of [
      { media: 'document', source: { kind: 'url', url: 'https://a/b.pdf' } },
      { media: 'document', source: { kind: 'file', id: 'file_1' } },
      { media: 'image', source: { kind: 'file', id: 'file_1' } },
    ]) {
      expect(failureOf(() => messagesOf([turn('user', [media(odd)])]))).toMatchObject({
        param: 'messages[0].content[0]',
        code: 'not_supported_by_model',
      });
    }
  });

  it('has a prefill only for a model with partial messages', () => {
    const turns = [
      turn('user', [words('x')]),
      turn('assistant', [words('It ')], { path: 'messages[1]' }),
    ];
    expect(failureOf(() => messagesOf(turns))).toMatchObject({ param: 'messages[1]' });
    expect(messagesOf(turns, { ...TARGET, rules: 'fixed-reasoning' })[1]).toEqual({
      role: 'assistant',
      content: 'It ',
      partial: true,
    });
    const responses = foreign({ turns, dialect: 'responses' });
    expect(chat.encodeRequest(responses, TARGET)['messages']).toHaveLength(2);
  });

  it('refuses parts that only another format has', () => {
    const native: Part = {
      type: 'native',
      dialect: 'messages',
      path: 'messages[0].content[3]',
      value: {},
    };
    expect(failureOf(() => messagesOf([turn('user', [native])]))).toMatchObject({
      param: 'messages[0].content[3]',
    });
    expect(
      failureOf(() => messagesOf([turn('assistant', [native]), turn('user', [words('x')])])),
    ).toMatchObject({
      param: 'messages[0].content[3]',
    });
    const body = { top_k: 5 };
    expect(failureOf(() => chat.encodeRequest(foreign({ topK: 5, body }), TARGET))).toMatchObject({
      param: 'top_k',
    });
    const property = { ...native, path: 'container' } as never;
    expect(
      failureOf(() => chat.encodeRequest(foreign({ native: [property] }), TARGET)),
    ).toMatchObject({ param: 'container' });
    expect(
      failureOf(() => chat.encodeRequest(foreign({ tools: [property] }), TARGET)),
    ).toMatchObject({ param: 'container' });
    expect(
      failureOf(() =>
        chat.encodeRequest(
          foreign({ toolChoice: property, tools: [{ type: 'tool' } as never] }),
          TARGET,
        ),
      ).param,
    ).toBe('tool_choice');
  });
});

describe('reasoning encoded for a chat upstream', () => {
  const thought = (
    text: string,
    signature: Extract<Part, { type: 'reasoning' }>['signature'],
  ): Part => ({
    type: 'reasoning',
    text,
    signature,
    path: 'p',
  });
  const details = [{ type: 'reasoning.encrypted', data: 'xyz' }];
  const own = (provider: string | null) =>
    ({ dialect: 'chat', provider, value: { reasoning_details: details } }) as const;
  const signed = {
    dialect: 'messages',
    provider: 'some-provider',
    value: { signature: 'x' },
  } as const;
  const sent = (part: Part, target = TARGET) =>
    messagesOf([turn('assistant', [part, words('x')]), turn('user', [words('y')])], target)[0];

  it.each<[string, Part, Json]>([
    ['without a signature is replayed', thought('Hm', null), { reasoning_content: 'Hm' }],
    [
      'of this provider is replayed with its reasoning_details',
      thought('Hm', own('some-provider')),
      { reasoning_content: 'Hm', reasoning_details: details },
    ],
    [
      'with unwrapped reasoning_details is replayed',
      thought('', own(null)),
      { reasoning_details: details },
    ],
    ['of another provider is left out', thought('Hm', own('other')), {}],
    ['of another format is left out', thought('Hm', signed), {}],
  ])('%s', (_, part, expected) => {
    expect(sent(part)).toEqual({ role: 'assistant', content: 'x', ...expected });
  });

  it('of any provider is replayed to a model with fixed reasoning', () => {
    expect(sent(thought('Hm', signed), { ...TARGET, rules: 'fixed-reasoning' })).toMatchObject({
      reasoning_content: 'Hm',
    });
  });
});

test('settings are encoded by their chat names', () => {
  const tool = {
    type: 'tool',
    path: 't',
    name: LONG,
    description: 'd',
    parameters: { type: 'object' },
    strict: false,
  } as const;
  const asked: Partial<TextRequest> = {
    stream: true,
    tools: [tool],
    toolChoice: { type: 'tool', name: LONG },
    parallelToolCalls: false,
    maxOutputTokens: 9,
    temperature: 0.5,
    topP: 0.4,
    stop: ['x'],
    format: {
      type: 'json-schema',
      name: null,
      description: null,
      schema: { type: 'object' },
      strict: true,
    },
    reasoning: { effort: 'high', budget: null, summary: null },
    verbosity: 'low',
  };
  expect(chat.encodeRequest(foreign(asked), TARGET)).toEqual({
    model: 'upstream-model',
    messages: [{ role: 'user', content: 'Hello' }],
    stream: true,
    stream_options: { include_usage: true },
    tools: [
      {
        type: 'function',
        function: {
          name: nameOnWire(LONG),
          description: 'd',
          parameters: { type: 'object' },
          strict: false,
        },
      },
    ],
    tool_choice: { type: 'function', function: { name: nameOnWire(LONG) } },
    parallel_tool_calls: false,
    max_completion_tokens: 9,
    temperature: 0.5,
    top_p: 0.4,
    stop: ['x'],
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'response', schema: { type: 'object' }, strict: true },
    },
    reasoning_effort: 'high',
    verbosity: 'low',
  });
});

test.each(['auto', 'none', 'required'] as const)(
  'tool_choice %s is left out without tools',
  (type) => {
    const tool = {
      type: 'tool',
      path: 't',
      name: 'f',
      description: null,
      parameters: null,
      strict: null,
    } as const;
    expect(
      chat.encodeRequest(foreign({ toolChoice: { type }, tools: [tool] }), TARGET),
    ).toMatchObject({ tool_choice: type });
    expect(chat.encodeRequest(foreign({ toolChoice: { type } }), TARGET)).not.toHaveProperty(
      'tool_choice',
    );
  },
);

test('labels that the responses format has too are sent, others are left out', () => {
  const body = { user: 'somebody', metadata: { a: 'b' }, safety_identifier: 'x' };
  const advice = Object.keys(body);
  const sent = chat.encodeRequest(foreign({ dialect: 'responses', body, advice }), TARGET);
  expect(sent).toMatchObject({ user: 'somebody', safety_identifier: 'x' });
  expect(sent).not.toHaveProperty('metadata');
  expect(chat.encodeRequest(foreign({ body, advice }), TARGET)).not.toHaveProperty('user');
});

describe('a chat request for a chat upstream', () => {
  const own = {
    dialect: 'chat',
    provider: 'some-provider',
    value: { reasoning_details: [{ data: 'xyz' }] },
  } as const;
  const body = {
    messages: [
      { role: 'user', content: [{ type: 'hologram' }], whim: 1 },
      {
        role: 'assistant',
        content: 'x',
        reasoning_content: 'Hm',
        reasoning_details: [
          { type: 'reasoning.text', text: 'Hm', signature: wrapSignature(own) },
          {
            type: 'reasoning.text',
            text: 'No',
            signature: wrapSignature({ ...own, provider: 'other' }),
          },
        ],
        tool_calls: [{ id: 'a', type: 'function', function: { name: LONG, arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'y' },
    ],
    tools: [
      { type: 'function', function: { name: LONG, whim: 2 } },
      { type: 'custom', custom: { name: 'sing' } },
    ],
    tool_choice: { type: 'function', function: { name: LONG } },
    thinking: { type: 'enabled' },
    reasoning_effort: 'low',
    max_tokens: 5,
    prediction: { type: 'content', content: 'z' },
    user: 'somebody',
  };

  it('is sent unchanged but for long tool names and reasoning of other providers', () => {
    const name = nameOnWire(LONG);
    const { thinking, ...rest } = body;
    expect(chat.encodeRequest(request(body), TARGET)).toEqual({
      ...rest,
      model: 'upstream-model',
      messages: [
        body.messages[0],
        {
          role: 'assistant',
          content: 'x',
          reasoning_content: 'Hm',
          reasoning_details: [{ data: 'xyz' }],
          tool_calls: [{ id: 'a', type: 'function', function: { name, arguments: '{}' } }],
        },
        body.messages[2],
      ],
      tools: [{ type: 'function', function: { name, whim: 2 } }, body.tools[1]],
      tool_choice: { type: 'function', function: { name } },
    });
    expect(JSON.stringify(body)).toContain(LONG);
  });

  it('asks for usage in every stream', () => {
    const more = {
      stream: true,
      stream_options: { include_usage: false, include_obfuscation: false },
    };
    expect(chat.encodeRequest(request(more), TARGET)).toMatchObject({
      stream: true,
      stream_options: { include_usage: true, include_obfuscation: false },
    });
  });

  it('has max_completion_tokens and changed settings for a model with fixed reasoning', () => {
    const changed = { ...request({ max_tokens: 5, temperature: 1 }), temperature: null };
    const sent = chat.encodeRequest(changed, { ...TARGET, rules: 'fixed-reasoning' });
    expect(sent).toMatchObject({ max_completion_tokens: 5 });
    expect(sent).not.toHaveProperty('max_tokens');
    expect(sent).not.toHaveProperty('temperature');
  });
});
