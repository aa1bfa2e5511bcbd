import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import { wrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
import { responses } from '../../../../src/text/dialects/responses/responses.ts';

const decode = (body: Record<string, unknown>) =>
  responses.decodeRequest({ model: 'm', input: 'hi', ...body });

function refusal(body: unknown): Failure {
  try {
    responses.decodeRequest(body);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

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

describe('a malformed responses request is refused by path', () => {
  const user = (...content: unknown[]) => ({ model: 'm', input: [{ role: 'user', content }] });
  it.each<[body: unknown, param: string | null, message: string]>([
    [null, null, 'the body: expected an object, received null'],
    [[], null, 'the body: expected an object, received a list'],
    ['text', null, 'the body: expected an object, received a text'],
    [{ input: 'x' }, 'model', "model is required: a model's name"],
    [{ model: '', input: 'x' }, 'model', 'model: expected a model\'s name, received ""'],
    [{ model: 'm' }, 'input', 'input is required: a text or a list of items'],
    [{ model: 'm', input: 3 }, 'input', 'input: expected a text or a list of items, received 3'],
    [
      { model: 'm', input: {} },
      'input',
      'input: expected a text or a list of items, received an object',
    ],
    [{ model: 'm', input: [3] }, 'input[0]', 'input[0]: expected an object, received 3'],
    [{ model: 'm', input: [[]] }, 'input[0]', 'input[0]: expected an object, received a list'],
    [{ model: 'm', input: [null] }, 'input[0]', 'input[0]: expected an object, received null'],
    [
      { model: 'm', input: [{ role: 'robot', content: 'x' }] },
      'input[0].role',
      'input[0].role: expected one of user, assistant, system, developer, received "robot"',
    ],
    [
      { model: 'm', input: [{ role: 'user' }] },
      'input[0].content',
      'input[0].content is required: a text or a list of parts',
    ],
    [
      { model: 'm', input: [{ type: 3 }] },
      'input[0].type',
      'input[0].type: expected a text, received 3',
    ],
    [
      user({ text: 'x' }),
      'input[0].content[0].type',
      'input[0].content[0].type is required: a text',
    ],
    [
      user({ type: 'input_text', text: 'a' }, { type: 'input_text', text: 1 }),
      'input[0].content[1].text',
      'input[0].content[1].text: expected a text, received 1',
    ],
    [
      user({ type: 'input_image' }),
      'input[0].content[0].image_url',
      'input[0].content[0].image_url is required: a URL here or a file_id',
    ],
    [
      user({ type: 'input_image', image_url: { url: 'x' } }),
      'input[0].content[0].image_url',
      'input[0].content[0].image_url: expected a text, received an object',
    ],
    [
      user({ type: 'input_image', image_url: 'ftp://x' }),
      'input[0].content[0].image_url',
      'input[0].content[0].image_url: expected a URL of http:, https: or data:, or ms://…, received "ftp://x"',
    ],
    [
      user({ type: 'input_image', image_url: 'data:image/png,abc' }),
      'input[0].content[0].image_url',
      'input[0].content[0].image_url: expected data:<media type>;base64,<data>, received "data:image/png,abc"',
    ],
    [
      user({ type: 'input_file', filename: 'a' }),
      'input[0].content[0].file_data',
      'input[0].content[0].file_data is required: data here, a file_url or a file_id',
    ],
    [
      { model: 'm', input: [{ ...call, arguments: '{"a":' }] },
      'input[0].arguments',
      'input[0].arguments: expected the text of a JSON object, received "{\\"a\\":"',
    ],
    [
      { model: 'm', input: [{ ...call, arguments: '[1]' }] },
      'input[0].arguments',
      'input[0].arguments: expected the text of a JSON object, received "[1]"',
    ],
    [
      { model: 'm', input: [{ type: 'function_call', name: 'f', arguments: '' }] },
      'input[0].call_id',
      'input[0].call_id is required: a text',
    ],
    [
      { model: 'm', input: [{ type: 'function_call_output', call_id: 'c' }] },
      'input[0].output',
      'input[0].output is required: a text or a list of parts',
    ],
    [
      { model: 'm', input: 'x', max_output_tokens: 0 },
      'max_output_tokens',
      'max_output_tokens: expected an integer of at least 1, received 0',
    ],
    [
      { model: 'm', input: 'x', temperature: 2.1 },
      'temperature',
      'temperature: expected a number from 0 to 2, received 2.1',
    ],
    [
      { model: 'm', input: 'x', stream: 'yes' },
      'stream',
      'stream: expected true or false, received "yes"',
    ],
    [
      { model: 'm', input: 'x', reasoning: { effort: 'huge' } },
      'reasoning.effort',
      'reasoning.effort: expected one of none, minimal, low, medium, high, xhigh, max, received "huge"',
    ],
    [
      { model: 'm', input: 'x', reasoning: [] },
      'reasoning',
      'reasoning: expected an object, received a list',
    ],
    [
      { model: 'm', input: 'x', tools: [{ type: 'function' }] },
      'tools[0].name',
      "tools[0].name is required: the function's name",
    ],
    [
      { model: 'm', input: 'x', tools: [{ type: 'function', name: 'f', parameters: 'x' }] },
      'tools[0].parameters',
      'tools[0].parameters: expected an object, received a text',
    ],
    [
      { model: 'm', input: 'x', tools: [{ name: 'f' }] },
      'tools[0].type',
      'tools[0].type is required: a text',
    ],
    [
      { model: 'm', input: 'x', tool_choice: 'any' },
      'tool_choice',
      'tool_choice: expected one of auto, none, required, received "any"',
    ],
    [
      { model: 'm', input: 'x', tool_choice: { type: 'function' } },
      'tool_choice.name',
      'tool_choice.name is required: a text',
    ],
    [
      { model: 'm', input: 'x', text: { format: { type: 'json_schema', name: 'n' } } },
      'text.format.schema',
      'text.format.schema is required: an object',
    ],
    [
      { model: 'm', input: 'x', include: [1] },
      'include[0]',
      'include[0]: expected a text, received 1',
    ],
  ])('%j', (body, param, message) => {
    const failure = refusal(body);
    expect([failure.type, failure.param, failure.message]).toEqual([
      'invalid_request',
      param,
      message,
    ]);
  });
});
