import { describe, expect, it } from 'vitest';
import { gate } from '../../gate.ts';
import type { Behaviour } from '../mock-provider.ts';
import { GENERATIONS } from './client.ts';
import { mediaDaemon, PROVIDER_KEYS } from './media-daemon.ts';

const media = mediaDaemon({ routing: { retries: 1, cooldown: { after: 0 } } });
const POST = 'POST /images/generations';

/** What OpenAI's interface says of a failure. */
const failure = (status: number, error: object, headers = {}): Behaviour => ({
  status,
  headers,
  body: { error: { message: 'no', type: 'server_error', param: null, code: null, ...error } },
});

describe('a retry of the same route', () => {
  it.each([
    ['500', failure(500, {})],
    ['an error with 200', { ...failure(200, {}) }],
  ])('after %s', async (_, behaviour) => {
    const { first, second, ann } = await media.fresh();
    first.next(POST, behaviour);
    expect(await ann.make({ model: 'either' })).toMatchObject({ status: 'completed', error: null });
    expect(first.to(POST)).toHaveLength(2);
    expect(second.requests).toHaveLength(0);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 4 });
  });
});

describe('a failover to the next route', () => {
  it.each([
    ['keeps failing', failure(500, {}), 2],
    ['does not know our key', failure(401, { message: `bad key ${PROVIDER_KEYS.first}` }), 1],
    ['takes nothing for a minute', failure(429, {}, { 'retry-after': '60' }), 1],
  ])('happens where the first %s', async (_, behaviour, tries) => {
    const { first, second, ann } = await media.fresh();
    first.always(POST, behaviour);
    expect(await ann.make({ model: 'either' })).toMatchObject({ status: 'completed', error: null });
    expect([first.to(POST).length, second.to(POST).length]).toEqual([tries, 1]);
    expect(second.only().headers.authorization).toBe(`Bearer ${PROVIDER_KEYS.second}`);
  });

  it("fails with a general message, and logs the provider's own, where all routes fail", async () => {
    const { first, second, daemon, ann } = await media.fresh();
    first.always(POST, failure(500, { message: 'first' }));
    second.always(POST, failure(503, { message: `second, ${PROVIDER_KEYS.second}` }));
    const { task_id, status, error } = await ann.make({ model: 'either' });
    expect(status).toBe('failed');
    expect(error).toMatchObject({ type: 'service_error', message: 'The provider failed' });
    const lines = () => daemon.log.filter(({ task }) => task === task_id);
    const detail = 'status 503: second, [key]';
    await expect
      .poll(lines)
      .toContainEqual(expect.objectContaining({ provider: 'second', detail }));
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0, available: 1000 });
  });
});

describe('no retry', () => {
  it.each<[string, Behaviour]>([
    ['what was given cannot be used', { body: '<html>' }],
    ['the answer broke off', { stopAt: { share: 0.3, end: 'reset' } }],
  ])('where %s: it may have been charged', async (_, behaviour) => {
    const { first, second, ann } = await media.fresh();
    first.next(POST, behaviour);
    const { error } = await ann.make({ model: 'either' });
    expect(error).toMatchObject({ type: 'billable_error' });
    expect([first.to(POST).length, second.requests.length]).toEqual([1, 0]);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });

  it.each([
    [
      'a fault of the request',
      400,
      { type: 'invalid_request_error', message: `prompt: too odd for ${PROVIDER_KEYS.first}` },
      { type: 'invalid_request', code: null },
      400,
    ],
    [
      'a refusal of the content',
      400,
      { type: 'image_generation_user_error', code: 'moderation_blocked', message: 'not this' },
      { type: 'content_policy', code: 'moderation_blocked' },
      400,
    ],
  ])(
    "happens after %s, which the task's error shows",
    async (_, status, error, expected, answered) => {
      const { first, second, ann } = await media.fresh();
      first.always(POST, failure(status, error));
      const task = await ann.make({ model: 'either' });
      expect(task).toMatchObject({ status: 'failed', error: expected });
      const words = error.message.replace(PROVIDER_KEYS.first, '');
      expect(task.error!.message).toContain(words.trim());
      expect(task.error!.message).not.toContain('5ecre7');
      expect([first.to(POST).length, second.requests.length]).toEqual([1, 0]);
      expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0, available: 1000 });
      const waited = await ann.post(`${GENERATIONS}/sync`, { model: 'either', prompt: 'a' });
      expect(waited.status).toBe(answered);
      expect(waited.body.error).toMatchObject(expected);
    },
  );
});

describe('a failure that needs the operator', () => {
  it.each([
    ['an exhausted quota', failure(429, { code: 'insufficient_quota' }), 503, 'upstream_quota'],
    ['a key that is not accepted', failure(401, {}), 502, 'upstream_auth'],
    ['a key that may not do this', failure(403, {}), 502, 'upstream_auth'],
    ['an overload', failure(529, { type: 'overloaded_error' }), 503, 'upstream_overloaded'],
  ])('has its code: %s', async (_, behaviour, status, code) => {
    const { first, daemon, ann } = await media.fresh();
    first.always(POST, behaviour);
    const waited = await ann.post(`${GENERATIONS}/sync`, { model: 'any', prompt: 'a' });
    expect(waited.status).toBe(status);
    expect(waited.body.error).toMatchObject({ type: 'service_error', code });
    if (code === 'upstream_overloaded') return;
    const msg = 'a provider refused the key or the account of the gateway';
    await expect
      .poll(() => daemon.log)
      .toContainEqual(expect.objectContaining({ msg, provider: 'first', code }));
  });
});

describe('a route that keeps failing', () => {
  const resting = mediaDaemon({ routing: { retries: 0, cooldown: { after: 2, for: '1h' } } });

  it('is skipped during its cooldown', async () => {
    const { first, second, ann } = await resting.fresh();
    first.always(POST, failure(500, {}));
    for (const expected of [1, 2, 2]) {
      expect(await ann.make({ model: 'either' })).toMatchObject({ status: 'completed' });
      expect(first.to(POST)).toHaveLength(expected);
    }
    expect(second.to(POST)).toHaveLength(3);
  });
});

describe('with all circuits open', () => {
  const resting = mediaDaemon({
    routing: { retries: 0, cooldown: { after: 2, for: '1s' } },
    concurrency: 4,
  });

  it('tasks wait for the cooldown instead of failing', async () => {
    const { first, ann } = await resting.fresh();
    const fails = failure(500, {});
    first.next(POST, fails, fails);
    for (let count = 0; count < 2; count += 1) {
      expect(await ann.make({ model: 'native' })).toMatchObject({ status: 'failed' });
    }
    // One of them probes the route, which takes longer than the cooldown of the others.
    const probe = gate();
    first.next(POST, { wait: probe.passed });
    const ids = await Promise.all(Array.from({ length: 8 }, () => ann.begin({ model: 'native' })));
    await first.received(POST, 2);
    expect(first.to(POST)).toHaveLength(3);
    probe.open();
    for (const id of ids) expect(await ann.ended(id)).toMatchObject({ status: 'completed' });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 32 });
  });
});

describe('a remote job', () => {
  it('of a video is submitted once, polled until it is done, and downloaded with the key', async () => {
    const { first, ann } = await media.fresh();
    first.jobs({ looks: 3, retryAfter: 0 });
    const task = await ann.make(
      { model: 'film', size: '16:9', duration: 8 },
      '/v1/videos/generations',
    );
    expect(task).toMatchObject({ status: 'completed', type: 'video', error: null });
    expect(task.result).toEqual({
      status: 'completed',
      video_url: expect.stringMatching(/\/assets\/[\w-]{43}\.mp4$/),
      urls: [task.result.video_url],
    });
    expect(first.to('POST /videos')).toHaveLength(1);
    expect(first.to('GET /videos/:id')).toHaveLength(4);
    const [content] = first.to('GET /videos/:id/content');
    expect(content!.headers.authorization).toBe(`Bearer ${PROVIDER_KEYS.first}`);
    const film = await fetch(task.result.video_url);
    expect(film.headers.get('content-type')).toBe('video/mp4');
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 5 });
  });

  it('that failed gives its error without a charge', async () => {
    const { far, ann } = await media.fresh();
    far.jobs({ looks: 1, retryAfter: 0, error: { type: 'content_policy', message: 'not this' } });
    const task = await ann.make({ model: 'far-film' }, '/v1/videos/generations');
    expect(task).toMatchObject({
      status: 'failed',
      type: 'video',
      result: null,
      error: { type: 'content_policy', message: 'not this' },
    });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });
});

describe('the names of a model', () => {
  it('are its alias, and all that its wildcard matches, with its price', async () => {
    const { first, ann } = await media.fresh();
    expect(await ann.make({ model: 'anything' })).toMatchObject({ status: 'completed' });
    const made = await ann.make({ model: 'brush-oil' });
    expect(made).toMatchObject({ status: 'completed', model: 'brush-oil' });
    expect(first.to(POST).map(({ json }) => (json as { model: string }).model)).toEqual([
      'upstream-image',
      'paint-oil',
    ]);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 8 });
    const { body } = await ann.ask('/v1/account/usage?by=model');
    expect(body).toMatchObject({ data: [{ model: 'any' }, { model: 'brush-*' }] });
    const judged = await ann.post('/v1/moderations', { model: 'judge-9', input: 'a lighthouse' });
    expect(judged.status).toBe(200);
    expect(first.to('POST /moderations').at(-1)?.json).toMatchObject({ model: 'verdict-9' });
    // The wildcard is no name that requests could have by default.
    await ann.post('/v1/moderations', { input: 'a lighthouse' });
    expect(first.to('POST /moderations').at(-1)?.json).toMatchObject({
      model: 'upstream-moderation',
    });
  });

  it('that no provider of a wildcard knows fail as an unknown model', async () => {
    const { first, ann } = await media.fresh();
    first.next(POST, failure(404, { code: 'model_not_found' }));
    expect(await ann.make({ model: 'brush-typo' })).toMatchObject({
      status: 'failed',
      error: {
        code: 'model_not_found',
        message: 'no provider of brush-* has a model "brush-typo"',
      },
    });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });
});
