import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../daemon.ts';
import { settled } from '../text/account.ts';
import { gatewayConfig } from '../text/gateway-daemon.ts';
import { chatBody, clientOf, createBatch, endOf, lineOf, resultsIn } from './batch-client.ts';
import { RemoteProvider } from './remote-provider.ts';

let remote: Awaited<ReturnType<typeof RemoteProvider.start>>;
beforeAll(async () => {
  remote = await RemoteProvider.start();
});
afterAll(() => remote.close());
beforeEach(() => remote.reset());

const configOf = () => {
  const model = (provider: string, name: string) => ({
    ...{ type: 'text', price: { input: 1000, output: 1000, batch: 0.5 }, maxOutputTokens: 100 },
    routes: [{ provider, model: name, batches: 'provider' }],
  });
  const base = gatewayConfig(remote.url) as { models: object };
  const models = {
    ...base.models,
    gpt: model('openai', 'up-gpt'),
    claude: model('anthropic', 'up-claude'),
  };
  return { ...base, models };
};

const lines = (contents: readonly string[], model = 'gpt') =>
  contents.map((content, index) => lineOf(`r${index}`, chatBody(content, model)));

/** A batch of two requests by the interface of the model. */
async function createdAs(model: string, url: string): Promise<string> {
  const contents = ['one', 'two'];
  if (model === 'gpt') return (await createBatch(clientOf(url), lines(contents))).id;
  const { batches } = new Anthropic({ apiKey: OWNER_KEY, baseURL: url }).messages;
  const requests = contents.map((content) => ({
    custom_id: content,
    params: { model, max_tokens: 9, messages: [{ role: 'user' as const, content }] },
  }));
  return (await batches.create({ requests })).id;
}

/** Resolves once the provider was sent such a request. */
const seen = (request: string) =>
  expect.poll(() => remote.seen, { interval: 20 }).toContain(request);

describe('a batch of a route with batches: provider', () => {
  const daemon = sharedDaemon({
    // Read when the daemon starts, after the provider has a port.
    get config() {
      return configOf();
    },
  });

  it('is run by the provider through a restart, and charged once for each line', async () => {
    const before = (await settled(daemon(), OWNER_KEY, 0)).credits.spent;
    const created = await createBatch(clientOf(daemon().url), lines(['one', 'bad', 'two']));
    await seen('GET /v1/batches/b1');
    await daemon().stop('SIGKILL');
    remote.state = 'completed';
    await daemon.restart();
    const client = clientOf(daemon().url);
    const ended = await endOf(client, created.id);
    expect(ended).toMatchObject({
      status: 'completed',
      request_counts: { total: 3, completed: 2, failed: 1 },
    });
    expect(remote.lines.map(({ body }) => body.model)).toEqual(['up-gpt', 'up-gpt', 'up-gpt']);
    const results = await resultsIn(client, ended.output_file_id);
    expect(
      results.map(({ custom_id, response: { body } }) => [
        custom_id,
        body.model,
        body.choices[0].message.content,
      ]),
    ).toEqual([
      ['r0', 'gpt', 're: one'],
      ['r2', 'gpt', 're: two'],
    ]);
    const [failed] = await resultsIn(client, ended.error_file_id);
    expect(failed).toMatchObject({
      custom_id: 'r1',
      response: { status_code: 400, body: { error: { message: 'a bad word' } } },
    });
    const { spent } = (await settled(daemon(), OWNER_KEY, before)).credits;
    expect(spent - before).toBeCloseTo(2 * 15 * 0.0005, 6);
    expect(remote.seen.filter((one) => one.startsWith('POST'))).toEqual([
      'POST /v1/files',
      'POST /v1/batches',
    ]);
  });

  it.each(['cancelled', 'expired'])(
    'that is %s is cancelled at the provider, whose results so far count',
    async (how) => {
      if (how === 'expired') await daemon().reload({ batches: { expiry: '2s' } });
      const client = clientOf(daemon().url);
      const created = await createBatch(client, lines(['one', 'slow']));
      await seen('GET /v1/batches/b1');
      if (how === 'cancelled') {
        expect((await client.batches.cancel(created.id)).status).toBe('cancelling');
      }
      const ended = await endOf(client, created.id);
      expect(ended).toMatchObject({
        status: how,
        request_counts: { total: 2, completed: 1, failed: 0 },
      });
      expect(remote.seen).toContain('POST /v1/batches/b1/cancel');
      expect(await resultsIn(client, ended.error_file_id)).toMatchObject([
        { custom_id: 'r1', error: { code: `batch_${how}` } },
      ]);
      await daemon().reload({ batches: {} });
    },
  );

  it.each([
    ['POST /v1/files', 'gpt'],
    ['POST /v1/batches', 'gpt'],
    ['POST /v1/messages/batches', 'claude'],
  ])('is at the provider once after a kill that lost the answer to %s', async (request, model) => {
    remote.held = request;
    const before = (await settled(daemon(), OWNER_KEY, 0)).credits.spent;
    const id = await createdAs(model, daemon().url);
    await seen(request);
    await daemon().stop('SIGKILL');
    remote.held = '';
    remote.state = model === 'gpt' ? 'completed' : 'ended';
    await daemon.restart();
    const path = model === 'gpt' ? `/v1/batches/${id}` : `/v1/messages/batches/${id}`;
    const ended = async () => {
      const batch = (await (await daemon().request(path)).json()) as Record<string, unknown>;
      return [batch['processing_status'] ?? batch['status'], batch['request_counts']];
    };
    const counts =
      model === 'gpt'
        ? { total: 2, completed: 2, failed: 0 }
        : { processing: 0, succeeded: 2, errored: 0, canceled: 0, expired: 0 };
    await expect.poll(ended).toEqual([remote.state, counts]);
    expect(remote.created).toHaveLength(1);
    const { spent } = (await settled(daemon(), OWNER_KEY, before)).credits;
    expect(spent - before).toBeCloseTo(2 * 15 * 0.0005, 6);
    // Nothing was asked outside of the batch.
    expect(remote.seen).not.toContainEqual(expect.stringMatching(/completions|messages$/));
  });

  it('ends if its results have no end', async () => {
    Object.assign(remote, { isEndless: true, state: 'completed' });
    const client = clientOf(daemon().url);
    const ended = await endOf(client, (await createBatch(client, lines(['one']))).id);
    expect(ended).toMatchObject({ status: 'expired', request_counts: { total: 1, completed: 0 } });
  });

  it('ends when it is cancelled after its provider was removed', async () => {
    const client = clientOf(daemon().url);
    const created = await createBatch(client, lines(['one']));
    await seen('GET /v1/batches/b1');
    await daemon().reload({ providers: { own: { kind: 'sandbox' } }, models: {} });
    await client.batches.cancel(created.id);
    const ended = await endOf(client, created.id);
    expect(ended.status).toBe('cancelled');
    expect(await resultsIn(client, ended.error_file_id)).toMatchObject([
      { custom_id: 'r0', error: { code: 'batch_cancelled' } },
    ]);
    await daemon().reload(configOf());
  });

  it('is run inline at Anthropic', async () => {
    const { batches } = new Anthropic({ apiKey: OWNER_KEY, baseURL: daemon().url }).messages;
    const request = (custom_id: string, content: string) => ({
      custom_id,
      params: { model: 'claude', max_tokens: 9, messages: [{ role: 'user' as const, content }] },
    });
    const created = await batches.create({ requests: [request('a', 'one'), request('b', 'bad')] });
    await seen('GET /v1/messages/batches/b1');
    remote.state = 'ended';
    await expect
      .poll(async () => (await batches.retrieve(created.id)).processing_status)
      .toBe('ended');
    const results: unknown[] = [];
    for await (const result of await batches.results(created.id)) results.push(result);
    expect(results).toMatchObject([
      {
        custom_id: 'a',
        result: { type: 'succeeded', message: { model: 'claude', content: [{ text: 're: one' }] } },
      },
      { custom_id: 'b', result: { type: 'errored', error: { error: { message: 'a bad word' } } } },
    ]);
  });

  it.each([
    ['several models', () => [...lines(['one']), lineOf('x', chatBody('two', 'to-chat'))], 200],
    ['another format', () => lines(['one'], 'claude'), 200],
    ['a refusal of the provider', () => lines(['one']), 400],
  ])('is run by workers of Oriel with %s', async (_, input, status) => {
    remote.status = status;
    const client = clientOf(daemon().url);
    const ended = await endOf(client, (await createBatch(client, input())).id);
    expect(ended.status).toBe('completed');
    expect(remote.seen).toContainEqual(
      expect.stringMatching(/^POST \/v1\/(?:chat\/completions|messages)$/),
    );
    expect(remote.seen).not.toContain('GET /v1/batches/b1');
  });
});
