import '../../../../src/text/built-in-dialects.ts';
import { toJsonSchema } from '@valibot/to-json-schema';
import { describe, expect, it, test } from 'vitest';
import type { Json, TextRequest } from '../../../../src/text/canonical/canonical.ts';
import { callIdOnWire } from '../../../../src/text/dialects/calls.ts';
import { fields } from '../../../../src/text/dialects/chat/fields.ts';
import { wrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
import { reasoning, signed } from '../../parts.ts';
import { request } from './conversation.ts';

const HELLO = { role: 'user', content: 'Hello' };

const messages = (...more: unknown[]): TextRequest => request({ messages: more });

describe('a chat request with every field', () => {
  const all = request({
    temperature: 2,
    top_p: 0.5,
    max_completion_tokens: 1_048_576,
    reasoning_effort: 'xhigh',
    stop: ['a', 'b', 'c', 'd'],
    n: 3,
    frequency_penalty: -2,
    presence_penalty: 2,
    seed: -7,
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
    },
    tools: [
      {
        type: 'function',
        function: {
          name: 'look',
          description: 'Looks.',
          parameters: { type: 'object' },
          strict: true,
        },
      },
      { type: 'custom', custom: { name: 'sing' } },
    ],
    tool_choice: { type: 'function', function: { name: 'look' } },
    parallel_tool_calls: false,
    logprobs: true,
    top_logprobs: 20,
    logit_bias: { 50256: -100 },
    verbosity: 'low',
    user: 'somebody',
    metadata: { a: 'b' },
    stream: true,
    stream_options: { include_usage: true, include_obfuscation: false },
    web_search_options: { search_context_size: 'low' },
    store: null,
    service_tier: 'auto',
  });

  it('is decoded', () => {
    expect(all).toMatchObject({
      dialect: 'chat',
      model: 'some-model',
      stream: true,
      includeUsage: true,
      temperature: 2,
      topP: 0.5,
      topK: null,
      maxOutputTokens: 1_048_576,
      stop: ['a', 'b', 'c', 'd'],
      n: 3,
      frequencyPenalty: -2,
      presencePenalty: 2,
      seed: -7,
      logprobs: true,
      topLogprobs: 20,
      logitBias: { 50256: -100 },
      verbosity: 'low',
      parallelToolCalls: false,
      toolChoice: { type: 'tool', name: 'look' },
      reasoning: reasoning('xhigh'),
      format: {
        type: 'json-schema',
        name: 'answer',
        description: null,
        schema: { type: 'object' },
        strict: true,
      },
    });
    expect(all.tools).toEqual([
      {
        type: 'tool',
        path: 'tools[0]',
        name: 'look',
        description: 'Looks.',
        parameters: { type: 'object' },
        strict: true,
      },
      {
        type: 'tool',
        path: 'tools[1]',
        name: 'sing',
        description: null,
        parameters: null,
        strict: null,
        textInput: { grammar: null },
      },
    ]);
  });

  it('separates fields that only advise from fields that change the answer', () => {
    expect(all.advice).toEqual(['user', 'metadata']);
    expect(all.native.map(({ path }) => path)).toEqual(['web_search_options']);
  });
});

test('null equals an absent field', () => {
  const names = Object.keys(fields.schema.entries).filter(
    (name) => name !== 'model' && name !== 'messages',
  );
  const nothing = request(Object.fromEntries([...names, 'unknown'].map((name) => [name, null])));
  const { body, ...rest } = nothing;
  const { body: _, ...plain } = request();
  expect(rest).toEqual(plain);
  expect(body['unknown']).toBeNull();
});

describe('settings of a chat request', () => {
  it.each<[Json, Partial<TextRequest>]>([
    [{ stop: 'x' }, { stop: ['x'] }],
    [{ stop: [] }, { stop: null }],
    [{ max_tokens: 5 }, { maxOutputTokens: 5 }],
    [{ max_tokens: 5, max_completion_tokens: 5 }, { maxOutputTokens: 5 }],
    [{ response_format: { type: 'text' } }, { format: { type: 'text' } }],
    [{ response_format: { type: 'json_object' } }, { format: { type: 'json-object' } }],
    [{ tool_choice: 'none' }, { toolChoice: { type: 'none' } }],
    [{ modalities: ['text'] }, { native: [] }],
    [{ stream: false, stream_options: { include_usage: true } }, { includeUsage: false }],
    [{ thinking: { type: 'enabled' } }, { reasoning: reasoning(null) }],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, { reasoning: reasoning(null, 2000) }],
    [{ thinking: { type: 'enabled' }, reasoning_effort: 'high' }, { reasoning: reasoning('high') }],
    [{ thinking: { type: 'disabled' } }, { reasoning: reasoning('none') }],
    [
      { thinking: { type: 'disabled' }, reasoning_effort: 'none' },
      { reasoning: reasoning('none') },
    ],
  ])('%j', (more, expected) => {
    expect(request(more)).toMatchObject(expected);
  });

  it('that only one provider has are kept as native', () => {
    const choice = { type: 'allowed_tools', allowed_tools: { mode: 'other', tools: [] } };
    expect(request({ tool_choice: choice }).toolChoice).toEqual({
      type: 'native',
      path: 'tool_choice',
      dialect: 'chat',
      value: choice,
    });
    const { native, advice } = request({
      modalities: ['text', 'audio'],
      audio: { voice: 'alloy', format: 'wav' },
      service_tier: 'flex',
    });
    expect(native.map(({ path }) => path)).toEqual(['modalities', 'audio']);
    expect(advice).toEqual(['service_tier']);
  });
});

it.each<[Json, string, RegExp]>([
  [
    { max_tokens: 5, max_completion_tokens: 6 },
    'max_tokens',
    /expected the same as max_completion_tokens, 6/,
  ],
  [
    { thinking: { type: 'enabled' }, reasoning_effort: 'none' },
    'thinking',
    /enabled contradicts reasoning_effort none/,
  ],
  [
    { thinking: { type: 'disabled' }, reasoning_effort: 'low' },
    'thinking',
    /disabled contradicts reasoning_effort low/,
  ],
])('a chat request that contradicts itself is refused: %j', (more, param, message) => {
  expect(() => request(more)).toThrow(expect.objectContaining({ param }));
  expect(() => request(more)).toThrow(message);
});

describe('messages of a chat request', () => {
  it('keep the position of system and developer messages', () => {
    const { turns } = messages(
      { role: 'system', content: 'Be brief.' },
      HELLO,
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }], name: 'dev' },
      HELLO,
    );
    expect(turns.map(({ role, path }) => [role, path])).toEqual([
      ['system', 'messages[0]'],
      ['user', 'messages[1]'],
      ['developer', 'messages[2]'],
      ['user', 'messages[3]'],
    ]);
    expect(turns[2]).toMatchObject({
      name: 'dev',
      parts: [{ type: 'text', text: 'Be kind.', path: 'messages[2].content[0]' }],
    });
  });

  it('have media as data URLs, http URLs and file ids', () => {
    const { turns, advice } = messages({
      role: 'user',
      content: [
        {
          type: 'image_url',
          image_url: { url: 'data:image/PNG;charset=x;base64,AAAA', detail: 'low' },
        },
        { type: 'image_url', image_url: { url: 'HTTPS://example.com/a.png', detail: 'auto' } },
        { type: 'image_url', image_url: { url: 'ms://file-1' } },
        { type: 'video_url', video_url: { url: 'data:video/mp4;base64,BBBB' } },
        { type: 'input_audio', input_audio: { data: 'CCCC', format: 'mp3' } },
        {
          type: 'file',
          file: { file_data: 'data:application/pdf;base64,DDDD', filename: 'a.pdf' },
        },
        { type: 'file', file: { file_id: 'file-2' } },
        { type: 'hologram', hologram: 1 },
      ],
    });
    const parts = turns[0]!.parts;
    expect(parts.slice(0, 7)).toMatchObject([
      {
        media: 'image',
        source: { kind: 'data', mediaType: 'image/png', data: 'AAAA' },
        detail: 'low',
      },
      { media: 'image', source: { kind: 'url', url: 'HTTPS://example.com/a.png' } },
      { media: 'image', source: { kind: 'file', id: 'ms://file-1' } },
      { media: 'video', source: { kind: 'data', mediaType: 'video/mp4', data: 'BBBB' } },
      { media: 'audio', source: { kind: 'data', mediaType: 'audio/mpeg', data: 'CCCC' } },
      {
        media: 'document',
        source: { kind: 'data', mediaType: 'application/pdf' },
        filename: 'a.pdf',
      },
      { media: 'document', source: { kind: 'file', id: 'file-2' } },
    ]);
    expect(parts[7]).toEqual({
      type: 'native',
      path: 'messages[0].content[7]',
      dialect: 'chat',
      value: { type: 'hologram', hologram: 1 },
    });
    expect(advice).toEqual(['messages[0].content[0].image_url.detail']);
  });

  it('of the role tool become one user turn, matched by id', () => {
    const id = 'functions.look:0';
    const { turns } = messages(
      HELLO,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: callIdOnWire(id), type: 'function', function: { name: 'look', arguments: ' ' } },
          { id: 'b', function: { name: 'look', arguments: '{"at": "sky"}' } },
        ],
      },
      { role: 'tool', tool_call_id: callIdOnWire(id), content: 'blue' },
      { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'grey' }] },
      HELLO,
    );
    expect(turns.map(({ role, path }) => [role, path])).toEqual([
      ['user', 'messages[0]'],
      ['assistant', 'messages[1]'],
      ['user', 'messages[2]'],
      ['user', 'messages[4]'],
    ]);
    expect(turns[1]!.parts).toEqual([
      { type: 'tool-call', path: 'messages[1].tool_calls[0]', id, name: 'look', arguments: '{}' },
      {
        type: 'tool-call',
        path: 'messages[1].tool_calls[1]',
        id: 'b',
        name: 'look',
        arguments: '{"at": "sky"}',
      },
    ]);
    expect(turns[2]!.parts).toMatchObject([
      { type: 'tool-result', path: 'messages[2]', callId: id, content: [{ text: 'blue' }] },
      { type: 'tool-result', path: 'messages[3]', callId: 'b', content: [{ text: 'grey' }] },
    ]);
  });

  it('may add tools without content and end with a partial answer', () => {
    const { turns } = messages(
      { role: 'system', tools: [{ type: 'function', function: { name: 'look' } }] },
      HELLO,
      { role: 'assistant', content: 'It ', partial: true },
    );
    expect(turns[0]).toMatchObject({
      parts: [],
      tools: [{ type: 'tool', name: 'look', path: 'messages[0].tools[0]' }],
    });
    expect(turns[2]!.partial).toBe(true);
  });

  it('may contain an earlier refusal', () => {
    const { turns } = messages(HELLO, {
      role: 'assistant',
      content: [{ type: 'refusal', refusal: 'No.' }],
      refusal: 'Never.',
    });
    expect(turns[1]!.parts).toMatchObject([
      { type: 'refusal', text: 'No.' },
      { type: 'refusal', text: 'Never.', path: 'messages[1].refusal' },
    ]);
  });

  it('keep unknown properties as native parts', () => {
    const { advice, native } = messages(
      {
        role: 'user',
        content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }],
      },
      { role: 'assistant', content: 'y', annotations: [], parsed: {}, audio: { id: 'a' } },
    );
    expect(advice).toEqual(['messages[0].content[0].cache_control']);
    expect(native).toMatchObject([{ path: 'messages[1].audio', value: { id: 'a' } }]);
  });
});

describe('reasoning in a chat request', () => {
  const signature = signed('messages', 'a', { signature: 'sig' });

  it('as plain text has no signature', () => {
    const { turns } = messages(HELLO, {
      role: 'assistant',
      reasoning_content: 'Hm.',
      content: 'Hi',
    });
    expect(turns[1]!.parts).toMatchObject([
      { type: 'reasoning', text: 'Hm.', signature: null },
      { type: 'text', text: 'Hi' },
    ]);
  });

  it('with a wrapped signature belongs to its provider and precedes its calls', () => {
    const call = (id: string) => ({ id, function: { name: 'f', arguments: '{}' } });
    const { turns } = messages(HELLO, {
      role: 'assistant',
      content: 'Hi',
      reasoning_content: 'the last bit',
      reasoning_details: [
        { type: 'reasoning.text', text: 'One.', signature: wrapSignature(signature), index: 0 },
        {
          type: 'reasoning.text',
          text: '',
          signature: wrapSignature(signature),
          index: 1,
          after_tool_calls: 1,
        },
        { type: 'reasoning.text', text: 'Three.', index: 2, after_tool_calls: 2 },
      ],
      tool_calls: [call('a'), call('b')],
    });
    expect(turns[1]!.parts).toMatchObject([
      { type: 'reasoning', text: 'One.', signature },
      { type: 'text', text: 'Hi' },
      { type: 'tool-call', id: 'a' },
      { type: 'reasoning', text: '', signature },
      { type: 'tool-call', id: 'b' },
      { type: 'reasoning', text: 'Three.', signature: null },
    ]);
  });

  it('with unwrapped reasoning_details keeps them unchanged', () => {
    const details = [
      { type: 'reasoning.summary', summary: 'Short.', index: 0 },
      { type: 'reasoning.encrypted', data: 'xyz', index: 1 },
    ];
    const { turns } = messages(HELLO, {
      role: 'assistant',
      content: 'Hi',
      reasoning_details: details,
    });
    expect(turns[1]!.parts[0]).toMatchObject({
      type: 'reasoning',
      text: 'Short.',
      signature: { dialect: 'chat', provider: null, value: { reasoning_details: details } },
    });
  });

  it('with a malformed wrapped signature has no signature', () => {
    const { turns } = messages(HELLO, {
      role: 'assistant',
      content: 'Hi',
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature: 'oriel:broken' }],
    });
    expect(turns[1]!.parts[0]).toMatchObject({ text: 'Hm.', signature: null });
  });
});

test('the grammar of chat requests converts to JSON Schema', () => {
  const schema = toJsonSchema(fields.schema, { typeMode: 'input', errorMode: 'ignore' });
  expect(Object.keys(schema.properties ?? {})).toContain('messages');
  expect(schema.required).toEqual(['model', 'messages']);
});

test('functions, the former tools, have any value of strict, which they never had', () => {
  const functions = [{ name: 'look', strict: 'yes' }];
  expect(() => request({ messages: [HELLO], functions })).not.toThrow();
});
