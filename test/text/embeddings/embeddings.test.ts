import OpenAI, { AzureOpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { account, settled } from '../account.ts';
import { newKey, sharedGateway, UPSTREAM_KEYS } from '../gateway-daemon.ts';

const embedding = (provider: string, more: object = {}) => ({
  type: 'embedding',
  routes: [{ provider, model: `at-${provider}` }],
  price: { input: 1000 },
  ...more,
});

const gateway = sharedGateway(() => ({
  routing: { retries: 1, cooldown: { after: 0 } },
  models: {
    remote: {
      ...embedding('openai', { contextWindow: 100, dimensions: 8 }),
      routes: [
        { provider: 'openai', model: 'at-openai' },
        { provider: 'other-openai', model: 'at-second' },
      ],
    },
    'vectors-*': embedding('openai', { routes: [{ provider: 'openai', model: 'embed-*' }] }),
    gemini: embedding('gemini'),
    sandbox: embedding('sandbox', { aliases: ['numbers'] }),
    chat: { type: 'text', routes: [{ provider: 'sandbox', model: 'chat' }] },
  },
}));

const client = (apiKey = OWNER_KEY) =>
  new OpenAI({ apiKey, baseURL: `${gateway().daemon.url}/v1`, maxRetries: 0 });

const create = (body: object, key?: string) =>
  client(key).embeddings.create(body as OpenAI.EmbeddingCreateParams);

const base64 = (...numbers: number[]) =>
  Buffer.from(new Float32Array(numbers).buffer).toString('base64');

const played = (data: unknown, usage: unknown = { prompt_tokens: 5, total_tokens: 5 }) => ({
  raw: {
    type: 'application/json',
    body: JSON.stringify({ object: 'list', data, model: 'other', usage }),
  },
});

const refuse = (status: number) => ({ refuse: { status, body: { error: { message: 'No.' } } } });

const spent = async (key: string, least?: number) => {
  const { daemon } = gateway();
  const { credits } =
    least === undefined ? await account(daemon, key) : await settled(daemon, key, least);
  expect(credits.reserved).toBe(0);
  return credits.spent;
};

describe('embeddings by a provider', () => {
  it('are forwarded in the encoding of the official client, charged by prompt_tokens', async () => {
    const { upstream, daemon } = gateway();
    const key = await newKey(daemon, 'payer');
    upstream.play(
      played([
        { index: 1, embedding: base64(0, 1) },
        { index: 0, embedding: base64(0.5, -0.5) },
      ]),
    );
    const input = ['Hello', 'World'];
    const answer = await create({ model: 'remote', input, dimensions: 2, user: 'u' }, key);
    expect(answer).toEqual({
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: [0.5, -0.5] },
        { object: 'embedding', index: 1, embedding: [0, 1] },
      ],
      // Required by Mistral's SDK.
      id: expect.any(String),
      model: 'remote',
      usage: { prompt_tokens: 5, total_tokens: 5 },
    });
    const { path, headers, body } = upstream.only();
    expect(path).toBe('/v1/embeddings');
    expect(headers.authorization).toBe(`Bearer ${UPSTREAM_KEYS.openai}`);
    expect(body).toEqual({
      ...{ model: 'at-openai', input, dimensions: 2, encoding_format: 'base64', user: 'u' },
    });
    expect(await spent(key, 0.005)).toBe(0.005);
  });

  it('come in the encoding that was asked for, whatever the provider has', async () => {
    const { upstream } = gateway();
    upstream.play(played([{ embedding: [0.5, 1] }]));
    expect((await create({ model: 'remote', input: [1, 2, 3] })).data[0]!.embedding).toEqual([
      0.5, 1,
    ]);
    expect(upstream.only().body.input).toEqual([1, 2, 3]);
    upstream.play(played([{ embedding: base64(0.5, 1) }]));
    const asked = { model: 'remote', input: 'a', encoding_format: 'float' };
    expect((await create(asked)).data[0]!.embedding).toEqual([0.5, 1]);
  });

  it('may be 500,000 numbers', async () => {
    const { upstream } = gateway();
    const input = Array.from({ length: 250 }, (_, index) => `text ${index}`);
    const data = input.map((_, index) => ({
      index,
      embedding: Array.from({ length: 2000 }, (_, place) => (index + place) / 4),
    }));
    upstream.play(played(data));
    const answer = await create({ model: 'vectors-large', input, encoding_format: 'float' });
    expect(answer.data).toEqual(data.map((entry) => ({ object: 'embedding', ...entry })));
  });

  it('are retried, come from the next route, and are charged once and never above the bound', async () => {
    const { upstream, daemon } = gateway();
    const key = await newKey(daemon, 'bounded');
    upstream.play(refuse(500), refuse(500), played([{ embedding: [1] }], { prompt_tokens: 9000 }));
    const { usage } = await create({ model: 'remote', input: 'Hello' }, key);
    expect(upstream.requests.map(({ body }) => body.model)).toEqual([
      ...['at-openai', 'at-openai', 'at-second'],
    ]);
    expect(usage.prompt_tokens).toBe(13);
    expect(await spent(key, 0.013)).toBe(0.013);
    upstream.play(played([{ embedding: [1] }], null));
    expect((await create({ model: 'remote', input: 'Hello' }, key)).usage.prompt_tokens).toBe(2);
  });

  it.each([
    ['too few', []],
    ['no list', {}],
    [
      'two of one number',
      [
        { index: 0, embedding: [1] },
        { index: 0, embedding: [1] },
      ],
    ],
    ['no vector', [{ embedding: [] }, { embedding: [1] }]],
    ['a vector of texts', [{ embedding: ['1'] }, { embedding: [1] }]],
    ['a vector that is no base64', [{ embedding: '***' }, { embedding: [1] }]],
  ])('that are %s answer 502 and cost nothing', async (name, data) => {
    const { upstream, daemon } = gateway();
    const key = await newKey(daemon, name.replaceAll(' ', '-'));
    upstream.play(played(data));
    const asked = { model: 'remote', input: ['a', 'b'], encoding_format: 'float' };
    await expect(create(asked, key)).rejects.toMatchObject({
      status: 502,
      code: 'invalid_upstream_answer',
    });
    expect(await spent(key)).toBe(0);
  });

  it('cost more than an account without credits has', async () => {
    const key = await newKey(gateway().daemon, 'poor-vectors', { credits: '0.001' });
    await expect(create({ model: 'remote', input: 'Hello' }, key)).rejects.toMatchObject({
      status: 402,
    });
  });
});

describe('embeddings by a provider of kind gemini', () => {
  const values = (embeddings: unknown, usageMetadata?: object) => ({
    raw: { type: 'application/json', body: JSON.stringify({ embeddings, usageMetadata }) },
  });

  it('are asked for by batchEmbedContents and charged by promptTokenCount', async () => {
    const { upstream, daemon } = gateway();
    const key = await newKey(daemon, 'google');
    upstream.play(values([{ values: [0.5, 1] }, { values: [1, 0] }], { promptTokenCount: 3 }));
    const answer = await create({ model: 'gemini', input: ['a', 'b'], dimensions: 2 }, key);
    expect(answer.data.map(({ embedding: vector }) => vector)).toEqual([
      [0.5, 1],
      [1, 0],
    ]);
    expect([answer.model, answer.usage.prompt_tokens]).toEqual(['gemini', 3]);
    const { path, headers, body } = upstream.only();
    expect(path).toBe('/v1beta/models/at-gemini:batchEmbedContents');
    expect(headers['x-goog-api-key']).toBe(UPSTREAM_KEYS.gemini);
    expect(body.requests).toEqual(
      ['a', 'b'].map((text) => ({
        model: 'models/at-gemini',
        content: { parts: [{ text }] },
        outputDimensionality: 2,
      })),
    );
    expect(await spent(key, 0.003)).toBe(0.003);
  });

  it.each([
    ['more than 100 items', Array(101).fill('a')],
    ['tokens', [1, 2]],
  ])('refuse %s before the provider is asked', async (_, input) => {
    const { upstream } = gateway();
    upstream.play(values([]));
    await expect(create({ model: 'gemini', input })).rejects.toMatchObject({
      status: 400,
      param: 'input',
    });
    expect(upstream.requests).toEqual([]);
  });

  it.each([[[]], [[{}]], [[{ values: ['a'] }]], [null]])(
    'of the answer %j are 502',
    async (embeddings) => {
      gateway().upstream.play(values(embeddings));
      await expect(create({ model: 'gemini', input: 'a' })).rejects.toMatchObject({ status: 502 });
    },
  );
});

describe('embeddings of the sandbox', () => {
  const vectorOf = async (input: unknown, more: object = {}) =>
    (await create({ model: 'sandbox', input, ...more })).data[0]!.embedding;
  const product = (one: readonly number[], other: readonly number[]) =>
    one.reduce((sum, number, index) => sum + number * other[index]!, 0);

  it('are unit vectors, equal for equal texts and similar for similar ones', async () => {
    const [cats, again, close, far] = await Promise.all(
      ['Cats sleep all day', 'Cats sleep all day', 'Cats sleep all night', 'Quarterly revenue'].map(
        (text) => vectorOf(text),
      ),
    );
    expect(cats).toHaveLength(256);
    expect(product(cats!, cats!)).toBeCloseTo(1, 5);
    expect(again).toEqual(cats);
    expect(product(cats!, close!)).toBeGreaterThan(product(cats!, far!) + 0.3);
    expect(await vectorOf('Hi', { dimensions: 3, encoding_format: 'float' })).toHaveLength(3);
    expect(await vectorOf([5, 6])).toEqual(await vectorOf([[5, 6]]));
    for (const text of ['!', '中', '\ud800']) {
      const vector = await vectorOf(text);
      expect(product(vector, vector)).toBeCloseTo(1, 5);
    }
  });

  it('of 2048 items come in their order', async () => {
    const input = Array.from({ length: 2048 }, (_, index) => `item ${index}`);
    const { data } = await create({ model: 'sandbox', input, dimensions: 16 });
    expect(data.map(({ index }) => index)).toEqual(input.map((_, index) => index));
    expect(data[7]!.embedding).toEqual(await vectorOf('item 7', { dimensions: 16 }));
  });

  it('fail on request', async () => {
    await expect(vectorOf('sandbox:fail=rate_limit')).rejects.toMatchObject({ status: 429 });
  });

  it.each([
    ['input', { input: undefined }],
    ['input', { input: '' }],
    ['input', { input: [] }],
    ['input', { input: {} }],
    ['input', { input: Array(2049).fill('a') }],
    ['input[1]', { input: ['a', ''] }],
    ['input[1]', { input: ['a', null] }],
    ['input[0]', { input: [[]] }],
    ['input[1]', { input: [1, 'a'] }],
    ['input[0][1]', { input: [[1, -1]] }],
    ['input[0][0]', { input: [[1.5]] }],
    ['input', { input: 'a'.repeat(1024 * 1024 + 1) }],
    ['dimensions', { dimensions: 0 }],
    ['dimensions', { dimensions: 1000, input: Array(2048).fill('a') }],
    ['dimensions', { model: 'remote', dimensions: 9 }],
    ['input[1]', { model: 'remote', input: [[1], Array(101).fill(1)] }],
    ['encoding_format', { encoding_format: 'int8' }],
    ['model', { model: 'chat' }],
  ])('refuse %s (case %#)', async (param, more) => {
    await expect(create({ model: 'sandbox', input: 'a', ...more })).rejects.toMatchObject({
      status: 400,
      param,
    });
  });

  it('are made by an alias, and by names of a wildcard', async () => {
    const { upstream } = gateway();
    expect((await create({ model: 'numbers', input: 'a' })).model).toBe('numbers');
    upstream.play(played([{ embedding: [1] }]));
    const answer = await create({ model: 'vectors-3-small', input: 'a' });
    expect([answer.model, upstream.only().body.model]).toEqual([
      ...['vectors-3-small', 'embed-3-small'],
    ]);
    upstream.play(refuse(404));
    await expect(create({ model: 'vectors-typo', input: 'a' })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      message: expect.stringContaining('no provider of vectors-* has a model "vectors-typo"'),
    });
  });

  it('are a type of the catalog', async () => {
    expect(await client().models.retrieve('remote')).toMatchObject({
      type: 'embedding',
      endpoints: ['/v1/embeddings', '/v1beta/models/:model:embedContent'],
      pricing: { input_per_million_tokens: 1000 },
      limits: { context_window: 100, dimensions: 8 },
    });
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    await expect(
      client().chat.completions.create({ model: 'sandbox', messages }),
    ).rejects.toMatchObject({ status: 400, code: 'wrong_model_type' });
  });

  it('give way to small requests, also where several are made', async () => {
    const input = Array.from({ length: 100 }, () => 'ab '.repeat(30_000));
    let [between, isOver] = [0, false];
    const made = Array.from({ length: 6 }, () =>
      create({ model: 'sandbox', input, dimensions: 1 }),
    );
    const ended = Promise.all(made).finally(() => {
      isOver = true;
    });
    for (; !isOver; between += 1) await gateway().daemon.request('/healthz');
    expect((await ended).map(({ data }) => data.length)).toEqual(Array(6).fill(100));
    expect(between).toBeGreaterThan(40);
  });
});

it("a client of Azure's names the model as a deployment", async () => {
  const { url } = gateway().daemon;
  const options = { apiKey: OWNER_KEY, endpoint: url, apiVersion: '2024-10-21', maxRetries: 0 };
  const azure = new AzureOpenAI(options);
  const { data } = await azure.embeddings.create({ model: 'sandbox', input: ['a', 'b'] });
  expect(data).toHaveLength(2);
});
