import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it } from 'vitest';
import { messages } from '../../../../src/text/dialects/messages/messages.ts';
import { wrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';

const base = { model: 'm', max_tokens: 100 };
const user = (content: unknown) => ({ ...base, messages: [{ role: 'user', content }] });
const assistant = (content: unknown) => ({
  ...base,
  messages: [
    { role: 'assistant', content },
    { role: 'user', content: 'Go on' },
  ],
});
const hello = { ...base, messages: [{ role: 'user', content: 'Hello' }] };

const parts = (body: unknown) => messages.decodeRequest(body).turns.map((turn) => turn.parts);

it('a messages request is refused for arguments nested too deeply to serialize', () => {
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  const body = JSON.parse(
    `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":${deep}}]}]}`,
  );
  expect(() => messages.decodeRequest(body)).toThrow(
    expect.objectContaining({ param: 'messages[0].content[0].input' }),
  );
});

describe('a messages request is decoded', () => {
  it('with texts and text blocks, without empty ones', () => {
    expect(parts(hello)).toEqual([[{ type: 'text', path: 'messages[0].content', text: 'Hello' }]]);
    expect(
      parts(
        user([
          { type: 'text', text: '' },
          { type: 'text', text: 'a' },
        ]),
      ),
    ).toEqual([[{ type: 'text', path: 'messages[0].content[1]', text: 'a' }]]);
    expect(parts(user(''))).toEqual([[]]);
  });

  it('with system instructions at the start and within the conversation', () => {
    const { turns } = messages.decodeRequest({
      ...base,
      system: [{ type: 'text', text: 'Be kind.' }],
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'system', content: 'Be brief.' },
      ],
    });
    expect(turns).toMatchObject([
      { role: 'system', path: 'system', parts: [{ text: 'Be kind.', path: 'system[0]' }] },
      { role: 'user' },
      { role: 'system', path: 'messages[1]', parts: [{ text: 'Be brief.' }] },
    ]);
  });

  it('with images and documents of each source', () => {
    const content = [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'image', source: { type: 'file', file_id: 'file_1' } },
      {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'Hé' },
        title: 'A',
      },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } },
      { type: 'document', source: { type: 'content', content: 'a' } },
    ];
    expect(parts(user(content))[0]).toMatchObject([
      {
        type: 'media',
        media: 'image',
        source: { kind: 'data', mediaType: 'image/png', data: 'AAAA' },
      },
      { source: { kind: 'url', url: 'https://example.com/a.png' } },
      { source: { kind: 'file', id: 'file_1' } },
      {
        media: 'document',
        filename: 'A',
        source: {
          kind: 'data',
          mediaType: 'text/plain',
          data: Buffer.from('Hé').toString('base64'),
        },
      },
      { media: 'document', filename: null },
      { type: 'native', path: 'messages[0].content[5].source' },
    ]);
  });

  it('with tool calls and results, whose ids are unwrapped', () => {
    const { turns } = messages.decodeRequest({
      ...base,
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'oriel_ZnVuY3Rpb25zLng6MA', name: 'x', input: { a: 1 } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'oriel_ZnVuY3Rpb25zLng6MA',
              is_error: true,
              content: [
                { type: 'text', text: 'no' },
                { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
                { type: 'search_result', source: 'a', title: 'b', content: [] },
              ],
            },
            { type: 'tool_result', tool_use_id: 'b', content: 'yes' },
            { type: 'tool_result', tool_use_id: 'c' },
          ],
        },
      ],
    });
    expect(turns[0]!.parts).toMatchObject([
      { type: 'tool-call', id: 'functions.x:0', name: 'x', arguments: '{"a":1}' },
    ]);
    expect(turns[1]!.parts).toMatchObject([
      {
        type: 'tool-result',
        callId: 'functions.x:0',
        isError: true,
        content: [{ type: 'text' }, { type: 'media' }, { type: 'native' }],
      },
      { callId: 'b', isError: false, content: [{ type: 'text', text: 'yes' }] },
      { callId: 'c', content: [] },
    ]);
  });

  it('with signed, wrapped, redacted and unsigned reasoning', () => {
    const foreign = {
      dialect: 'responses',
      provider: 'openai',
      value: { id: 'rs_1', encrypted_content: 'x' },
    } as const;
    const content = [
      { type: 'thinking', thinking: 'a', signature: 'signed' },
      { type: 'thinking', thinking: '', signature: 'signed too' },
      { type: 'thinking', thinking: 'b', signature: wrapSignature(foreign) },
      { type: 'redacted_thinking', data: 'hidden' },
      { type: 'thinking', thinking: 'c', signature: '' },
      { type: 'thinking', thinking: 'd' },
      { type: 'thinking', thinking: 'e', signature: 'oriel:broken' },
    ];
    const own = (value: object) => ({ dialect: 'messages', provider: null, value });
    expect(parts(assistant(content))[0]).toMatchObject([
      { type: 'reasoning', text: 'a', signature: own({ signature: 'signed' }) },
      { text: '', signature: own({ signature: 'signed too' }) },
      { text: 'b', signature: foreign },
      { text: '', signature: own({ data: 'hidden' }) },
      { text: 'c', signature: null },
      { text: 'd', signature: null },
      { text: 'e', signature: null },
    ]);
  });

  it('with a prefill', () => {
    const { turns } = messages.decodeRequest({
      ...base,
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'The best is (' },
      ],
    });
    expect(turns.map(({ partial }) => partial)).toEqual([false, true]);
  });

  it.each([
    [
      { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      { toolChoice: { type: 'auto' }, parallelToolCalls: false },
    ],
    [
      { tool_choice: { type: 'any' } },
      { toolChoice: { type: 'required' }, parallelToolCalls: null },
    ],
    [{ tool_choice: { type: 'tool', name: 'a' } }, { toolChoice: { type: 'tool', name: 'a' } }],
    [{ tool_choice: { type: 'none' } }, { toolChoice: { type: 'none' } }],
    [{ stop_sequences: ['END'] }, { stop: ['END'] }],
    [{ stop_sequences: [] }, { stop: null }],
    [
      { temperature: 0, top_p: 1, top_k: 5 },
      { temperature: 0, topP: 1, topK: 5 },
    ],
    [
      { temperature: null, tools: null, thinking: null },
      { temperature: null, tools: [], reasoning: null },
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      { reasoning: { effort: null, budget: 2000 } },
    ],
    [{ thinking: { type: 'disabled' } }, { reasoning: { effort: 'none', budget: null } }],
    [{ thinking: { type: 'adaptive' } }, { reasoning: { effort: null, budget: null } }],
    [
      { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
      { reasoning: { effort: 'max' } },
    ],
    [{ output_config: { effort: 'low' } }, { reasoning: { effort: 'low' } }],
    [
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
      { format: { type: 'json-schema', schema: { type: 'object' }, name: null } },
    ],
    [{ stream: true }, { stream: true }],
  ])('%j', (settings, decoded) => {
    expect(messages.decodeRequest({ ...hello, ...settings })).toMatchObject(decoded);
  });

  it('with function tools, native tools of Anthropic, and without a search among them', () => {
    const { tools, advice } = messages.decodeRequest({
      ...hello,
      tools: [
        { name: 'a', description: 'b', input_schema: { type: 'object' }, strict: true },
        { type: 'custom', name: 'c', input_schema: {}, defer_loading: false },
        { type: 'web_search_20250305', name: 'web_search' },
        { name: 'd', input_schema: {}, defer_loading: true },
        { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
      ],
    });
    expect(tools).toMatchObject([
      { type: 'tool', name: 'a', description: 'b', parameters: { type: 'object' }, strict: true },
      { type: 'tool', name: 'c', description: null, strict: null },
      { type: 'native', path: 'tools[2]' },
      { type: 'tool', path: 'tools[3]', name: 'd' },
    ]);
    expect(advice).toEqual(['tools[3].defer_loading', 'tools[4]']);
  });

  it('with advice, and native fields of Anthropic', () => {
    const { advice, native } = messages.decodeRequest({
      ...base,
      cache_control: { type: 'ephemeral' },
      metadata: { user_id: 'u' },
      service_tier: 'auto',
      container: 'c',
      mcp_servers: [{}],
      context_management: null,
      thinking: { type: 'adaptive', display: 'omitted' },
      system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 'a', input_schema: {}, cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }],
        },
      ],
    });
    expect(native.map(({ path }) => path)).toEqual(['container', 'mcp_servers']);
    expect(advice).toEqual([
      'cache_control',
      'metadata',
      'system[0].cache_control',
      'messages[0].content[0].cache_control',
      'tools[0].cache_control',
    ]);
  });

  it('with unchanged native blocks for other types', () => {
    const block = { type: 'server_tool_use', id: 'a', name: 'web_search', input: {} };
    expect(parts(assistant([block]))[0]).toEqual([
      { type: 'native', dialect: 'messages', path: 'messages[0].content[0]', value: block },
    ]);
  });

  it('with native properties by their path', () => {
    const content = [
      { type: 'document', source: { type: 'text', data: 'a' }, citations: { enabled: true } },
      {
        type: 'document',
        source: { type: 'text', data: 'a' },
        citations: { enabled: false },
        context: null,
      },
    ];
    expect(parts(user(content))[0]).toMatchObject([
      { type: 'native', path: 'messages[0].content[0].citations' },
      { type: 'media' },
    ]);
  });
});
