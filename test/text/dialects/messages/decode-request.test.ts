import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
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

function refused(body: unknown): Failure {
  try {
    messages.decodeRequest(body);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('accepted');
}

const parts = (body: unknown) => messages.decodeRequest(body).turns.map((turn) => turn.parts);

describe('a malformed messages request is refused', () => {
  it.each([
    ['model', { ...hello, model: undefined }, "is required: a model's name"],
    ['max_tokens', { ...hello, max_tokens: undefined }, 'is required: an integer of at least 1'],
    ['max_tokens', { ...hello, max_tokens: 0 }, 'expected an integer of at least 1, received 0'],
    [
      'max_tokens',
      { ...hello, max_tokens: 1.5 },
      'expected an integer of at least 1, received 1.5',
    ],
    ['messages', base, 'is required: a list of one message at least'],
    [
      'messages',
      { ...base, messages: [] },
      'expected a list of one message at least, received a list',
    ],
    ['messages[0]', { ...base, messages: ['Hello'] }, 'expected an object, received a text'],
    ['messages[0]', { ...base, messages: [null] }, 'expected an object, received null'],
    [
      'messages[0].role',
      { ...base, messages: [{ role: 'tool', content: '' }] },
      'expected one of user, assistant, system, received "tool"',
    ],
    ['messages[0].content', user(7), 'expected a text or a list of content blocks, received 7'],
    [
      'messages[0].content',
      { ...base, messages: [{ role: 'user' }] },
      'is required: a text or a list of content blocks',
    ],
    ['messages[0].content[0]', user(['Hello']), 'expected an object, received a text'],
    ['messages[0].content[0].text', user([{ type: 'text' }]), 'is required: a text'],
    [
      'messages[0].content[0].text',
      user([{ type: 'text', text: null }]),
      'expected a text, received null',
    ],
    [
      'messages[0].content[0].type',
      user([{ type: 'tool_use', id: 'a', name: 'b', input: {} }]),
      'expected one of text, image, document, tool_result, received "tool_use"',
    ],
    ['messages[0].content[0].type', user([{ text: 'Hello' }]), 'is required'],
    [
      'messages[2].content[0].source.data',
      {
        ...base,
        messages: [
          { role: 'user', content: 'Hello' },
          { role: 'assistant', content: 'Hello' },
          {
            role: 'user',
            content: [
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 5 } },
            ],
          },
        ],
      },
      'expected Base64, received 5',
    ],
    [
      'messages[0].content[0].source.type',
      user([{ type: 'image', source: { type: 'ftp' } }]),
      'expected one of base64, url, file, received "ftp"',
    ],
    [
      'messages[0].content[0].content[1].text',
      user([
        {
          type: 'tool_result',
          tool_use_id: 'a',
          content: [
            { type: 'text', text: 'yes' },
            { type: 'text', text: 1 },
          ],
        },
      ]),
      'expected a text, received 1',
    ],
    [
      'messages[0].content[0].input',
      assistant([{ type: 'tool_use', id: 'a', name: 'b', input: [] }]),
      'expected an object, received a list',
    ],
    [
      'messages[0].content[0].input',
      assistant([{ type: 'tool_use', id: 'a', name: 'b', input: '{}' }]),
      'expected an object, received a text',
    ],
    [
      'messages[0].content[0].data',
      assistant([{ type: 'redacted_thinking' }]),
      'is required: a text',
    ],
    ['temperature', { ...hello, temperature: 1.1 }, 'expected a number from 0 to 1, received 1.1'],
    ['top_p', { ...hello, top_p: -1 }, 'expected a number from 0 to 1, received -1'],
    ['top_k', { ...hello, top_k: 'many' }, 'expected an integer of at least 0, received "many"'],
    [
      'stop_sequences',
      { ...hello, stop_sequences: 'END' },
      'expected a list of texts, received "END"',
    ],
    ['stop_sequences[1]', { ...hello, stop_sequences: ['a', 2] }, 'received 2'],
    ['stream', { ...hello, stream: 'yes' }, 'expected true or false, received "yes"'],
    ['system', { ...hello, system: 5 }, 'expected a text or a list of text blocks, received 5'],
    [
      'system[0].type',
      { ...hello, system: [{ type: 'image' }] },
      'expected one of text, received "image"',
    ],
    ['tools', { ...hello, tools: {} }, 'expected a list of tools, received an object'],
    ['tools[0].name', { ...hello, tools: [{ input_schema: {} }] }, 'is required: a name'],
    ['tools[0].input_schema', { ...hello, tools: [{ name: 'a' }] }, 'is required: an object'],
    [
      'tool_choice.type',
      { ...hello, tool_choice: { type: 'required' } },
      'expected one of auto, any, tool, none, received "required"',
    ],
    ['tool_choice', { ...hello, tool_choice: 'auto' }, 'expected an object, received a text'],
    [
      'tool_choice.name',
      { ...hello, tool_choice: { type: 'tool' } },
      'is required: the name of a tool',
    ],
    ['thinking.budget_tokens', { ...hello, thinking: { type: 'enabled' } }, 'is required'],
    ['output_config.effort', { ...hello, output_config: { effort: 'some' } }, 'received "some"'],
    [
      'output_config.format.type',
      { ...hello, output_config: { format: { type: 'xml' } } },
      'received "xml"',
    ],
    [
      'output_config.format.schema',
      { ...hello, output_config: { format: { type: 'json_schema' } } },
      'is required',
    ],
    ['metadata.user_id', { ...hello, metadata: { user_id: 1 } }, 'expected a text, received 1'],
  ])('naming %s', (param, body, message) => {
    const failure = refused(JSON.parse(JSON.stringify(body)));
    expect(failure).toMatchObject({ type: 'invalid_request', status: 400, param });
    expect(failure.message).toMatch(
      new RegExp(`^${param.replace(/[[\].]/g, '\\$&')}(: expected | is required: )`),
    );
    expect(failure.message).toContain(message);
  });

  it.each([null, undefined, 5, 'text', [], [hello], true])('body %j', (body) => {
    expect(refused(body)).toMatchObject({ type: 'invalid_request', param: null });
  });

  it('for the field thread, so that clients send the history', () => {
    expect(refused({ ...hello, thread: { id: 'thread_1' } })).toMatchObject({ param: 'thread' });
  });

  it('for arguments nested too deeply to serialize', () => {
    const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    const body = JSON.parse(
      `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":${deep}}]}]}`,
    );
    expect(refused(body)).toMatchObject({ param: 'messages[0].content[0].input' });
  });
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
      'thinking.display',
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
