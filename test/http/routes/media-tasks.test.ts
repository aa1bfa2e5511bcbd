import { once } from 'node:events';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { claimOf, openTasks, pendingDeliveries } from '../../store/consistency.ts';
import { KEYS } from '../test-server.ts';
import { mediaServer } from './media-server.ts';

const server = mediaServer({ limits: { syncWait: '7s' } });
const prompt = 'a lighthouse';
const IMAGES = '/v1/images/generations';
const SYNC = '/v1/images/generations/sync';
const USAGE = {
  prompt_tokens: 1,
  completion_tokens: 2,
  total_tokens: 3,
  input_tokens: 1,
  output_tokens: 2,
  cached_input_tokens: 0,
};

async function task(id: unknown) {
  const { status, json } = await server().ask(`/v1/tasks/${id}`);
  expect(status).toBe(200);
  return json!;
}

async function create(path: string, body: object): Promise<string> {
  const { status, json } = await server().post(path, body);
  expect(status, JSON.stringify(json)).toBe(202);
  return json!['task_id'] as string;
}

describe('a media task', () => {
  test.each([
    [IMAGES, 'native', 'image', 'image'],
    ['/v1/videos/generations', 'video', 'video', 'video'],
    ['/v1/audio/generations', 'audio', 'audio', 'audio'],
  ])('is created by %s', async (path, model, type, kind) => {
    const { status, json } = await server().post(path, { model, prompt });
    expect(status).toBe(202);
    const id = json!['task_id'];
    expect(json).toEqual({
      task_id: expect.stringMatching(/^task_/),
      status: 'pending',
      model,
      poll_url: `/v1/tasks/${id}`,
    });
    expect(await task(id)).toEqual({
      task_id: id,
      status: 'pending',
      model,
      type,
      result: null,
      error: null,
    });
    const { call, request } = server().media.asked.at(-1)!;
    expect(call).toMatchObject({ kind, idempotencyKey: null, publicUrl: server().url });
    expect(call.holder.account.name).toBe('a');
    expect(request.request).toMatchObject({ type, prompt });
  });

  it('has the URLs of its images', async () => {
    const id = await create(IMAGES, { model: 'native', prompt });
    const files = [
      await server().file('png', 'image/png', '1'),
      await server().file('webp', 'image/webp', '2'),
    ];
    await server().complete((await openTasks(server().store)).at(-1)!, files, USAGE);
    const result = {
      created: 1_700_000_000,
      data: [
        { url: `${server().url}/assets/${files[0]!.id}`, revised_prompt: 'a "lighthouse"' },
        { url: `${server().url}/assets/${files[1]!.id}` },
      ],
      usage: USAGE,
    };
    const shown = { status: 'completed', type: 'image', result, error: null };
    expect(await task(id)).toMatchObject(shown);
    const { json } = await server().ask('/v1/tasks?status=completed&limit=1');
    expect(json!['data']).toEqual([{ task_id: id, model: 'native', ...shown }]);
  });

  test.each([
    [
      '/v1/videos/generations',
      'video',
      (urls: string[]) => ({ status: 'completed', video_url: urls[0], urls }),
    ],
    ['/v1/audio/generations', 'audio', (urls: string[]) => ({ audio_url: urls[0], urls })],
  ])('of %s has its results', async (path, model, shape) => {
    const id = await create(path, { model, prompt });
    const files = [await server().file('bin', 'x/y', '1'), await server().file('bin', 'x/y', '2')];
    await server().complete((await openTasks(server().store)).at(-1)!, files);
    const urls = files.map((file) => `${server().url}/assets/${file.id}`);
    expect((await task(id))['result']).toEqual(shape(urls));
  });

  it('has the error that ended it', async () => {
    const failed = await create(IMAGES, { model: 'image', prompt });
    const error = { type: 'billable_error', message: 'nothing usable came', code: null } as const;
    await server().store.failTask(await claimOf(server().store, failed), error);
    expect(await task(failed)).toMatchObject({ status: 'failed', result: null, error });
    const expired = await create(IMAGES, { model: 'image', prompt });
    await server().store.expireTask(await claimOf(server().store, expired));
    expect(await task(expired)).toMatchObject({
      status: 'expired',
      result: null,
      error: { type: 'timeout' },
    });
  });

  it('and its callbacks are visible to its account alone', async () => {
    const id = await create(IMAGES, { model: 'image', prompt });
    for (const path of [
      `/v1/tasks/${id}`,
      `/v1/tasks/${id}/callbacks`,
      '/v1/tasks/task_none/callbacks',
    ]) {
      const headers = { authorization: `Bearer ${KEYS.b}` };
      const { status, json } = await server().ask(path, { headers });
      expect([status, json!['error']]).toMatchObject([404, { code: 'task_not_found' }]);
    }
  });

  it('lists its callbacks', async () => {
    const url = 'https://example.com/hook';
    const id = await create(IMAGES, { model: 'image', prompt, callback_url: url });
    const callbacks = () => server().ask(`/v1/tasks/${id}/callbacks`);
    expect((await callbacks()).json).toEqual({ object: 'list', data: [] });
    await server().store.failTask(await claimOf(server().store, id), {
      type: 'unknown',
      message: 'x',
      code: null,
    });
    const [delivery] = (await pendingDeliveries(server().store)).filter((one) => one.taskId === id);
    const attempt = {
      at: 1_700_000_000_999,
      status: 500,
      error: 'the answer was 500',
      milliseconds: 12,
    };
    const nextAt = 1_700_000_060_999;
    await server().store.recordAttempt(delivery!, attempt, { status: 'pending', nextAt });
    const { status, json } = await callbacks();
    expect(status).toBe(200);
    expect(json).toEqual({
      object: 'list',
      data: [
        {
          id: delivery!.id,
          url,
          status: 'pending',
          attempts: [{ ...attempt, at: 1_700_000_000 }],
          next_attempt_at: 1_700_000_060,
        },
      ],
    });
  });

  it('is created once for one idempotency key', async () => {
    const key = { 'idempotency-key': 'order 7 ~' };
    const send = (body: object) => server().post(IMAGES, body, key);
    const first = await send({ model: 'image', prompt });
    const id = first.json!['task_id'] as string;
    await server().store.failTask(await claimOf(server().store, id), {
      type: 'unknown',
      message: 'x',
      code: null,
    });
    const second = await send({ model: 'image', prompt });
    expect([second.status, second.json]).toEqual([202, first.json]);
    const other = await send({ model: 'image', prompt: 'another' });
    expect([other.status, other.json!['error']]).toMatchObject([
      409,
      { code: 'idempotency_conflict' },
    ]);
  });

  test.each([
    ['of nothing', ''],
    ['that is too long', 'x'.repeat(256)],
    ['of other letters', 'caf\u00e9'],
  ])('is not created with an idempotency key %s', async (_, key) => {
    const { status, json } = await server().post(
      IMAGES,
      { model: 'image', prompt },
      { 'idempotency-key': key },
    );
    expect([status, json!['error']]).toMatchObject([400, { param: 'Idempotency-Key' }]);
  });
});

describe('a media request is refused', () => {
  test.each<[string, unknown, number, string | null]>([
    [IMAGES, {}, 400, 'model'],
    [IMAGES, { model: 'none', prompt }, 404, 'model'],
    [IMAGES, { model: 'video', prompt }, 400, 'model'],
    [IMAGES, { model: 'image' }, 400, 'prompt'],
    [IMAGES, { model: 'image', prompt, response_format: 'png' }, 400, 'response_format'],
    [IMAGES, [], 400, null],
    [IMAGES, null, 400, null],
    [IMAGES, 'a', 400, null],
    [SYNC, { model: 'image', prompt, response_format: 'base32' }, 400, 'response_format'],
    [SYNC, { model: 'image', prompt, response_format: ['url'] }, 400, 'response_format'],
    [SYNC, { model: 'image', prompt, n: 2 }, 400, 'n'],
    [SYNC, [], 400, null],
    ['/v1/videos/generations', { model: 'image', prompt }, 400, 'model'],
    ['/v1/audio/generations', { model: 'audio', prompt, format: 5 }, 400, 'format'],
    ['/v1/moderations', { model: 'judge' }, 400, 'input'],
    ['/v1/moderations', 5, 400, null],
  ])('by %s with %j', async (path, body, status, param) => {
    const answer = await server().post(path, body);
    const error = answer.json!['error'] as Record<string, unknown>;
    expect([answer.status, error['type'], error['param']]).toEqual([
      status,
      'invalid_request',
      param,
    ]);
  });

  it('for each invalid nested value', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    for (const field of ['prompt', 'input_images', 'response_format', 'seed', 'strange']) {
      const { status, json } = await server().ask(SYNC, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"model":"image","prompt":"x","${field}":${deep}}`,
      });
      expect([status, json!['error']]).toMatchObject([400, { type: 'invalid_request' }]);
    }
  });

  it('without a body', async () => {
    const { status, json } = await server().ask(IMAGES, { method: 'POST' });
    expect([status, json!['error']]).toMatchObject([400, { type: 'invalid_request' }]);
  });
});

describe('a request that waits for images', () => {
  const wait = (body: object = {}) => server().post(SYNC, { model: 'image', prompt, ...body });

  it('gets their URLs', async () => {
    const file = await server().file('png', 'image/png', 'x');
    server().media.end = (task) => server().complete(task, [file], USAGE);
    const { status, json } = await wait({ response_format: 'url' });
    expect([status, json]).toEqual([
      200,
      {
        created: 1_700_000_000,
        data: [{ url: `${server().url}/assets/${file.id}`, revised_prompt: 'a "lighthouse"' }],
        usage: USAGE,
      },
    ]);
    expect(server().media.waits.at(-1)!.milliseconds).toBe(7000);
    expect(server().media.asked.at(-1)!.call.fields).toEqual({ model: 'image', prompt });
  });

  it('gets them as base64 in the response', async () => {
    const texts = ['', 'x', 'xy', `${'0123456789'.repeat(40_000)}\xff`];
    const files = await Promise.all(texts.map((text) => server().file('png', 'image/png', text)));
    server().media.end = (task) => server().complete(task, files, USAGE);
    const { status, json } = await wait({ response_format: 'b64_json' });
    expect(status).toBe(200);
    const encoded = texts.map((text) => ({
      b64_json: Buffer.from(text, 'latin1').toString('base64'),
    }));
    expect(json).toEqual({
      created: 1_700_000_000,
      data: [{ ...encoded[0], revised_prompt: 'a "lighthouse"' }, ...encoded.slice(1)],
      usage: USAGE,
    });
  });

  test.each([
    ['the AI SDK', {}, { 'user-agent': 'ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/24' }],
    ["Together's SDK", { response_format: 'base64' }, {}],
  ])('gets images as %s reads them', async (_, more, headers) => {
    const file = await server().file('png', 'image/png', 'x');
    server().media.end = (task) => server().complete(task, [file]);
    const body = { model: 'image', prompt, ...more };
    const { status, json } = await server().post(IMAGES, body, headers);
    expect([status, json!['data']]).toMatchObject([200, [{ b64_json: 'eA==' }]]);
    const asks = { ...headers, prefer: 'respond-async' };
    const answer = await server().post(IMAGES, { model: 'image', prompt }, asks);
    expect(answer.status).toBe(202);
  });

  it('gets 404 if they have been deleted', async () => {
    const file = await server().file('png', 'image/png', 'x');
    server().media.end = async (task) => {
      await server().assets.remove([file.id]);
      return server().complete(task, [file]);
    };
    const { status, json } = await wait({ response_format: 'b64_json' });
    expect([status, json!['error']]).toMatchObject([404, { code: 'asset_not_found' }]);
  });

  it('in the form of OpenAI gets 504 that names the task if it still runs', async () => {
    server().media.end = async (task) => (await server().store.claimTask(task.id))!;
    const body = { model: 'image', prompt, response_format: 'b64_json' };
    const answer = await server().post(IMAGES, body);
    const id = answer.headers.get('x-oriel-task')!;
    expect(await task(id)).toMatchObject({ status: 'processing' });
    expect([answer.status, answer.json!['error']]).toEqual([
      504,
      {
        type: 'timeout',
        code: 'task_running',
        param: null,
        message: expect.stringContaining(`GET /v1/tasks/${id}`),
      },
    ]);
    expect(answer.headers.get('x-should-retry')).toBe('false');

    const key = { 'idempotency-key': 'images-of-openai' };
    const before = await server().post(IMAGES, body, key);
    expect([before.status, before.headers.get('x-should-retry')]).toEqual([504, null]);
    const file = await server().file('png', 'image/png', 'x');
    server().media.end = (running) => server().complete(running, [file]);
    const { status, headers, json } = await server().post(IMAGES, body, key);
    expect([status, json!['data']]).toMatchObject([200, [{ b64_json: 'eA==' }]]);
    expect(headers.get('x-oriel-task')).toBe(before.headers.get('x-oriel-task'));
  });

  it('gets the task if it still runs', async () => {
    server().media.end = async (task) => (await server().store.claimTask(task.id))!;
    const { status, json } = await wait();
    expect([status, json!['status']]).toEqual([202, 'processing']);
    expect(json!['poll_url']).toBe(`/v1/tasks/${json!['task_id']}`);
  });

  test.each([
    ['content_policy', 400],
    ['insufficient_quota', 402],
    ['service_error', 502],
    ['billable_error', 502],
    ['rate_limit', 429],
  ] as const)('gets what ended it: %s', async (type, status) => {
    server().media.end = async ({ id }) =>
      server().store.failTask(await claimOf(server().store, id), {
        type,
        message: 'it was so',
        code: 'so',
      });
    const answer = await wait();
    expect([answer.status, answer.json]).toEqual([
      status,
      { error: { type, message: 'it was so', param: null, code: 'so' } },
    ]);
  });

  it('gets a timeout if the task expired', async () => {
    server().media.end = async ({ id }) =>
      server().store.expireTask(await claimOf(server().store, id));
    const { status, json } = await wait();
    expect([status, json!['error']]).toMatchObject([504, { type: 'timeout' }]);
  });

  it('does not end the task when its client disconnects', async () => {
    const client = new AbortController();
    const ended = new Promise<string>((resolve) => {
      server().media.end = async (task, left) => {
        client.abort();
        await once(left, 'abort');
        resolve(task.id);
        return task;
      };
    });
    const asked = server().ask(SYNC, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'image', prompt }),
      signal: client.signal,
    });
    await expect(asked).rejects.toThrow();
    expect((await task(await ended))['status']).toBe('pending');
    expect(server().media.waits.at(-1)!.left.reason).toMatchObject({ code: 'client_left' });
  });
});

describe('moderations', () => {
  it('return the result of the provider', async () => {
    const { status, json } = await server().post('/v1/moderations', { model: 'judge', input: 'a' });
    expect([status, json]).toMatchObject([
      200,
      { id: 'modr-1', results: [{ flagged: false, input: 'a' }] },
    ]);
  });
});

test('an account can read its callback secret', async () => {
  const { status, headers, json } = await server().ask('/v1/account/callback-secret');
  const { callbackSecret: secret } = (await server().store.findAccount('a'))!;
  expect([status, json]).toEqual([200, { object: 'callback_secret', secret }]);
  expect(headers.get('cache-control')).toBe('no-store');
});

describe('while the daemon drains', () => {
  const drained = mediaServer();

  it('no task is created', async () => {
    drained().drain.abort();
    onTestFinished(() => expect(drained().media.asked).toEqual([]));
    const paths = [
      IMAGES,
      SYNC,
      '/v1/videos/generations',
      '/v1/audio/generations',
      '/v1/moderations',
    ];
    for (const path of [...paths, '/v1/images/edits', '/v1/images/upload']) {
      const { status, headers, json } = await drained().post(path, {});
      expect([path, status, json!['error']]).toMatchObject([path, 503, { code: 'shutting_down' }]);
      expect(headers.get('retry-after')).toBe('5');
    }
    expect((await drained().ask('/v1/tasks')).status).toBe(200);
  });
});

test('no request caused a logged defect', () => {
  expect(server().log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
});
