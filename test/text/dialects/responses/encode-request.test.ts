import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it, test } from 'vitest';
import type { Json, Part, TextRequest, Turn } from '../../../../src/text/canonical/canonical.ts';
import { wrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
import { responses } from '../../../../src/text/dialects/responses/responses.ts';
import { areAbsent, faultsOf } from '../../openapi-documents.ts';
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
import { target as targetOf, turn } from '../../request.ts';

const target = targetOf('responses', { provider: 'acme', model: 'gpt-5', reasons: true });

const CALL = called('functions.x:0', 'f');

/** A request of a client of another format. */
function foreign(more: Partial<TextRequest> = {}): TextRequest {
  const request = responses.decodeRequest({ model: 'm', input: 'hi' });
  return { ...request, dialect: 'chat', body: { model: 'm' }, ...more };
}
const encode = (more: Partial<TextRequest> = {}) => responses.encodeRequest(foreign(more), target);
const items = (...turns: Turn[]) => encode({ turns })['input'];
const refused = (more: Partial<TextRequest>, param: string) =>
  expect(() => encode(more)).toThrow(
    expect.objectContaining({ type: 'invalid_request', param, code: 'not_supported_by_model' }),
  );

describe('a request of another format encoded for a responses upstream', () => {
  it('has store: false and includes encrypted reasoning', () => {
    expect(encode()).toEqual({
      model: 'gpt-5',
      input: [{ type: 'message', role: 'user', content: 'hi' }],
      include: ['reasoning.encrypted_content'],
      store: false,
    });
  });

  it('does not include reasoning for a model without reasoning, which would refuse it', () => {
    const { include } = responses.encodeRequest(foreign(), { ...target, reasons: false });
    expect(include).toBeUndefined();
  });

  it('keeps the position of system and developer messages', () => {
    expect(
      items(
        turn('system', [words('a')]),
        turn('user', [words('b'), words('c')]),
        turn('developer', [words('d')]),
      ),
    ).toEqual([
      { type: 'message', role: 'system', content: 'a' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'b' },
          { type: 'input_text', text: 'c' },
        ],
      },
      { type: 'message', role: 'developer', content: 'd' },
    ]);
  });

  it('has turns of the assistant as output items', () => {
    const value = { id: 'rs_1', summary: [], encrypted_content: 'gAAA' };
    const own = (provider: string | null, more: Json = value) =>
      thought(signed('responses', provider, more));
    expect(
      items(
        turn('user', [words('go')]),
        turn('assistant', [
          own('acme'),
          own('else'),
          own(null),
          own('acme', { id: 'rs_2', summary: [] }),
          thought(signed('messages', 'acme', { signature: 's' })),
          thought(null),
          words('I call'),
          words(''),
          { type: 'refusal', path: 'p', text: 'no' },
          CALL,
        ]),
      ),
    ).toEqual([
      { type: 'message', role: 'user', content: 'go' },
      { type: 'reasoning', ...value },
      { type: 'reasoning', ...value },
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'I call' },
          { type: 'refusal', refusal: 'no' },
        ],
      },
      { type: 'function_call', call_id: 'oriel_ZnVuY3Rpb25zLng6MA', name: 'f', arguments: '{}' },
    ]);
  });

  it('has results by call id, also with images', () => {
    const of = (content: readonly Part[], isError?: boolean) =>
      result('functions.x:0', content, isError);
    const call_id = 'oriel_ZnVuY3Rpb25zLng6MA';
    const type = 'function_call_output';
    expect(
      items(
        turn('user', [
          of([words('ok')]),
          of([]),
          of([words('done'), image]),
          of([words('boom')], true),
          of([words('Error: boom')], true),
          of([image], true),
          words('and?'),
        ]),
      ),
    ).toEqual([
      { type, call_id, output: 'ok' },
      { type, call_id, output: '' },
      {
        type,
        call_id,
        output: [
          { type: 'input_text', text: 'done' },
          { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,AAAA' },
        ],
      },
      { type, call_id, output: 'Error: boom' },
      { type, call_id, output: 'Error: boom' },
      {
        type,
        call_id,
        output: [
          { type: 'input_text', text: 'Error:' },
          { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,AAAA' },
        ],
      },
      { type: 'message', role: 'user', content: 'and?' },
    ]);
  });

  it('has images and documents as data, URLs and ids', () => {
    const [message] = items(
      turn('user', [
        media(urlOf('https://a.example'), { detail: 'high' }),
        media(fileOf('file-1')),
        media(dataOf('application/pdf'), { media: 'document' }),
        media(urlOf('https://a.example'), { media: 'document', filename: 'a.pdf' }),
        media(fileOf('file-2'), { media: 'document' }),
      ]),
    ) as Json[];
    expect(message!['content']).toEqual([
      { type: 'input_image', detail: 'high', image_url: 'https://a.example' },
      { type: 'input_image', detail: 'auto', file_id: 'file-1' },
      {
        type: 'input_file',
        filename: 'document.pdf',
        file_data: 'data:application/pdf;base64,AAAA',
      },
      { type: 'input_file', filename: 'a.pdf', file_url: 'https://a.example' },
      { type: 'input_file', file_id: 'file-2' },
    ]);
  });

  it('has every setting of the format, with schemas unchanged', () => {
    const schema = { type: 'object', properties: { a: { $ref: '#/x' } } };
    expect(
      encode({
        maxOutputTokens: 5,
        temperature: 0.5,
        topP: 0.9,
        parallelToolCalls: false,
        logprobs: true,
        topLogprobs: 2,
        verbosity: 'low',
        stream: true,
        reasoning: { ...reasoning('high'), summary: 'auto' },
        format: { type: 'json-schema', name: null, description: null, schema, strict: true },
        toolChoice: { type: 'tool', name: 'f'.repeat(80) },
        tools: [
          tool('f'.repeat(80), { parameters: schema }),
          tool('g', { description: 'G', strict: true }),
        ],
        body: { model: 'm', user: 'u', prompt_cache_key: 'k', store: true },
      }),
    ).toEqual({
      model: 'gpt-5',
      input: [{ type: 'message', role: 'user', content: 'hi' }],
      max_output_tokens: 5,
      temperature: 0.5,
      top_p: 0.9,
      parallel_tool_calls: false,
      top_logprobs: 2,
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      text: {
        verbosity: 'low',
        format: { type: 'json_schema', name: 'answer', schema, strict: true },
      },
      reasoning: { effort: 'high', summary: 'auto' },
      tool_choice: { type: 'function', name: expect.stringMatching(/^f{55}_[0-9a-f]{8}$/) },
      tools: [
        {
          type: 'function',
          name: expect.stringMatching(/^f{55}_[0-9a-f]{8}$/),
          parameters: schema,
          strict: false,
        },
        { type: 'function', name: 'g', description: 'G', parameters: null, strict: true },
      ],
      user: 'u',
      prompt_cache_key: 'k',
      store: false,
      stream: true,
    });
  });

  it.each<[Partial<TextRequest>, string]>([
    [{ seed: 1, body: { seed: 1 } }, 'seed'],
    [{ stop: ['x'], body: { stop: ['x'] } }, 'stop'],
    [{ n: 2, body: { n: 2 } }, 'n'],
    [{ frequencyPenalty: 1, body: { frequency_penalty: 1 } }, 'frequency_penalty'],
    [{ presencePenalty: -1, body: { presence_penalty: -1 } }, 'presence_penalty'],
    [{ logitBias: { 5: 1 }, body: { logit_bias: { 5: 1 } } }, 'logit_bias'],
    [{ dialect: 'messages', topK: 3, body: { top_k: 3 } }, 'top_k'],
    [
      { native: [{ type: 'native', dialect: 'chat', path: 'modalities', value: ['audio'] }] },
      'modalities',
    ],
    [{ tools: [{ type: 'native', dialect: 'messages', path: 'tools[0]', value: {} }] }, 'tools[0]'],
    [
      { toolChoice: { type: 'native', dialect: 'chat', path: 'tool_choice', value: {} } },
      'tool_choice',
    ],
    [{ turns: [turn('user', [words('a')], { name: 'bob' })] }, 'messages[0].name'],
    [{ turns: [turn('assistant', [words('a')], { partial: true })] }, 'messages[0]'],
    [{ dialect: 'messages', turns: [turn('assistant', [words('a')])] }, 'messages[0]'],
    [{ turns: [turn('user', [media(fileOf('x'), { media: 'audio' })])] }, 'p'],
  ])('is refused for settings that the format lacks: %j', (more, param) => refused(more, param));

  it('leaves out settings with default values', () => {
    const written = encode({
      n: 1,
      stop: [],
      frequencyPenalty: 0,
      presencePenalty: 0,
      logitBias: {},
    });
    expect(Object.keys(written)).toEqual(['model', 'input', 'include', 'store']);
  });
});

test.skipIf(areAbsent)(
  'a request follows the public documents (in the folder ORIEL_SHARED)',
  () => {
    const request = encode({
      turns: [
        turn('system', [words('a')]),
        turn('user', [words('b'), words('c')]),
        turn('assistant', [words('d'), { type: 'refusal', path: 'p', text: 'no' }, CALL]),
        turn('user', [result('c', [], true), media(urlOf('https://a.example'))]),
      ],
      tools: [tool('f')],
      toolChoice: { type: 'required' },
      reasoning: { ...reasoning('high'), summary: 'auto' },
      format: { type: 'text' },
      maxOutputTokens: 100,
      topLogprobs: 1,
      logprobs: true,
      stream: true,
    });
    const plain = { ...request, input: 'x' };
    expect(faultsOf('openai', 'CreateResponse', plain)).toEqual([]);
    expect(faultsOf('open', 'CreateResponseBody', plain)).toEqual([]);
    // OpenAI's schemas of items overlap, so that valid items match two of a oneOf.
    for (const item of request['input'] as Json[]) {
      expect(faultsOf('open', 'ItemParam', item)).toEqual([]);
    }
  },
);

describe('a responses request for a responses upstream', () => {
  const replay = (body: Json, more: Partial<TextRequest> = {}) =>
    responses.encodeRequest(
      { ...responses.decodeRequest({ model: 'm', ...body }), ...more },
      target,
    );

  it('is the unchanged body but for the name of the model', () => {
    const body = {
      model: 'm',
      input: [
        { type: 'item_reference', id: 'msg_1' },
        { role: 'assistant', content: [{ type: 'output_text', text: 'a' }], phase: 'commentary' },
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gAAA' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        {
          type: 'function_call',
          id: 'fc_1',
          call_id: 'c',
          name: 'f',
          arguments: '{}',
          status: 'completed',
        },
      ],
      previous_response_id: 'resp_1',
      tools: [{ type: 'web_search_preview' }, { type: 'function', name: 'f', defer_loading: true }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] },
      reasoning: { effort: 'low', context: 'all_turns' },
      text: { format: { type: 'text' } },
      store: true,
      temperature: 1,
      something_new: { a: 1 },
    };
    expect(replay(body)).toEqual({ ...body, model: 'gpt-5' });
  });

  it('drops reasoning of other providers and unwraps its own', () => {
    const value = { id: 'rs_9', summary: [], encrypted_content: 'gAAA' };
    const wrapped = (dialect: 'messages' | 'responses', provider: string) => ({
      type: 'reasoning',
      id: 'rs_oriel_1',
      summary: [],
      encrypted_content: wrapSignature({ dialect, provider, value }),
    });
    const input = [
      wrapped('messages', 'acme'),
      wrapped('responses', 'else'),
      wrapped('responses', 'acme'),
      {
        type: 'reasoning',
        id: 'rs_oriel_2',
        summary: [{ type: 'summary_text', text: 'made here' }],
      },
      { type: 'reasoning', id: 'rs_3', summary: [], encrypted_content: 'oriel:broken' },
    ];
    expect(replay({ input })['input']).toEqual([{ type: 'reasoning', ...value }]);
  });

  it('has the settings that the rules of the model changed', () => {
    const body = {
      input: 'x',
      temperature: 1,
      top_p: 1,
      reasoning: { effort: 'max', summary: 'auto' },
    };
    const changed = replay(body, {
      temperature: null,
      topP: null,
      maxOutputTokens: 100,
      reasoning: { ...reasoning('high'), summary: 'auto' },
    });
    expect(changed).toEqual({
      model: 'gpt-5',
      input: 'x',
      max_output_tokens: 100,
      reasoning: { effort: 'high', summary: 'auto' },
    });
  });
});
