import Anthropic from '@anthropic-ai/sdk';
import { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../daemon.ts';
import { gate } from '../gate.ts';
import { settled } from '../text/account.ts';
import { administer, gatewayConfig } from '../text/gateway-daemon.ts';
import { type MockUpstream, startMockUpstream } from '../text/mock-upstream.ts';
import {
  chatBody,
  clientOf,
  createBatch,
  endOf,
  lineOf,
  resultsIn,
  uploadLines,
} from './batch-client.ts';

let upstream: MockUpstream;
beforeAll(async () => {
  upstream = await startMockUpstream();
});
afterAll(() => upstream.close());

const sandbox = (type: string, model: string, price: object) => ({
  ...{ type, routes: [{ provider: 'sandbox', model }], price },
});

const daemon = sharedDaemon({
  get config() {
    const config = gatewayConfig(upstream.url) as { models: object };
    return {
      ...config,
      models: {
        ...config.models,
        priced: sandbox('text', 'chat', { input: 1000, output: 1000, batch: 0.5 }),
        vectors: sandbox('embedding', 'sandbox-embedding', { input: 1000 }),
      },
    };
  },
});

const openai = () => clientOf(daemon().url);
const anthropic = () => new Anthropic({ apiKey: OWNER_KEY, baseURL: daemon().url, maxRetries: 0 });

/** A client of another account. */
async function stranger(name = 'stranger') {
  await administer(daemon(), 'accounts/create', { name, credits: '10000' });
  const { key } = await administer(daemon(), 'keys/create', { account: name });
  return clientOf(daemon().url, key);
}

const linesFor = (count: number) =>
  Array.from({ length: count }, (_, index) => lineOf(`r${index}`, chatBody('x', 'to-chat')));

const notFound = { status: 404 };

describe('batches of OpenAI', () => {
  it('runs a file, charges each request once at the batch price, and splits results and failures', async () => {
    const client = openai();
    const before = (await settled(daemon(), OWNER_KEY, 0)).credits.spent;
    const bodies = [chatBody('one'), chatBody('two'), { ...chatBody('x'), n: 129 }];
    const created = await createBatch(
      client,
      bodies.map((body, index) => lineOf(`r${index}`, body)),
    );
    expect(created).toMatchObject({ object: 'batch', status: 'in_progress' });
    const ended = await endOf(client, created.id);
    expect(ended.request_counts).toEqual({ total: 3, completed: 2, failed: 1 });
    const results = await resultsIn(client, ended.output_file_id);
    expect(results.map(({ custom_id }) => custom_id)).toEqual(['r0', 'r1']);
    const [failed] = await resultsIn(client, ended.error_file_id);
    expect(failed).toMatchObject({ custom_id: 'r2', response: { status_code: 400 } });
    expect(failed.response.body.error).toMatchObject({ param: 'n' });
    const tokens = results.map(({ response }) => response.body.usage.total_tokens);
    const spent = (await settled(daemon(), OWNER_KEY, before)).credits.spent - before;
    expect(spent).toBeCloseTo((tokens[0] + tokens[1]) * 0.0005, 6);
    // Each is in the log of requests by the identifier that its result names.
    for (const { response } of [...results, failed]) {
      const { request_id: id, status_code: status } = response;
      const logged = async () => (await daemon().request(`/v1/requests/${id}`)).json();
      await expect.poll(logged).toMatchObject({ id, status, route: '/v1/chat/completions' });
      const { credits, error, output_tokens: output } = (await logged()) as Record<string, unknown>;
      const usage = response.body.usage;
      const expected = usage
        ? [usage.total_tokens * 0.0005, null, usage.completion_tokens]
        : [0, expect.objectContaining({ type: 'invalid_request' }), null];
      expect([credits, error, output]).toEqual(expected);
    }
    const listed = (await client.batches.list()).data;
    expect(listed[0]).toMatchObject({ id: created.id, status: 'completed' });
    await client.files.delete(created.input_file_id);
    await expect(client.files.retrieve(created.input_file_id)).rejects.toMatchObject(notFound);
  });

  it('refuses to delete a file while a batch reads it, and cancels what has not run', async () => {
    const client = openai();
    const { passed, open } = gate();
    upstream.play({ before: passed, steps: [{ text: 'late' }] });
    const created = await createBatch(client, linesFor(100));
    await upstream.received(15);
    await expect(client.files.delete(created.input_file_id)).rejects.toMatchObject({ status: 409 });
    expect((await client.batches.cancel(created.id)).status).toBe('cancelling');
    open();
    const ended = await endOf(client, created.id);
    expect(ended).toMatchObject({ status: 'cancelled', request_counts: { total: 100, failed: 0 } });
    const results = await resultsIn(client, ended.output_file_id);
    expect(results).toHaveLength(ended.request_counts!.completed);
    const unrun = await resultsIn(client, ended.error_file_id);
    expect(unrun[0]).toMatchObject({ response: null, error: { code: 'batch_cancelled' } });
    const ids = [...results, ...unrun].map(({ custom_id }) => custom_id);
    expect(new Set(ids).size).toBe(100);
    await client.files.delete(created.input_file_id);
  });

  it('ends a batch after its time with the results that it has', async () => {
    upstream.play({ before: 300, steps: [{ text: 'late' }] });
    await daemon().reload({ batches: { expiry: '2s' } });
    const created = await createBatch(openai(), linesFor(400));
    await daemon().reload({ batches: {} });
    const ended = await endOf(openai(), created.id);
    expect(ended.status).toBe('expired');
    const results = await resultsIn(openai(), ended.output_file_id);
    expect(results.length).toBeGreaterThan(0);
    const unrun = await resultsIn(openai(), ended.error_file_id);
    expect(unrun[0].error.code).toBe('batch_expired');
    expect(results.length + unrun.length).toBe(400);
  });

  it('leaves half of the limits of a key to other requests', async () => {
    const { key } = await administer(daemon(), 'keys/create', { account: 'owner', parallel: '4' });
    const client = clientOf(daemon().url, key);
    const { passed, open } = gate();
    const ofBatch = { before: passed, steps: [{ text: 'late' }] };
    upstream.play((_, body) =>
      JSON.stringify(body).includes('now') ? { steps: [{ text: 'soon' }] } : ofBatch,
    );
    const { id } = await createBatch(client, linesFor(40));
    await upstream.received(1);
    const answers = [1, 2].map(() =>
      client.chat.completions.create(chatBody('now', 'to-chat') as never),
    );
    for (const answer of answers) expect((await answer).choices).toHaveLength(1);
    expect(upstream.requests).toHaveLength(4);
    open();
    expect((await endOf(client, id)).request_counts).toMatchObject({ completed: 40 });
  });

  const input = { model: 'priced', input: 'hello' };
  it.each([
    ['/v1/responses', input, 'output'],
    ['/v1/completions', { model: 'priced', prompt: 'hello' }, 'choices'],
    ['/v1/embeddings', { model: 'vectors', input: 'hello' }, 'data'],
  ])('runs requests for %s', async (url, body, member) => {
    const created = await createBatch(openai(), [lineOf('a', body, { url })], url);
    const ended = await endOf(openai(), created.id);
    expect(await resultsIn(openai(), ended.error_file_id)).toEqual([]);
    const [result] = await resultsIn(openai(), ended.output_file_id);
    expect(result.response.body[member]).toHaveLength(1);
  });

  const good = lineOf('a', chatBody('x'));
  it.each([
    ['JSON', [good, '{broken'], 2, null, /^line 2: not valid JSON/],
    ['a custom_id', [good, good], 2, 'custom_id', /received "a", which line 1 has/],
    ['a url', [lineOf('a', chatBody('x'), { url: '/v1/x' })], 1, 'url', /expected \/v1\/chat/],
    ['a method', [lineOf('a', chatBody('x'), { method: 'GET' })], 1, 'method', /expected POST/],
    ['a model', [good, '', lineOf('b', chatBody('x', 'no'))], 3, 'body.model', /no model "no"/],
    ['a field', [lineOf('a', { ...chatBody('x'), n: 'x' })], 1, 'body.n', /^line 1: body.n: exp/],
    ['a stream', [lineOf('a', { ...chatBody('x'), stream: true })], 1, 'body.stream', /false/],
    ['a size', [lineOf('a', chatBody('x'.repeat(11e6)))], null, null, /^line 1: expected at most/],
    ['any line', ['', ' '], null, null, /at least one request/],
  ])(
    'names the line and the field of a file with the wrong %s before anything runs',
    async (_, lines, line, param, message) => {
      const requests = upstream.requests.length;
      const created = await createBatch(openai(), lines);
      expect(created).toMatchObject({ status: 'failed', request_counts: { total: 0 } });
      expect(created.errors!.data).toEqual([
        { code: expect.any(String), line, param, message: expect.stringMatching(message) },
      ]);
      expect(upstream.requests).toHaveLength(requests);
      await openai().files.delete(created.input_file_id);
    },
  );

  it('opens at most 20 batches of an account, also where all come at once', async () => {
    const { passed, open } = gate();
    upstream.play({ before: passed, steps: [{ text: 'late' }] });
    const client = (await stranger('hasty')).withOptions({ maxRetries: 0 });
    const all = Array.from({ length: 30 }, () => createBatch(client, linesFor(1)));
    const ends = await Promise.allSettled(all);
    open();
    const refusals = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason.code] : []));
    expect(refusals).toEqual(Array(10).fill('too_many_tasks'));
  });

  it('refuses more than 50,000 requests', async () => {
    const lines = Array.from({ length: 50_001 }, (_, index) => lineOf(`r${index}`, chatBody('x')));
    const created = await createBatch(openai(), lines);
    expect(created.errors!.data![0]!.message).toBe('expected at most 50000 requests');
  });

  it('refuses a file of blank lines, which others would wait for', async () => {
    const file = await openai().files.create({
      ...{ file: await toFile(Buffer.alloc(100e6, '\n'), 'a.jsonl'), purpose: 'batch' },
    });
    const created = await openai().batches.create({
      ...{ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' },
    });
    expect(created.errors!.data![0]!.message).toBe('line 250001: expected at most 250000 lines');
  });
});

describe('batches of Anthropic', () => {
  const request = (custom_id: string, more: object = {}) => ({
    custom_id,
    params: {
      ...chatBody('hello'),
      max_tokens: 20,
      ...more,
    } as Anthropic.MessageCreateParamsNonStreaming,
  });

  it('runs inline requests', async () => {
    const { batches } = anthropic().messages;
    const created = await batches.create({ requests: [request('a'), request('b')] });
    expect(created).toMatchObject({ processing_status: 'in_progress', results_url: null });
    await expect
      .poll(async () => (await batches.retrieve(created.id)).processing_status)
      .toBe('ended');
    const results: (readonly [string, string])[] = [];
    for await (const { custom_id, result } of await batches.results(created.id)) {
      results.push([custom_id, result.type]);
    }
    expect(results).toEqual([
      ['a', 'succeeded'],
      ['b', 'succeeded'],
    ]);
    expect((await batches.list()).data[0]!.request_counts).toMatchObject({ succeeded: 2 });
    expect(await batches.delete(created.id)).toMatchObject({ type: 'message_batch_deleted' });
    await expect(batches.retrieve(created.id)).rejects.toMatchObject(notFound);
  });

  it.each([
    [[request('a'), request('a')], /requests\[1\]\.custom_id: expected another/],
    [
      [request('a'), request('b', { max_tokens: 'x' })],
      /requests\[1\]\.params\.max_tokens: expected/,
    ],
  ])('names the request and the field of a fault', async (requests, message) => {
    const refused = anthropic().messages.batches.create({ requests });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(message),
    });
  });
});

describe('files', () => {
  const upload = async (content: Buffer | string, name: string) =>
    (
      await openai().files.create({
        file: await toFile(Buffer.from(content), name),
        purpose: 'user_data',
      })
    ).id;

  it('puts the content into requests of every format, since no provider knows the file', async () => {
    const id = await upload('%PDF-1.4 lighthouse', 'light.pdf');
    const data = Buffer.from('%PDF-1.4 lighthouse').toString('base64');
    const requests = {
      '/v1/chat/completions': chatBody([{ type: 'file', file: { file_id: id } }] as never),
      '/v1/responses': {
        input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }],
      },
      '/v1/messages': {
        max_tokens: 5,
        ...chatBody([{ type: 'document', source: { type: 'file', file_id: id } }] as never),
      },
    };
    for (const [path, body] of Object.entries(requests)) {
      for (const model of ['to-chat', 'to-responses', 'to-messages']) {
        upstream.play({ steps: [{ text: 'read' }] });
        const response = await daemon().request(path, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ ...body, model }),
        });
        expect(response.status, `${path} ${model} ${await response.text()}`).toBe(200);
        expect(upstream.only().text).toContain(data);
        expect(upstream.only().text).not.toContain(id);
      }
    }
  });

  const type = { 'content-type': 'application/json' };
  const google = (path: string, more = {}, body?: string, key?: string | null) => {
    const headers = { 'x-goog-api-key': key ?? OWNER_KEY, ...type, ...more };
    const init = { headers, ...(body !== undefined && { method: 'POST', body }) };
    return fetch(new URL(path, daemon().url), init);
  };

  it('takes an upload in chunks, as SDKs of Google send it, and lists, names and deletes it', async () => {
    const command = (name: string, offset = 0) => ({
      ...{ 'x-goog-upload-command': name, 'x-goog-upload-offset': String(offset) },
    });
    // The SDK of version 3 has the paths of v1, older ones those of v1beta.
    const path = '/upload/v1/files';
    const displayName = '../a\\\u0000no\ntes';
    const begun = await google(path, command('start'), JSON.stringify({ file: { displayName } }));
    const url = begun.headers.get('x-goog-upload-url')!;
    const unit = 256 * 1024;
    for (const [headers, body] of [
      [command('upload'), 'short'],
      [command('upload, finalize', 7), 'late'],
      [command('cancel'), ''],
    ] as const) {
      const { error } = (await (await google(url, headers, body)).json()) as { error: object };
      expect(error).toMatchObject({ status: 'INVALID_ARGUMENT', param: expect.any(String) });
    }
    const large = { ...command('start'), 'x-goog-upload-header-content-length': '300000000' };
    expect((await google(path, large, '{}')).status).toBe(413);
    const unknown = { ...large, 'x-goog-upload-header-content-length': 'many' };
    expect((await google(path, unknown, '{}')).status).toBe(400);
    for (let twice = 0; twice < 2; twice += 1) {
      const sent = await google(url, command('upload'), 'x'.repeat(unit));
      expect(sent.headers.get('x-goog-upload-status')).toBe('active');
    }
    const queried = await google(url, command('query'), '');
    expect(queried.headers.get('x-goog-upload-size-received')).toBe(String(unit));
    const last = await google(url, command('upload, finalize', unit), 'end');
    const { file } = (await last.json()) as { file: { name: string; uri: string } };
    const shown = { displayName: 'notes', mimeType: 'text/plain', sizeBytes: String(unit + 3) };
    expect(file).toMatchObject({ ...shown, state: 'ACTIVE', source: 'UPLOADED' });
    for (const list of ['/v1beta/files?pageSize=1', '/v1/files?pageSize=1']) {
      expect(await (await google(list)).json()).toMatchObject({
        files: [{ name: file.name }],
        nextPageToken: expect.any(String),
      });
    }
    upstream.play({ steps: [{ text: 'read' }] });
    const parts = [{ file_data: { file_uri: file.uri, mime_type: 'text/plain' } }];
    const asked = JSON.stringify({ contents: [{ role: 'user', parts }] });
    expect((await google('/v1beta/models/to-chat:generateContent', {}, asked)).status).toBe(200);
    const content = Buffer.from(`${'x'.repeat(unit)}end`).toString('base64');
    expect(upstream.only().text).toContain(content);
    // The chunks of the first upload are gone.
    await google(url, command('upload'), 'y'.repeat(unit));
    const ended = await google(url, command('finalize', unit), '');
    expect(await ended.json()).toMatchObject({ file: { sizeBytes: String(unit) } });
    await openai().files.delete(file.name.slice('files/'.length));
    const gone = await google(`/v1beta/${file.name}`);
    expect(await gone.json()).toMatchObject({ error: { status: 'NOT_FOUND', param: 'file_id' } });
  });

  it('bounds the files of a request by the size of a body, and never unpacks one', async () => {
    const id = await upload(Buffer.alloc(8e6, 'PK'), 'bomb.zip');
    const content = Array.from({ length: 50 }, () => ({ type: 'file', file: { file_id: id } }));
    const refused = openai().chat.completions.create(chatBody(content as never) as never);
    await expect(refused).rejects.toMatchObject({ status: 413 });
  });

  it('keeps the files and batches of an account from others', async () => {
    const other = await stranger();
    const created = await createBatch(openai(), [lineOf('a', chatBody('x'))]);
    const id = created.input_file_id;
    const content = [{ type: 'file', file: { file_id: id } }];
    const chat = chatBody(content as never) as never;
    const input = {
      input_file_id: id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    } as const;
    const attempts = [
      other.files.retrieve(id),
      other.files.content(id),
      other.files.delete(id),
      other.batches.retrieve(created.id),
      other.batches.cancel(created.id),
      other.batches.create(input),
      other.chat.completions.create(chat),
    ];
    await Promise.all(attempts.map((attempt) => expect(attempt).rejects.toMatchObject(notFound)));
    expect((await google(`/v1beta/files/${id}`, {}, undefined, other.apiKey)).status).toBe(404);
    const batch = await createBatch(other, [lineOf('a', chat)]);
    const [failed] = await resultsIn(other, (await endOf(other, batch.id)).error_file_id);
    expect(failed.response).toMatchObject({
      status_code: 404,
      body: { error: { code: 'file_not_found' } },
    });
    expect((await other.files.list()).data.map((file) => file.id)).not.toContain(id);

    const { id: response } = await openai().responses.create({ model: 'priced', input: 'mine' });
    const { id: conversation } = await openai().conversations.create();
    const more = [{ previous_response_id: response }, { conversation }];
    const url = '/v1/responses';
    const lines = more.map((named, index) =>
      lineOf(`r${index}`, { model: 'priced', input: 'x', ...named }, { url }),
    );
    const continued = await createBatch(other, lines, url);
    const { error_file_id: failures } = await endOf(other, continued.id);
    const statuses = (await resultsIn(other, failures)).map((one) => one.response.status_code);
    expect(statuses).toEqual([404, 404]);
  });

  it('answers the calls of Anthropic', async () => {
    const { files } = anthropic().beta;
    const made = await files.upload({ file: await toFile(Buffer.from('hello'), 'note.txt') });
    expect(made).toMatchObject({ type: 'file', mime_type: 'text/plain', size_bytes: 5 });
    expect(await (await files.download(made.id)).text()).toBe('hello');
    expect((await files.list()).data.map(({ id }) => id)).toContain(made.id);
    expect((await files.retrieveMetadata(made.id)).filename).toBe('note.txt');
    expect(await files.delete(made.id)).toMatchObject({ type: 'file_deleted' });
  });

  it.each([
    ['vision', /expected an image/],
    ['training', /expected one of batch, user_data, vision, assistants/],
  ])('refuses a text for the purpose %s', async (purpose, message) => {
    const file = await toFile(Buffer.from('text'), 'text.txt');
    const refused = openai().files.create({ file, purpose: purpose as 'vision' });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(message),
    });
  });

  it('deletes files when their uploads ask for it, and names unknown fields', async () => {
    const file = await toFile(Buffer.from('text'), 'text.txt');
    const expires_after = { anchor: 'created_at', seconds: 3600 } as const;
    const body = { file, purpose: 'assistants', expires_after, extra: '1' } as const;
    const { data, response } = await openai().files.create(body).withResponse();
    expect(data.expires_at! - data.created_at).toBe(3600);
    const { files } = anthropic().beta;
    const { created_at, expires_at } = await files.upload({
      file,
      expires_in_seconds: 7200,
    } as never);
    expect(Date.parse(expires_at as string) - Date.parse(created_at)).toBe(7_200_000);
    expect(response.headers.get('x-oriel-ignored')).toBe('extra');
  });

  it('lists files by purpose and page', async () => {
    const ids = [await uploadLines(openai(), ['{}']), await uploadLines(openai(), ['{}'])];
    const page = await openai().files.list({ purpose: 'batch', limit: 1 });
    expect(page.data.map(({ id }) => id)).toEqual([ids[1]]);
    expect((await page.getNextPage()).data[0]!.id).toBe(ids[0]);
  });
});
