import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sharedDaemon } from '../../daemon.ts';
import { settled } from '../account.ts';
import { gatewayConfig, newKey } from '../gateway-daemon.ts';
import { type MockUpstream, startMockUpstream } from '../mock-upstream.ts';
import { type Script, USAGE } from '../script.ts';

/** Fields of a compaction by OpenAI's description of its interface. */
const FIELDS: ReadonlySet<string> = new Set([
  ...['model', 'input', 'previous_response_id', 'instructions', 'service_tier'],
  ...['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
]);

const COMPACTED = {
  ...{ id: 'resp_cmp1', object: 'response.compaction', created_at: 1764967971 },
  output: [
    {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'user',
      content: [{ type: 'input_text', text: 'I am Ada.' }],
    },
    { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAAA-of-the-provider' },
  ],
  usage: { input_tokens: 139, output_tokens: 438, total_tokens: 577 },
};
const compaction: Script = { raw: { type: 'application/json', body: JSON.stringify(COMPACTED) } };
const says = (text: string): Script => ({ steps: [{ text }], usage: USAGE });

let upstream: MockUpstream;
/** Whether the provider has a compaction of its own. */
let isOffered = true;
beforeAll(async () => {
  upstream = await startMockUpstream(({ url }, body) => {
    if (!url?.endsWith('/compact')) return 'responses';
    if (!isOffered) return { status: 404, body: { detail: 'Not Found' } };
    const unknown = Object.keys(body).find((name) => !FIELDS.has(name));
    if (unknown === undefined) return 'responses';
    return { status: 400, body: { error: { message: `Unknown parameter: ${unknown}` } } };
  });
});
afterAll(() => upstream.close());
beforeEach(() => {
  isOffered = true;
});

const daemon = sharedDaemon({
  get config() {
    const { models } = gatewayConfig(upstream.url) as { models: Readonly<Record<string, object>> };
    const one = models['to-responses'] as { readonly routes: readonly object[] };
    const two = { ...one, routes: [...one.routes, { ...one.routes[0], model: 'other' }] };
    return gatewayConfig(upstream.url, { models: { one, old: { ...one }, two } });
  },
});

let count = 0;
async function client() {
  count += 1;
  const apiKey = await newKey(daemon(), `compacts-${count}`);
  return new OpenAI({ apiKey, baseURL: `${daemon().url}/v1`, maxRetries: 0 });
}

const pathsAsked = () => upstream.requests.map(({ path }) => path.replace('/v1', ''));

describe('a compaction', () => {
  it('is that of the only provider, with the whole conversation, charged as an answer', async () => {
    const openai = await client();
    upstream.play(says('Hello Ada.'));
    const first = await openai.responses.create({ model: 'one', input: 'I am Ada.' });
    upstream.play(compaction);
    const before = (await settled(daemon(), openai.apiKey!)).credits.spent;
    const compacted = await openai.responses.compact({
      ...{ model: 'one', previous_response_id: first.id, instructions: 'Be brief.' },
      input: [
        { type: 'function_call', call_id: 'c', name: 'time', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'noon' },
      ],
    });
    expect(compacted).toMatchObject(COMPACTED);
    expect(compacted).not.toHaveProperty('output_text');
    expect(pathsAsked()).toEqual(['/responses/compact']);
    expect(upstream.only().body).toMatchObject({
      model: 'upstream-responses',
      instructions: 'Be brief.',
    });
    expect(upstream.only().body.input).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { type: 'function_call' },
      { type: 'function_call_output', output: 'noon' },
    ]);
    const { spent } = (await settled(daemon(), openai.apiKey!)).credits;
    expect(spent - before).toBeCloseTo((139 * 1000 + 438 * 10_000) / 1_000_000, 6);

    const items = compacted.output as OpenAI.Responses.ResponseInputItem[];
    for (const more of [
      { input: [...items, { role: 'user' as const, content: 'Who?' }] },
      { input: 'Who?', previous_response_id: compacted.id },
    ]) {
      upstream.play(says('Ada.'));
      await openai.responses.create({ model: 'one', ...more });
      expect(upstream.only().body.input).toMatchObject([
        { role: 'user' },
        { type: 'compaction', encrypted_content: 'gAAAA-of-the-provider' },
        { role: 'user' },
      ]);
    }
  });

  it('is Oriel\u2019s where the provider has none, which is asked once', async () => {
    const openai = await client();
    isOffered = false;
    for (const asked of [['/responses/compact', '/responses'], ['/responses']]) {
      upstream.play(says('The user is Ada.'));
      const { output } = await openai.responses.compact({ model: 'old', input: 'I am Ada.' });
      expect(output.at(-1)).toMatchObject({ encrypted_content: expect.stringMatching(/^oriel/) });
      expect(pathsAsked()).toEqual(asked);
    }
  });

  it('is Oriel\u2019s where another route may go on with it, or the provider cannot read all', async () => {
    const openai = await client();
    const foreign = {
      type: 'reasoning' as const,
      id: 'rs_1',
      summary: [],
      encrypted_content: 'oriel:other:c2ln',
    };
    for (const [model, more] of [
      ['two', []],
      ['one', [foreign]],
    ] as const) {
      upstream.play(says('The user is Ada.'));
      const input = [{ role: 'user' as const, content: 'I am Ada.' }, ...more];
      await openai.responses.compact({ model, input });
      expect([model, pathsAsked()]).toEqual([model, ['/responses']]);
    }
  });

  it.each([
    [{ status: 429, body: { error: { message: 'slow down', code: 'rate_limit_exceeded' } } }, 429],
    [
      { status: 400, body: { error: { message: 'too long', code: 'context_length_exceeded' } } },
      400,
    ],
    [{ status: 500, body: {} }, 502],
  ])('fails as an answer does: %j', async (refuse, status) => {
    const openai = await client();
    upstream.play({ refuse });
    const asked = openai.responses.compact({ model: 'one', input: 'I am Ada.' });
    await expect(asked).rejects.toMatchObject({ status });
    expect(pathsAsked()).toEqual(['/responses/compact']);
    expect((await settled(daemon(), openai.apiKey!, 0)).credits.spent).toBe(0);
  });

  it('is not passed on for an account without credits', async () => {
    const apiKey = await newKey(daemon(), 'compacts-poor', { credits: '0.000001' });
    const openai = new OpenAI({ apiKey, baseURL: `${daemon().url}/v1`, maxRetries: 0 });
    upstream.play(compaction);
    const asked = openai.responses.compact({ model: 'one', input: 'I am Ada.' });
    await expect(asked).rejects.toMatchObject({ status: 402 });
    expect(upstream.requests).toEqual([]);
  });
});
