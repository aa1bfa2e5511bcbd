import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it } from 'vitest';
import { wrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
import { responses } from '../../../../src/text/dialects/responses/responses.ts';

const decode = (body: Record<string, unknown>) =>
  responses.decodeRequest({ model: 'm', input: 'hi', ...body });

const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' };
const output = { type: 'function_call_output', call_id: 'c1', output: 'done' };

describe('a responses request', () => {
  it('may have a text as its input', () => {
    const request = decode({});
    expect(request).toMatchObject({ dialect: 'responses', model: 'm', stream: false, tools: [] });
    expect(request.turns).toEqual([
      {
        role: 'user',
        path: 'input',
        parts: [{ type: 'text', path: 'input', text: 'hi' }],
        name: null,
        partial: false,
        tools: null,
      },
    ]);
  });

  it('has instructions first and keeps the position of system and developer messages', () => {
    const { turns } = decode({
      instructions: 'Be brief.',
      input: [
        { role: 'developer', content: 'a' },
        { role: 'user', content: 'b' },
        { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'c' }] },
      ],
    });
    expect(turns.map(({ role, path }) => [role, path])).toEqual([
      ['system', 'instructions'],
      ['developer', 'input[0]'],
      ['user', 'input[1]'],
      ['system', 'input[2]'],
    ]);
  });

  it('joins items of the assistant into one turn, and results with the next user message', () => {
    const { turns } = decode({
      input: [
        { role: 'user', content: 'go' },
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
        {
          type: 'message',
          role: 'assistant',
          content: [
            { type: 'output_text', text: 'I call', annotations: [] },
            { type: 'refusal', refusal: 'no' },
          ],
        },
        call,
        { ...call, call_id: 'c2', arguments: '' },
        output,
        { ...output, call_id: 'c2', output: [{ type: 'input_text', text: 'x' }] },
        { role: 'user', content: 'and?' },
      ],
    });
    expect(turns.map(({ role, parts }) => [role, ...parts.map(({ type }) => type)])).toEqual([
      ['user', 'text'],
      ['assistant', 'reasoning', 'text', 'refusal', 'tool-call', 'tool-call'],
      ['user', 'tool-result', 'tool-result', 'text'],
    ]);
    expect(turns[1]!.parts[4]).toMatchObject({ id: 'c2', arguments: '{}', path: 'input[4]' });
    expect(turns[2]!.parts[1]).toMatchObject({
      content: [{ type: 'text', text: 'x', path: 'input[6].output[0]' }],
    });
  });

  it('has a turn for each user message', () => {
    const { turns } = decode({
      input: [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ],
    });
    expect(turns).toHaveLength(2);
  });

  it('has images and files as data, URLs and ids', () => {
    const { turns } = decode({
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_image', image_url: 'data:image/png;base64,QUJD', detail: 'low' },
            { type: 'input_image', image_url: 'https://a.example/b.png' },
            { type: 'input_image', file_id: 'file-1' },
            { type: 'input_image', image_url: 'ms://2' },
            {
              type: 'input_file',
              filename: 'a.pdf',
              file_data: 'data:application/pdf;base64,QQ==',
            },
            { type: 'input_file', file_url: 'https://a.example/b.pdf' },
            { type: 'input_file', file_id: 'file-3' },
          ],
        },
      ],
    });
    expect(turns[0]!.parts.map((part) => part.type === 'media' && part.source)).toEqual([
      { kind: 'data', mediaType: 'image/png', data: 'QUJD' },
      { kind: 'url', url: 'https://a.example/b.png' },
      { kind: 'file', id: 'file-1' },
      { kind: 'file', id: 'ms://2' },
      { kind: 'data', mediaType: 'application/pdf', data: 'QQ==' },
      { kind: 'url', url: 'https://a.example/b.pdf' },
      { kind: 'file', id: 'file-3' },
    ]);
    expect(turns[0]!.parts[0]).toMatchObject({ media: 'image', detail: 'low' });
    expect(turns[0]!.parts[4]).toMatchObject({ media: 'document', filename: 'a.pdf' });
  });

  it('has reasoning with its own or its unwrapped signature', () => {
    const own = {
      id: 'rs_1',
      summary: [
        { type: 'summary_text', text: 'one' },
        { type: 'summary_text', text: 'two' },
      ],
      encrypted_content: 'gAAA',
    };
    const foreign = { dialect: 'messages', provider: 'a', value: { signature: 's' } } as const;
    const { turns } = decode({
      input: [
        { type: 'reasoning', ...own, status: 'completed' },
        { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: wrapSignature(foreign) },
        { type: 'reasoning', id: 'rs_3', summary: [], encrypted_content: 'oriel:broken' },
        {
          type: 'reasoning',
          id: 'rs_4',
          summary: [],
          content: [{ type: 'reasoning_text', text: 'c' }],
        },
      ],
    });
    expect(turns[0]!.parts).toMatchObject([
      { text: 'one\n\ntwo', signature: { dialect: 'responses', provider: null, value: own } },
      { text: '', signature: foreign },
      { signature: null },
      { text: 'c', signature: null },
    ]);
  });

  it('has every setting of the format decoded', () => {
    const request = decode({
      max_output_tokens: 1,
      temperature: 2,
      top_p: 0,
      reasoning: { effort: 'max', summary: 'auto' },
      text: {
        verbosity: 'low',
        format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true },
      },
      tools: [
        { type: 'function', name: 'f', parameters: { type: 'object' } },
        { type: 'web_search_preview' },
      ],
      tool_choice: { type: 'function', name: 'f' },
      parallel_tool_calls: false,
      stream: true,
      top_logprobs: 3,
      include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
    });
    expect(request).toMatchObject({
      maxOutputTokens: 1,
      temperature: 2,
      topP: 0,
      reasoning: { effort: 'max', budget: null, summary: 'auto' },
      verbosity: 'low',
      format: { type: 'json-schema', name: 'n', description: null, strict: true },
      tools: [
        { type: 'tool', name: 'f', strict: null, path: 'tools[0]' },
        { type: 'native', value: { type: 'web_search_preview' }, path: 'tools[1]' },
      ],
      toolChoice: { type: 'tool', name: 'f' },
      parallelToolCalls: false,
      stream: true,
      logprobs: true,
      topLogprobs: 3,
      advice: [],
      native: [],
    });
  });

  it.each([
    ['previous_response_id', 'resp_1'],
    ['conversation', 'conv_1'],
    ['prompt', { id: 'p' }],
    ['background', true],
    ['something_new', { a: 1 }],
  ])('has the native field %s', (name, value) => {
    expect(decode({ [name]: value }).native).toEqual([
      { type: 'native', dialect: 'responses', path: name, value },
    ]);
  });

  it('separates fields that only advise', () => {
    const request = decode({
      store: true,
      user: 'u',
      metadata: { a: 'b' },
      background: false,
      truncation: 'auto',
      service_tier: 'auto',
      max_tool_calls: 3,
      client_metadata: { a: 'b' },
      stream_options: { include_obfuscation: false },
      prompt_cache_key: 'k',
      previous_response_id: null,
      something_new: null,
    });
    expect(request.native).toEqual([]);
    expect([...request.advice].sort()).toEqual(
      ['client_metadata', 'metadata', 'prompt_cache_key', 'store', 'truncation', 'user'].sort(),
    );
  });

  it.each([
    [[{ type: 'item_reference', id: 'msg_1' }]],
    [[{ id: 'msg_1' }]],
    [[{ type: 'web_search_call', id: 'ws_1' }]],
  ])('has the native item %j', (input) => {
    expect(decode({ input }).turns[0]!.parts).toEqual([
      { type: 'native', dialect: 'responses', path: 'input[0]', value: input[0] },
    ]);
  });

  it('has calls by a program as calls of the model, with their caller as advice', () => {
    const input = [{ ...call, caller: { type: 'program', caller_id: 'p' } }];
    const { turns, advice } = decode({ input });
    expect(turns[0]!.parts).toMatchObject([{ type: 'tool-call', path: 'input[0]' }]);
    expect(advice).toEqual(['input[0].caller']);
  });

  it('has no part for a search among the tools by the provider', () => {
    const about = { execution: 'server', call_id: null, status: 'completed' };
    const { turns, advice } = decode({
      input: [
        { type: 'tool_search_call', arguments: {}, ...about },
        { type: 'tool_search_output', tools: [], ...about },
        { role: 'user', content: 'Hi' },
      ],
    });
    expect(turns).toHaveLength(1);
    expect(advice).toEqual(['input[0]', 'input[1]']);
  });

  it('has unwrapped call ids', () => {
    const id = 'oriel_ZnVuY3Rpb25zLng6MA';
    const { turns } = decode({ input: [{ ...call, call_id: id }] });
    expect(turns[0]!.parts[0]).toMatchObject({ id: 'functions.x:0' });
  });

  it.each([
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'required' }],
    [
      { type: 'allowed_tools', mode: 'auto', tools: [] },
      { type: 'allowed', mode: 'auto', tools: [] },
    ],
  ])('has the tool choice %j decoded', (tool_choice, expected) => {
    expect(decode({ tool_choice }).toolChoice).toMatchObject(expected);
  });
});
