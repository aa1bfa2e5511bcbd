import { describe, expect, it } from 'vitest';
import { orielProvider } from '../../../src/media/providers/oriel/oriel.ts';
import { canFailOver, isRetriable } from '../../../src/routing/retry-policy.ts';
import { png } from '../media-files.ts';
import type { Behaviour } from '../mock-provider.ts';
import {
  audioJob,
  failureOf,
  imageJob,
  input,
  KEY,
  mockedProvider,
  USAGE,
  verdictOf,
  videoJob,
} from './provider-context.ts';

const provider = orielProvider(() => 1);
const { mock, newContext, makeImages, makeVideo, makeAudio, moderate } = mockedProvider(
  'oriel',
  provider,
);

const GENERATIONS = 'POST /images/generations';
const EDITS = 'POST /images/edits';
const LOOK = 'GET /tasks/:id';

const asked = { model: 'upstream-model', prompt: 'a lighthouse at dusk' };
const dataUrl = (index: number) => `data:image/png;base64,${png(8, 8, index).toString('base64')}`;

describe('images', () => {
  it('are created as a task and polled', async () => {
    mock().jobs({ looks: 2 });
    const context = newContext();
    const all = { n: 2, size: '64x64', quality: 'high', user: 'u', seed: 5 } as const;
    const { files, usage } = await makeImages(imageJob(all, [input(1)]), context);
    expect(files).toMatchObject([1, 2].map((file) => ({ url: expect.stringMatching(`${file}$`) })));
    expect(usage).toEqual(USAGE);
    const { json, headers } = mock().to(GENERATIONS)[0]!;
    expect(json).toEqual({ ...asked, ...all, input_images: [dataUrl(1)] });
    expect(headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      'idempotency-key': expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(context.savedStates).toEqual([{ taskId: 'task_1', failed: 0 }]);
    const looks = mock().to(LOOK);
    expect(looks.map(({ path }) => path)).toEqual(Array(3).fill('/tasks/task_1'));
    expect(looks[0]!.headers['authorization']).toBe(`Bearer ${KEY}`);
  });

  it('are requested without default parameters', async () => {
    await makeImages(imageJob({ size: 'auto', quality: 'auto' }));
    expect(mock().to(GENERATIONS)[0]!.json).toEqual(asked);
  });

  it('may be in the first response', async () => {
    mock().images('b64_json');
    const { files } = await makeImages();
    expect(files).toMatchObject([{ bytes: png(64, 64) }]);
  });

  it.each([
    ['at once', 0, 0],
    ['after a while', 1, 2],
  ])('are edited %s', async (_, looks, seen) => {
    mock().jobs({ looks, retryAfter: 0 });
    const context = newContext();
    const order = imageJob({ edit: true, n: 2, seed: 5 }, [input(1), input(2)], input(3));
    const { files } = await makeImages(order, context);
    expect(files).toHaveLength(2);
    const { headers, parts } = mock().to(EDITS)[0]!;
    expect(headers['idempotency-key']).toMatch(/^[\w-]{43}$/);
    expect(parts.map(({ name, value, bytes }) => [name, value ?? bytes])).toEqual([
      ['model', 'upstream-model'],
      ['prompt', 'a lighthouse at dusk'],
      ['n', '2'],
      ['seed', '5'],
      ['image', png(8, 8, 1)],
      ['image', png(8, 8, 2)],
      ['mask', png(8, 8, 3)],
    ]);
    expect(mock().to(LOOK)).toHaveLength(seen);
    expect(context.savedStates).toEqual(seen === 0 ? [] : [{ taskId: 'task_1', failed: 0 }]);
  });

  it('with a saved task id are polled, not requested again', async () => {
    await makeImages();
    const context = newContext({ savedState: { taskId: 'task_1', failed: 0 } });
    expect((await makeImages(imageJob(), context)).files).toHaveLength(1);
    expect(mock().to(GENERATIONS)).toHaveLength(1);
    expect(context.savedStates).toEqual([]);
  });

  it('never call beforeBillableRequest', async () => {
    const context = newContext();
    await makeImages(imageJob(), context);
    expect(context.billableRequests()).toBe(0);
  });

  it('are made once although the first response was lost', async () => {
    mock().next(GENERATIONS, { stopAt: { share: 0.5, end: 'reset' } });
    const failure = await failureOf(makeImages());
    expect([failure.type, isRetriable(failure)]).toEqual(['network_error', true]);
    const { files } = await makeImages();
    expect(files).toHaveLength(1);
    expect(mock().shop.made.size).toBe(1);
  });
});

describe('videos', () => {
  it('are created as a task and polled', async () => {
    const order = videoJob({ size: '16:9', duration: 6, user: 'u' }, [input(1), input(2)]);
    const { files } = await makeVideo(order);
    expect(files).toEqual([{ url: expect.stringMatching(/file-1$/) }]);
    expect(mock().to('POST /videos/generations')[0]!.json).toEqual({
      ...asked,
      size: '16:9',
      duration: 6,
      user: 'u',
      input_images: [dataUrl(1), dataUrl(2)],
    });
  });
});

describe('audio', () => {
  it('is created as a task and polled', async () => {
    const order = audioJob({ voice: 'v', format: 'wav', duration: 3 });
    const { files } = await makeAudio(order);
    expect(files).toEqual([{ url: expect.stringMatching(/file-1$/) }]);
    expect(mock().to('POST /audio/generations')[0]!.json).toEqual({
      ...asked,
      voice: 'v',
      format: 'wav',
      duration: 3,
    });
  });
});

it('moderations are passed on', async () => {
  const { results } = await moderate('flag');
  expect(results[0]!.flagged).toBe(true);
});

/** How a look at a task that is done may be answered. */
const record = (result: unknown): Behaviour => ({
  body: { task_id: 'task_1', status: 'completed', model: 'm', type: 'video', result, error: null },
});

describe('a result', () => {
  const url = (name: string) => `https://assets.example/${name}`;
  it.each([
    [{ video_url: url('a'), urls: [url('a'), url('b')] }, ['a', 'b']],
    [{ urls: [url('b'), 5, null, 'x', 'file:///b', url('c'), url('b')] }, ['b', 'c']],
    [{ video_url: url('a'), urls: 'none' }, ['a']],
    [{ urls: Array.from({ length: 500 }, (_, index) => url(String(index))) }, [...'0123456789']],
  ])('has what is at its addresses', async (result, names) => {
    mock().next(LOOK, record(result));
    const { files } = await makeVideo();
    expect(files).toEqual(names.map((name) => ({ url: url(name) })));
  });

  it.each([null, [], 'x', {}, { urls: [] }, { video_url: 'javascript:alert(1)' }])(
    'without usable files gives billable_error: %j',
    async (result) => {
      mock().next(LOOK, record(result));
      const failure = await failureOf(makeVideo());
      expect(failure.type).toBe('billable_error');
    },
  );

  it('of an edit without images gives billable_error', async () => {
    mock().next(EDITS, { body: { created: 1, data: [], usage: null } });
    const made = makeImages(imageJob({ edit: true }, [input(1)]));
    expect((await failureOf(made)).type).toBe('billable_error');
  });
});

describe('a task', () => {
  it.each([
    ['content_policy', 'content_policy', false, false],
    ['invalid_request', 'invalid_request', false, false],
    ['billable_error', 'billable_error', false, false],
    ['timeout', 'timeout', true, true],
    ['rate_limit', 'rate_limit', true, true],
    ['service_error', 'service_error', true, true],
    ['unknown', 'service_error', true, true],
    // What is between the gateways is no affair of our client's.
    ['insufficient_quota', 'service_error', false, true],
    ['auth_error', 'service_error', false, true],
  ])('that failed with %s gives %s', async (type, expectedType, again, elsewhere) => {
    const error = { type, message: `it did not ${KEY} work`, code: null };
    mock().jobs({ looks: 1, error, retryAfter: 0 });
    const failure = await failureOf(makeImages());
    expect(verdictOf(failure)).toEqual([expectedType, again, elsewhere]);
    expect(failure.message).not.toContain('5ecre7');
  });

  it('that expired gives a timeout', async () => {
    mock().jobs({ looks: 1, expires: true });
    const failure = await failureOf(makeImages());
    expect(failure.type).toBe('timeout');
  });

  it.each([null, 'broke', 5, { type: 5, message: {} }])(
    'that failed with the error %j fails',
    async (error) => {
      mock().next(LOOK, { body: { task_id: 'task_1', status: 'failed', error } });
      const failure = await failureOf(makeImages());
      expect(failure.type).toBe('service_error');
    },
  );

  it('that failed is submitted with a new key at the next attempt', async () => {
    const error = { type: 'service_error', message: 'broke' };
    mock().jobs({ looks: 1, error });
    const first = newContext();
    await failureOf(makeImages(imageJob(), first));
    const second = newContext({ savedState: first.savedStates.at(-1) });
    await failureOf(makeImages(imageJob(), second));
    mock().jobs({ looks: 1 });
    const third = newContext({ savedState: second.savedStates.at(-1) });
    expect((await makeImages(imageJob(), third)).files).toHaveLength(1);
    const keys = mock()
      .to(GENERATIONS)
      .map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(3);
    expect(third.savedStates).toEqual([{ taskId: 'task_3', failed: 2 }]);
  });

  it('that is unknown (404) fails', async () => {
    const context = newContext({ savedState: { taskId: 'task_gone', failed: 0 } });
    const failure = await failureOf(makeImages(imageJob(), context));
    expect([failure.type, canFailOver(failure)]).toEqual(['service_error', true]);
    expect(context.savedStates).toEqual([{ taskId: null, failed: 1 }]);
  });

  it('is polled at the configured origin, whatever its poll_url', async () => {
    mock().next(GENERATIONS, {
      status: 202,
      body: { task_id: 'task_1', status: 'pending', poll_url: 'http://127.0.0.1:1/v1/tasks/x' },
    });
    mock().next(LOOK, record({ data: [{ url: 'https://a.example/b' }] }));
    await makeImages();
    expect(mock().to(LOOK)[0]!.path).toBe('/tasks/task_1');
  });

  it('is polled again after a failed poll', async () => {
    mock().next(
      LOOK,
      { fault: 'reset' },
      { status: 502, body: '<title>Bad gateway</title>' },
      { body: '{"task_id"' },
      { body: { status: 'unheard of' } },
    );
    expect((await makeImages()).files).toHaveLength(1);
    expect(mock().to(LOOK)).toHaveLength(6);
    expect(mock().to(GENERATIONS)).toHaveLength(1);
  });

  it('keeps its saved state where polling is aborted', async () => {
    mock().next(LOOK, { fault: 'silence' });
    const context = newContext();
    const made = makeImages(imageJob(), context);
    await mock().received(LOOK);
    context.cancellation.abort(new Error('drained'));
    await expect(made).rejects.toThrow('drained');
    expect(context.savedStates).toEqual([{ taskId: 'task_1', failed: 0 }]);
  });

  it("rejects with the signal's reason while it waits", async () => {
    const context = newContext();
    const made = orielProvider(() => 3_600_000).makeImages(
      imageJob(),
      Object.assign(context, {
        saveState: async () => {
          setImmediate(() => context.cancellation.abort(new Error('drained')));
        },
      }),
    );
    await expect(made).rejects.toThrow('drained');
    expect(mock().to(LOOK)).toEqual([]);
  });
});

describe('a submission', () => {
  it.each([
    [402, 'insufficient_quota', 'service_error', false, true],
    [401, 'auth_error', 'service_error', false, true],
    [400, 'content_policy', 'content_policy', false, false],
    [429, 'rate_limit', 'rate_limit', true, true],
    [503, 'service_error', 'service_error', true, true],
    [502, 'billable_error', 'billable_error', false, false],
  ] as const)(
    'that is refused with %s gives %s',
    async (status, type, expectedType, again, elsewhere) => {
      mock().next(GENERATIONS, { status, body: { error: { type, message: 'no' } } });
      const failure = await failureOf(makeImages());
      expect(verdictOf(failure)).toEqual([expectedType, again, elsewhere]);
    },
  );

  it.each<[string, Behaviour]>([
    ['a page', { body: '<title>Welcome</title>' }],
    ['half an answer', { body: '{"task_id":"ta' }],
    ['silence', { fault: 'reset' }],
  ])('that meets with %s is safe to repeat', async (_, behaviour) => {
    mock().next(GENERATIONS, behaviour);
    const failure = await failureOf(makeImages());
    expect(isRetriable(failure)).toBe(true);
  });

  it('with an invalid response gives billable_error', async () => {
    mock().next(GENERATIONS, { status: 202, body: { task_id: '..', status: 'pending' } });
    const failure = await failureOf(makeImages());
    expect(failure.type).toBe('billable_error');
  });
});
