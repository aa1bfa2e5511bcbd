import OpenAI from 'openai';
import { expect, it } from 'vitest';
import { OWNER_KEY } from '../daemon.ts';
import { account, settled } from './account.ts';
import { newKey, sharedGateway } from './gateway-daemon.ts';

const gateway = sharedGateway(() => ({
  models: Object.fromEntries(
    Object.entries({
      tokens: { provider: 'openai', price: { input: 1000 } },
      searches: { provider: 'openai', price: { perSearch: 2 } },
      sandbox: { provider: 'sandbox' },
      vectors: { type: 'embedding', provider: 'openai' },
      'google-vectors': { type: 'embedding', provider: 'gemini' },
      'sandbox-vectors': { type: 'embedding', provider: 'sandbox' },
    }).map(([name, { type = 'rerank', price = {}, ...route }]) => [
      name,
      { type, price, routes: [{ model: 'upstream', ...route }] },
    ]),
  ),
}));

const client = (apiKey = OWNER_KEY) =>
  new OpenAI({ apiKey, baseURL: `${gateway().daemon.url}/v1`, maxRetries: 0 });

// biome-ignore lint/suspicious/noExplicitAny: the official client has no type for these answers
const rerank = (body: object, key?: string) => client(key).post<any>('/rerank', { body });

const json = (body: unknown) => ({ raw: { type: 'application/json', body: JSON.stringify(body) } });

const ASKED = {
  query: 'blue sky',
  documents: ['red soil', { text: 'a blue sky' }, { title: 'sea', year: 3 }],
};
const TEXTS = ['red soil', 'a blue sky', 'title: sea\nyear: 3'];
const RESULTS = [
  { index: 0, relevance_score: 0.1, document: { text: 'red soil' } },
  { index: 1, relevance_score: 0.9 },
];

it.each<[string, string, object, object, number]>([
  [
    'Jina',
    'tokens',
    { results: RESULTS, model: 'other', usage: { total_tokens: 20 } },
    { total_tokens: 20 },
    0.02,
  ],
  [
    'Cohere',
    'searches',
    { id: 'x', results: RESULTS.toReversed(), meta: { billed_units: { search_units: 1 } } },
    {},
    2,
  ],
  ['Voyage', 'tokens', { data: RESULTS, usage: { total_tokens: 9 } }, { total_tokens: 9 }, 0.009],
])('rerank speaks the format of %s', async (_, model, answer, usage, cost) => {
  const { upstream, daemon } = gateway();
  const key = await newKey(daemon, `payer of ${_}`);
  upstream.play(json(answer));
  expect(await rerank({ model, ...ASKED, top_n: 2, return_documents: true }, key)).toMatchObject({
    ...{ object: 'list', model },
    results: [
      { index: 1, relevance_score: 0.9, document: { text: 'a blue sky' } },
      { index: 0, relevance_score: 0.1, document: { text: 'red soil' } },
    ],
    usage: { ...usage, completion_tokens: 0 },
    meta: { billed_units: { search_units: 1 } },
  });
  const { path, body } = upstream.only();
  expect([path, body]).toEqual([
    '/v1/rerank',
    { model: 'upstream', query: ASKED.query, documents: TEXTS, top_n: 2 },
  ]);
  expect((await settled(daemon, key, cost)).credits).toMatchObject({ spent: cost, reserved: 0 });
});

it('rerank by the sandbox is the same each time, also below /v2', async () => {
  const { daemon } = gateway();
  const { results } = await rerank({ model: 'sandbox', ...ASKED });
  expect(results.map(({ index }: { index: number }) => index)[0]).toBe(1);
  expect((await rerank({ model: 'sandbox', ...ASKED })).results).toEqual(results);
  const headers = { authorization: `Bearer ${OWNER_KEY}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'sandbox', ...ASKED });
  const answer = await fetch(`${daemon.url}/v2/rerank`, { method: 'POST', headers, body });
  expect(await answer.json()).toMatchObject({ results });
});

it.each<[object, number, string | null, RegExp]>([
  [{ documents: [] }, 400, 'documents', /expected a list of 1 to 1000/],
  [{ documents: Array(1001).fill('a') }, 400, 'documents', /received 1001/],
  [{ documents: ['a', ''] }, 400, 'documents[1]', /not empty/],
  [{ documents: ['a', {}] }, 400, 'documents[1]', /not empty/],
  [{ documents: ['a', 3] }, 400, 'documents[1]', /expected a text/],
  [{ documents: ['a'.repeat(1024 * 1024 + 1)] }, 400, 'documents[0]', /1048576 bytes/],
  [{ query: '' }, 400, 'query', /query/],
  [{ top_n: 0 }, 400, 'top_n', /at least 1/],
  [{ model: 'vectors' }, 400, 'model', /not of rerank/],
  [{ model: 'gone' }, 404, 'model', /no model/],
  [{ query: 'sandbox:fail=rate_limit' }, 429, null, /sandbox/],
])('rerank refuses wrong bodies, %#', async (change, status, param, message) => {
  const asked = rerank({ model: 'sandbox', ...ASKED, ...change });
  await expect(asked).rejects.toMatchObject({
    status,
    param,
    message: expect.stringMatching(message),
  });
});

it.each<[string, unknown]>([
  ['a document that was not asked for', { results: [{ index: 3, relevance_score: 1 }] }],
  ['a document twice', { results: [RESULTS[0], RESULTS[0]] }],
  ['no score', { results: [{ index: 0 }] }],
  ['no results', { results: [] }],
  ['no JSON', 'nothing'],
])('rerank does not pass on %s, and charges nothing', async (name, answer) => {
  const { upstream, daemon } = gateway();
  const key = await newKey(daemon, name);
  upstream.play(json(answer));
  await expect(rerank({ model: 'searches', ...ASKED }, key)).rejects.toMatchObject({ status: 502 });
  expect((await account(daemon, key)).credits).toMatchObject({ spent: 0, reserved: 0 });
});

it.each([
  // It speaks the client's format, and may know more of it.
  ['vectors', { truncate: 'END' }, null],
  ['google-vectors', {}, 'truncate'],
  ['sandbox-vectors', {}, 'truncate'],
  ['tokens', { truncate: 'END' }, null],
  ['sandbox', {}, 'truncate'],
])(
  'a field that Oriel does not know reaches a provider of %s: %j',
  async (model, sent, ignored) => {
    const { upstream, daemon } = gateway();
    const isRanking = model === 'tokens' || model === 'sandbox';
    const embeddings = [{ values: [1], embedding: [1] }];
    upstream.play(json({ data: embeddings, embeddings, results: RESULTS }));
    const response = await fetch(`${daemon.url}/v1/${isRanking ? 'rerank' : 'embeddings'}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${OWNER_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...(isRanking ? ASKED : { input: 'a' }), truncate: 'END' }),
    });
    expect([response.status, response.headers.get('x-oriel-ignored')]).toEqual([200, ignored]);
    if (!model.startsWith('sandbox')) expect(upstream.only().body).toMatchObject(sent);
    if (model === 'google-vectors') expect(upstream.only().body).not.toHaveProperty('truncate');
  },
);

const google = async (method: string, body: object) => {
  const response = await fetch(`${gateway().daemon.url}/v1beta/models/${method}`, {
    method: 'POST',
    headers: { 'x-goog-api-key': OWNER_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    ignored: response.headers.get('x-oriel-ignored'),
    // biome-ignore lint/suspicious/noExplicitAny: JSON of two shapes
    body: (await response.json()) as any,
  };
};

const HELLO = {
  content: { parts: [{ text: 'Hello' }, { text: 'World' }] },
  taskType: 'RETRIEVAL_QUERY',
};

it('embedContent reaches providers of both formats', async () => {
  const { upstream } = gateway();
  upstream.play(json({ data: [{ index: 0, embedding: [0.5, 1] }], usage: { prompt_tokens: 3 } }));
  expect(await google('vectors:embedContent', { ...HELLO, outputDimensionality: 2 })).toEqual({
    ...{ status: 200, ignored: 'taskType' },
    body: { embedding: { values: [0.5, 1] }, usageMetadata: { promptTokenCount: 3 } },
  });
  expect(upstream.only().body).toMatchObject({ input: ['Hello\nWorld'], dimensions: 2 });
  upstream.play(json({ embeddings: [{ values: [1] }, { values: [2] }] }));
  const requests = ['a', 'b'].map((text) => ({
    ...{ model: 'models/google-vectors', taskType: 'CLUSTERING' },
    content: { parts: [{ text }] },
  }));
  expect(await google('google-vectors:batchEmbedContents', { requests })).toMatchObject({
    ...{ status: 200, ignored: null },
    body: { embeddings: [{ values: [1] }, { values: [2] }] },
  });
  expect(upstream.only().body).toMatchObject({
    requests: [{ taskType: 'CLUSTERING', content: { parts: [{ text: 'a' }] } }, {}],
  });
  const { body } = await google('sandbox-vectors:embedContent', {
    ...HELLO,
    outputDimensionality: 8,
  });
  expect(body.embedding.values).toHaveLength(8);
});

it.each<[string, object, RegExp]>([
  ['embedContent', { content: { parts: [] } }, /content\.parts/],
  ['embedContent', { content: { parts: [{ inlineData: {} }] } }, /content\.parts\[0\]\.text/],
  ['embedContent', {}, /content/],
  ['embedContent', { ...HELLO, outputDimensionality: 0 }, /outputDimensionality/],
  ['batchEmbedContents', { requests: [] }, /1 to 100/],
  ['batchEmbedContents', { requests: Array(101).fill(HELLO) }, /received 101/],
  [
    'batchEmbedContents',
    { requests: [{ ...HELLO, model: 'models/other' }] },
    /requests\[0\]\.model/,
  ],
  [
    'batchEmbedContents',
    { requests: [HELLO, { ...HELLO, taskType: 'OTHER' }] },
    /requests\[1\]\.taskType/,
  ],
])('%s refuses wrong bodies in the shape of Google, %#', async (method, body, message) => {
  const answer = await google(`sandbox-vectors:${method}`, body);
  expect(answer).toMatchObject({
    status: 400,
    body: {
      error: { status: 'INVALID_ARGUMENT', message: expect.stringMatching(message) },
    },
  });
});
