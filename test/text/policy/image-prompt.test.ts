import { describe, expect, it } from 'vitest';
import { plainTerm } from '../../safety/refusals.ts';
import { modelTo, newKey, sharedGateway } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { plainBody, send } from '../raw.ts';

const EXPLICIT = plainTerm('en', 'nudity');
const BOTH = `A child, ${EXPLICIT}`;
const TOOL = { type: 'image_generation' };

const gateway = sharedGateway((url) => ({
  providers: { openai: { kind: 'openai', baseUrl: url, apiKey: 'key' } },
  models: Object.fromEntries(
    (['chat', 'responses'] as const).flatMap((dialect) =>
      ['upstream', 'upstream-image-preview'].map((model) => [
        model === 'upstream' ? modelTo(dialect) : `draws-${dialect}`,
        {
          type: 'text',
          routes: [{ provider: 'openai', model, dialect }],
          price: { input: 1000, output: 1000 },
        },
      ]),
    ),
  ),
}));

async function codeOf(dialect: DialectName, body: object, key?: string): Promise<string | null> {
  const response = await send(gateway().daemon, dialect, body, key === undefined ? {} : { key });
  const { error } = (await response.json()) as { error?: { code: string | null } };
  return error?.code ?? null;
}

const responses = (more: object) => plainBody('responses', modelTo('responses'), more);
const chat = (more: object) => plainBody('chat', modelTo('chat'), more);

describe('the prompt check of a request whose answer may have images', () => {
  const said = (role: string, type: string) => ({ role, content: [{ type, text: BOTH }] });
  const call = (args: string) => ({
    type: 'function_call',
    call_id: 'c',
    name: 'f',
    arguments: args,
  });
  const output = (text: string) => ({ type: 'function_call_output', call_id: 'c', output: text });
  const other = { type: 'function', name: 'f', description: BOTH, parameters: {} };
  const inArguments = JSON.stringify({ style: { caption: BOTH } });

  it.each<[string, object]>([
    ['input', { input: BOTH }],
    ['instructions', { instructions: BOTH }],
    ['input and instructions together', { instructions: EXPLICIT, input: 'A child' }],
    ['a part of a message', { input: [said('user', 'input_text')] }],
    [
      'a message of the assistant',
      { input: [said('assistant', 'output_text'), { role: 'user', content: 'Draw that.' }] },
    ],
    ['the output of a function', { input: [call('{}'), output(BOTH)] }],
    ['the arguments of a function', { input: [call(inArguments), output('done')] }],
    ['the description of another tool', { tools: [TOOL, other] }],
    [
      'a word of the tool itself',
      { input: 'A child', tools: [{ ...TOOL, negative_prompt: 'clothes', style: EXPLICIT }] },
    ],
    ['escapes', { input: 'A child, &#110;%75de' }],
  ])('refuses a forbidden text in %s', async (_, more) => {
    const body = responses({ tools: [TOOL], ...more });
    expect(await codeOf('responses', body)).toBe('content_policy');
  });

  it.each<[string, DialectName, object]>([
    ['modalities', 'chat', chat({ modalities: ['text', 'image'] })],
    ['a tool choice of image generation', 'responses', responses({ tools: [], tool_choice: TOOL })],
    ['a model with image output, in chat', 'chat', plainBody('chat', 'draws-chat')],
    [
      'a model with image output, in responses',
      'responses',
      plainBody('responses', 'draws-responses'),
    ],
  ])('applies to a request with %s', async (_, dialect, body) => {
    const prompt =
      dialect === 'chat'
        ? { messages: [{ role: 'user', content: [{ type: 'text', text: BOTH }] }] }
        : { input: BOTH };
    expect(await codeOf(dialect, { ...body, ...prompt })).toBe('content_policy');
    const { upstream } = gateway();
    const before = upstream.requests.length;
    expect(await codeOf(dialect, { ...body, ...prompt, stream: true })).toBe('content_policy');
    expect(upstream.requests).toHaveLength(before);
  });

  it('checks long prompts to the end, refuses those too long to check, and charges neither', async () => {
    const { daemon } = gateway();
    const key = await newKey(daemon, 'images');
    const long = `${'The light is soft and the wall is white. '.repeat(2000)}${BOTH}.`;
    expect(await codeOf('responses', responses({ input: long, tools: [TOOL] }), key)).toBe(
      'content_policy',
    );
    const endless = responses({ input: 'so '.repeat(400_000), tools: [TOOL] });
    expect(await codeOf('responses', endless, key)).toBe('prompt_too_long');
    const account = await fetch(`${daemon.url}/v1/account`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await account.json()).toMatchObject({ credits: { reserved: 0, spent: 0 } });
  });

  it('admits a harmless prompt', async () => {
    const body = responses({ input: 'A child flies a kite', tools: [TOOL] });
    expect(await codeOf('responses', body)).not.toBe('content_policy');
  });
});

it('the prompt check does not apply to a request whose answer is text', async () => {
  const { upstream } = gateway();
  for (const [dialect, body] of [
    ['responses', responses({ input: BOTH })],
    ['chat', chat({ messages: [{ role: 'user', content: BOTH }], modalities: ['text'] })],
  ] as const) {
    const before = upstream.requests.length;
    expect(await codeOf(dialect, body)).not.toBe('content_policy');
    expect(upstream.requests).toHaveLength(before + 1);
  }
});
