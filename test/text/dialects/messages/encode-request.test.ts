import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it } from 'vitest';
import type { Json, Part, TextRequest, Turn } from '../../../../src/text/canonical/canonical.ts';
import type { Target } from '../../../../src/text/dialects/dialect.ts';
import { messages } from '../../../../src/text/dialects/messages/messages.ts';
import { wrapSignature } from '../../../../src/text/dialects/reasoning-signature.ts';
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
import { failureOf, target as targetOf, textRequest, turn } from '../../request.ts';

const target = targetOf('messages', { provider: 'anthropic', model: 'claude', reasons: true });

const user = (...parts: readonly (Part | string)[]): Turn =>
  turn(
    'user',
    parts.map((part) => (typeof part === 'string' ? words(part) : part)),
  );
const assistant = (...parts: readonly (Part | string)[]): Turn =>
  turn(
    'assistant',
    parts.map((part) => (typeof part === 'string' ? words(part) : part)),
  );
const own = (value: Json, provider: string | null = 'anthropic') =>
  signed('messages', provider, value);

// biome-ignore lint/suspicious/noExplicitAny: tests read any property
function sent(request: Partial<TextRequest>, to: Partial<Target> = {}): Record<string, any> {
  const whole = textRequest({ turns: [user('Hello')], ...request });
  return messages.encodeRequest(whole, { ...target, ...to });
}

/** The messages of an encoded request. */
const conversation = (...turns: readonly Turn[]) => sent({ turns })['messages'];

const refused = (request: Partial<TextRequest>) => failureOf(() => sent(request));

describe('a conversation encoded for a messages upstream', () => {
  it('has the first system turns in the field system', () => {
    const { system, messages: rest } = sent({
      turns: [turn('system', [words('Be kind.')]), user('Hello')],
    });
    expect(system).toBe('Be kind.');
    expect(rest).toEqual([{ role: 'user', content: 'Hello' }]);
    const two = sent({
      turns: [
        turn('system', [words('Be kind.')]),
        turn('developer', [words('Be brief.')]),
        user('Hello'),
      ],
    });
    expect(two['system']).toEqual([
      { type: 'text', text: 'Be kind.' },
      { type: 'text', text: 'Be brief.' },
    ]);
  });

  it('keeps the position of later system and developer turns', () => {
    expect(
      conversation(
        user('Hello'),
        turn('system', [words('Be brief.')]),
        assistant('Hi'),
        turn('developer', [words('Now in French.')]),
        user('Hello again'),
      ),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'text', text: '<system>\nBe brief.\n</system>' },
        ],
      },
      { role: 'assistant', content: 'Hi' },
      {
        role: 'user',
        content: [
          { type: 'text', text: '<system>\nNow in French.\n</system>' },
          { type: 'text', text: 'Hello again' },
        ],
      },
    ]);
  });

  it('has a user message if there are only instructions', () => {
    const { system, messages: rest } = sent({ turns: [turn('system', [words('Say hello.')])] });
    expect(system).toBeUndefined();
    expect(rest).toEqual([{ role: 'user', content: '<system>\nSay hello.\n</system>' }]);
  });

  it('merges parallel calls into one turn and their results into the next, before texts', () => {
    expect(
      conversation(
        user('Go'),
        assistant(called('a', 'look', '{"n":1}')),
        assistant(called('b')),
        user(result('b', [words('b')])),
        user('And now?'),
        user(result('a', [words('a')])),
      ),
    ).toEqual([
      { role: 'user', content: 'Go' },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'look', input: { n: 1 } },
          { type: 'tool_use', id: 'b', name: 'look', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'a' },
          { type: 'tool_result', tool_use_id: 'b', content: 'b' },
          { type: 'text', text: 'And now?' },
        ],
      },
    ]);
  });

  it('moves a late result to its call', () => {
    const encoded = conversation(
      assistant(called('a'), called('b')),
      user(result('a', [words('a')])),
      assistant('One is there'),
      user(result('b', [words('b')])),
    );
    expect(encoded.map(({ role }: Json) => role)).toEqual(['assistant', 'user', 'assistant']);
    expect(encoded[1].content.map(({ tool_use_id }: Json) => tool_use_id)).toEqual(['a', 'b']);
  });

  it('matches ids that repeat in each turn by order', () => {
    const encoded = conversation(
      assistant(called('x:0')),
      user(result('x:0', [words('first')])),
      assistant(called('x:0')),
      user(result('x:0', [words('second')])),
    );
    expect([encoded[1].content[0].content, encoded[3].content[0].content]).toEqual([
      'first',
      'second',
    ]);
    expect(encoded[0].content[0].id).toMatch(/^[\w-]{1,64}$/);
    expect(encoded[1].content[0].tool_use_id).toBe(encoded[0].content[0].id);
  });

  it('drops empty texts and empty messages', () => {
    expect(conversation(user('Hello'), assistant(''), user('', 'Still there?'))).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'text', text: 'Still there?' },
        ],
      },
    ]);
  });

  it('replays its own signed reasoning before tool_use and drops other reasoning', () => {
    const [, { content }] = conversation(
      user('Go'),
      assistant(
        thought(own({ signature: 'signed' })),
        thought(own({ signature: 'empty' }), ''),
        thought(own({ data: 'hidden' }, null), ''),
        thought(own({ signature: 'x' }, 'another')),
        thought(signed('responses', 'anthropic', { signature: 'y' })),
        thought(null),
        'Let me look',
        called('a'),
      ),
      user(result('a', [words('a')])),
    );
    expect(content).toEqual([
      { type: 'thinking', thinking: 'Hm', signature: 'signed' },
      { type: 'thinking', thinking: '', signature: 'empty' },
      { type: 'redacted_thinking', data: 'hidden' },
      { type: 'text', text: 'Let me look' },
      { type: 'tool_use', id: 'a', name: 'look', input: {} },
    ]);
  });

  it('has images and documents, also in tool results', () => {
    const text = dataOf('text/plain', Buffer.from('Hé').toString('base64'));
    const [{ content }] = conversation(
      user(
        image,
        media(urlOf('https://a.b/c.png')),
        media(dataOf('application/pdf'), { media: 'document', filename: 'A' }),
        media(text, { media: 'document' }),
        result('a', [image], true),
      ),
    );
    const base64 = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
    expect(content).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'a',
        is_error: true,
        content: [{ type: 'image', source: base64 }],
      },
      { type: 'image', source: base64 },
      { type: 'image', source: { type: 'url', url: 'https://a.b/c.png' } },
      { type: 'document', title: 'A', source: { ...base64, media_type: 'application/pdf' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Hé' } },
    ]);
    for (const odd of [
      media(urlOf('x'), { media: 'audio' }),
      media(fileOf('file-1')),
      media(dataOf('application/zip'), { media: 'document' }),
    ]) {
      expect(refused({ turns: [user(odd)] })).toMatchObject({
        param: 'p',
        code: 'not_supported_by_model',
      });
    }
  });

  it.each(['[]', 'null', '{', '"a"'])('is refused for tool call arguments %s', (json) => {
    expect(refused({ turns: [assistant(called('a', 'look', json))] }).param).toBe('p');
  });

  it('is refused for speaker names', () => {
    const turns = [turn('user', [words('Hello')], { name: 'Ann' })];
    expect(refused({ turns }).param).toBe('messages[0].name');
  });
});

describe('settings encoded for a messages upstream', () => {
  it.each([
    [{}, { max_tokens: 8192 }],
    [{ maxOutputTokens: 5 }, { max_tokens: 5 }],
    [
      { temperature: 1, topP: 0.5, stop: ['END'] },
      { temperature: 1, top_p: 0.5, stop_sequences: ['END'] },
    ],
    [
      {
        n: 1,
        frequencyPenalty: 0,
        presencePenalty: 0,
        logprobs: false,
        topLogprobs: 0,
        logitBias: {},
        verbosity: 'medium',
      },
      {},
    ],
    [{ reasoning: reasoning('low') }, { thinking: { type: 'enabled', budget_tokens: 1024 } }],
    [
      { reasoning: reasoning('high') },
      { thinking: { type: 'enabled', budget_tokens: 4096 }, max_tokens: 8192 },
    ],
    [
      { reasoning: reasoning('max') },
      { thinking: { type: 'enabled', budget_tokens: 16_384 }, max_tokens: 20_480 },
    ],
    [
      { reasoning: reasoning('max'), maxOutputTokens: 2000 },
      { thinking: { type: 'enabled', budget_tokens: 1999 } },
    ],
    [
      { reasoning: reasoning('high', 3000) },
      { thinking: { type: 'enabled', budget_tokens: 3000 } },
    ],
    [{ reasoning: reasoning('none') }, { thinking: { type: 'disabled' } }],
    [
      {
        format: {
          type: 'json-schema',
          name: 'a',
          description: null,
          strict: true,
          schema: { type: 'object' },
        },
      },
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    ],
    [{ endUser: { path: 'user', id: 'ann' } }, { metadata: { user_id: 'ann' } }],
    [{ stream: true }, { stream: true }],
  ] as const)('%j', (request, encoded) => {
    expect(sent(request as Partial<TextRequest>)).toMatchObject(encoded);
  });

  it('max_tokens defaults to the maxOutputTokens of the model', () => {
    expect(sent({}, { maxOutputTokens: 64_000 })).toMatchObject({ max_tokens: 64_000 });
  });

  it('settings with default values are left out', () => {
    expect(Object.keys(sent({ n: 1, format: { type: 'text' }, logprobs: false }))).toEqual([
      'model',
      'max_tokens',
      'messages',
    ]);
  });

  const reasons = { reasoning: reasoning('low') };
  it.each([
    ['temperature', { temperature: 1.2 }],
    ['n', { n: 2 }],
    ['seed', { seed: 5 }],
    ['frequency_penalty', { frequencyPenalty: 1 }],
    ['presence_penalty', { presencePenalty: -1 }],
    ['logprobs', { logprobs: true }],
    ['top_logprobs', { topLogprobs: 1 }],
    ['logit_bias', { logitBias: { '5': 1 } }],
    ['verbosity', { verbosity: 'low' }],
    ['response_format', { format: { type: 'json-object' } }],
    ['reasoning_effort', { ...reasons, toolChoice: { type: 'required' } }],
    ['temperature', { ...reasons, temperature: 0 }],
    ['top_p', { ...reasons, topP: 0.5 }],
    ['reasoning_effort', { ...reasons, maxOutputTokens: 1024 }],
    ['parallel', { native: [{ type: 'native', dialect: 'chat', path: 'parallel', value: 1 }] }],
    ['tools[0]', { tools: [{ type: 'native', dialect: 'chat', path: 'tools[0]', value: 1 }] }],
  ] as const)('%s is refused: %j', (param, request) => {
    const failure = refused(request as Partial<TextRequest>);
    expect(failure).toMatchObject({
      type: 'invalid_request',
      status: 400,
      param,
      code: 'not_supported_by_model',
    });
  });
});

describe('tools encoded for a messages upstream', () => {
  it('have the client’s schema or an empty one', () => {
    const schema = { type: 'object', properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: {} } };
    const { tools } = sent({
      tools: [
        tool('a'),
        tool('a', { parameters: schema, description: 'b', strict: true }),
        tool('a', { parameters: {} }),
      ],
    });
    expect(tools).toEqual([
      { name: 'a', input_schema: { type: 'object', properties: {} } },
      { name: 'a', description: 'b', input_schema: schema, strict: true },
      { name: 'a', input_schema: { type: 'object' } },
    ]);
  });

  it.each([
    [{ toolChoice: { type: 'required' } }, { type: 'any' }],
    [{ toolChoice: { type: 'none' } }, { type: 'none' }],
    [{ toolChoice: { type: 'none' }, parallelToolCalls: false }, { type: 'none' }],
    [{ toolChoice: { type: 'auto' } }, { type: 'auto' }],
    [
      { toolChoice: { type: 'tool', name: 'a' }, parallelToolCalls: false },
      { type: 'tool', name: 'a', disable_parallel_tool_use: true },
    ],
    [{ parallelToolCalls: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [{ parallelToolCalls: true }, undefined],
  ] as const)('have the tool_choice for %j', (request, tool_choice) => {
    expect(sent({ tools: [tool('a')], ...request })['tool_choice']).toEqual(tool_choice);
  });
});

describe('a messages request for a messages upstream', () => {
  const body = {
    model: 'public',
    max_tokens: 9000,
    temperature: 0.5,
    container: 'c',
    system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }],
    tools: [
      {
        name: 'n'.repeat(80),
        input_schema: { type: 'object' },
        cache_control: { type: 'ephemeral' },
      },
      { type: 'web_search_20250305', name: 'web_search' },
    ],
    tool_choice: { type: 'tool', name: 'n'.repeat(80) },
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: '' },
          { type: 'text', text: 'Hello', cache_control: null },
        ],
      },
      { role: 'system', content: 'Be brief.' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'a', signature: 'signed' },
          {
            type: 'thinking',
            thinking: 'b',
            signature: wrapSignature({ dialect: 'chat', provider: 'p', value: {} }),
          },
          { type: 'thinking', thinking: 'c', signature: wrapSignature(own({ signature: 'mine' })) },
          { type: 'thinking', thinking: 'd' },
          { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
          { type: 'tool_use', id: 'x:0', name: 'n'.repeat(80), input: { a: 1 } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x:0', content: 'yes' }] },
    ],
  };

  it('is sent unchanged but for reasoning of other providers', () => {
    const encoded = messages.encodeRequest(messages.decodeRequest(body), target) as typeof body;
    const { name } = encoded.tools[0]!;
    expect(name).toMatch(/^n+_\w{8}$/);
    const { id } = encoded.messages[2]!.content[3] as unknown as { id: string };
    expect(id).toMatch(/^[\w-]+$/);
    expect(encoded).toEqual({
      ...body,
      model: 'claude',
      tools: [{ ...body.tools[0], name }, body.tools[1]],
      tool_choice: { type: 'tool', name },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: null }] },
        body.messages[1],
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'a', signature: 'signed' },
            { type: 'thinking', thinking: 'c', signature: 'mine' },
            { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
            { type: 'tool_use', id, name, input: { a: 1 } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'yes' }] },
      ],
    });
  });

  it('has the settings that the rules of the model changed', () => {
    const asked = {
      model: 'a',
      max_tokens: 9000,
      temperature: 0.5,
      messages: body.messages.slice(0, 1),
    };
    const request = messages.decodeRequest({ ...asked, output_config: { effort: 'max' } });
    const encoded = messages.encodeRequest(
      { ...request, temperature: null, reasoning: reasoning('high') },
      target,
    );
    expect(encoded).toMatchObject({ output_config: { effort: 'high' }, max_tokens: 9000 });
    expect(Object.keys(encoded)).not.toContain('temperature');
    expect(Object.keys(encoded)).not.toContain('thinking');
  });

  it('keeps its reasoning budget if the gateway derived an effort', () => {
    const thinking = { type: 'enabled', budget_tokens: 3000, display: 'omitted' };
    const request = messages.decodeRequest({
      model: 'a',
      max_tokens: 9,
      messages: body.messages.slice(0, 1),
      thinking,
    });
    const changed = { ...request, reasoning: { ...request.reasoning!, effort: 'medium' } as const };
    expect(messages.encodeRequest(changed, target)).toMatchObject({ thinking });
  });
});
