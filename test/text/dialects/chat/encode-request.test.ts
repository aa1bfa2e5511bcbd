import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it, test } from 'vitest';
import type {
  Json,
  Part,
  TextRequest,
  Tool,
  Turn,
} from '../../../../src/text/canonical/canonical.ts';
import { chat } from '../../../../src/text/dialects/chat/chat.ts';
import { wrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
import { nameOnWire } from '../../../../src/text/dialects/tool-names.ts';
import {
  called,
  dataOf,
  fileOf,
  image,
  media,
  reasoning,
  result,
  signed,
  thought,
  tool,
  urlOf,
  words,
} from '../../parts.ts';
import { failureOf, turn } from '../../request.ts';
import { foreign, request, TARGET } from './conversation.ts';

const LONG = 'mcp__a_server_with_a_long_name__a_tool_with_a_name_that_is_longer_still';

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
        turn('assistant', [words('One moment.'), called('functions.look:0')]),
        turn('assistant', [called('b', LONG)]),
        turn('user', [words('first this')]),
        turn('user', [result('b', [words('B')]), result('functions.look:0', []), words('now')]),
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
        turn('assistant', [called('a'), called('b')]),
        turn('user', [
          result('a', [words('not found'), image], true),
          result('b', [words('Error: no')], true),
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
      messagesOf([turn('assistant', [words(''), called('a')]), turn('user', [words('x')])])[0],
    ).toMatchObject({
      content: null,
    });
  });

  it('has documents as files and other media unchanged', () => {
    const [message] = messagesOf([
      turn('user', [
        media(urlOf('https://a/b.png'), { detail: 'low' }),
        media(dataOf('application/pdf'), { media: 'document' }),
        media(dataOf('audio/mpeg'), { media: 'audio' }),
      ]),
    ]);
    expect(message!['content']).toEqual([
      { type: 'image_url', image_url: { url: 'https://a/b.png', detail: 'low' } },
      {
        type: 'file',
        file: { filename: 'document', file_data: 'data:application/pdf;base64,AAAA' },
      },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
    ]);
    for (const odd of [
      media(urlOf('https://a/b.pdf'), { media: 'document' }),
      media(fileOf('file_1'), { media: 'document' }),
      media(fileOf('file_1')),
    ]) {
      expect(failureOf(() => messagesOf([turn('user', [odd])]))).toMatchObject({
        param: 'p',
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
    const property = { ...native, path: 'container' } as const;
    const turns = [turn('user', [native])];
    const later = [turn('assistant', [native]), turn('user', [words('x')])];
    for (const [more, param] of [
      [{ turns }, native.path],
      [{ turns: later }, native.path],
      [{ topK: 5, body: { top_k: 5 } }, 'top_k'],
      [{ native: [property] }, 'container'],
      [{ tools: [property] }, 'container'],
      [{ toolChoice: { ...property, path: 'tool_choice' }, tools: [tool('f')] }, 'tool_choice'],
    ] satisfies [Partial<TextRequest>, string][]) {
      expect(failureOf(() => chat.encodeRequest(foreign(more), TARGET)).param).toBe(param);
    }
  });
});

describe('reasoning encoded for a chat upstream', () => {
  const details = [{ type: 'reasoning.encrypted', data: 'xyz' }];
  const own = (provider: string | null) => signed('chat', provider, { reasoning_details: details });
  const foreignSign = signed('messages', 'some-provider', { signature: 'x' });
  const sent = (part: Part, target = TARGET) =>
    messagesOf([turn('assistant', [part, words('x')]), turn('user', [words('y')])], target)[0];

  it.each<[string, Part, Json]>([
    ['without a signature is replayed', thought(null), { reasoning_content: 'Hm' }],
    [
      'of this provider is replayed with its reasoning_details',
      thought(own('some-provider')),
      { reasoning_content: 'Hm', reasoning_details: details },
    ],
    [
      'with unwrapped reasoning_details is replayed',
      thought(own(null), ''),
      { reasoning_details: details },
    ],
    ['of another provider is left out', thought(own('other')), {}],
    ['of another format is left out', thought(foreignSign), {}],
  ])('%s', (_, part, expected) => {
    expect(sent(part)).toEqual({ role: 'assistant', content: 'x', ...expected });
  });

  it('of any provider is replayed to a model with fixed reasoning', () => {
    expect(sent(thought(foreignSign), { ...TARGET, rules: 'fixed-reasoning' })).toMatchObject({
      reasoning_content: 'Hm',
    });
  });
});

test('settings are encoded by their chat names', () => {
  const asked: Partial<TextRequest> = {
    stream: true,
    tools: [tool(LONG, { description: 'd', parameters: { type: 'object' }, strict: false })],
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
    reasoning: reasoning('high'),
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
    const sent = (tools: Tool[]) =>
      chat.encodeRequest(foreign({ toolChoice: { type }, tools }), TARGET)['tool_choice'];
    expect([sent([tool('f')]), sent([])]).toEqual([type, undefined]);
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
  const own = signed('chat', 'some-provider', { reasoning_details: [{ data: 'xyz' }] });
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
