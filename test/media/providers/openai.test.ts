import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import type { ProviderContext } from '../../../src/media/provider/provider.ts';
import { openaiProvider } from '../../../src/media/providers/openai/openai.ts';
import { canFailOver, isRetriable } from '../../../src/routing/retry-policy.ts';
import { mp4, png, pngBomb } from '../media-files.ts';
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

const provider = openaiProvider(() => 1);
const { mock, newContext, makeImages, makeVideo, makeAudio, moderate } = mockedProvider(
  'openai',
  provider,
);

const GENERATIONS = 'POST /images/generations';
const EDITS = 'POST /images/edits';

const generate = (changes?: Parameters<typeof newContext>[0], n = 1) =>
  makeImages(imageJob({ n }), newContext(changes));

describe('images', () => {
  it('are requested without default parameters', async () => {
    await generate();
    await makeImages(imageJob({ size: 'auto', quality: 'auto', seed: 7 }));
    const all = { n: 3, size: '1536x1024', quality: 'high', user: 'u-1' } as const;
    await makeImages(imageJob({ ...all, native: true }));
    const least = { model: 'upstream-model', prompt: 'a lighthouse at dusk' };
    expect(mock().requests.map(({ json }) => json)).toEqual([least, least, { ...least, ...all }]);
    const { method, path, headers } = mock().requests[0]!;
    expect([method, path]).toEqual(['POST', '/images/generations']);
    expect(headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
    });
  });

  it('are decoded from base64', async () => {
    expect(await generate({}, 2)).toEqual({
      files: [0, 1].map((shade) => ({
        bytes: png(64, 64, shade),
        revisedPrompt: 'a lighthouse at dusk, revised',
      })),
      usage: USAGE,
    });
  });

  it('are returned as URLs', async () => {
    mock().images('url');
    const { files } = await generate();
    expect(files).toMatchObject([{ url: expect.stringMatching(/^http:.*file-1$/) }]);
    expect(files[0]).not.toHaveProperty('headers');
  });

  const picture = png(8, 8).toString('base64');
  const usable = { bytes: png(8, 8) };
  it.each<[string, readonly unknown[], readonly unknown[]]>([
    [
      'without those that are none',
      [
        {},
        null,
        7,
        { b64_json: '' },
        { b64_json: 'not base64!' },
        { b64_json: `${picture.slice(0, -2)}*=` },
        { b64_json: 5, url: 5 },
        { url: 'file:///etc/passwd' },
        { url: 'nowhere' },
        { b64_json: picture },
      ],
      [usable],
    ],
    ['with the head of a data: URL', [{ b64_json: `data:image/png;base64,${picture}` }], [usable]],
    ['as a data: URL', [{ url: `data:image/png;base64,${picture}` }], [usable]],
    [
      'by address where the base64 is broken',
      [{ b64_json: '?', url: 'https://a.b/c' }],
      [{ url: 'https://a.b/c' }],
    ],
    ['with no prompt where it is no text', [{ b64_json: picture, revised_prompt: {} }], [usable]],
    ['not more than were asked for', Array(9).fill({ b64_json: picture }), Array(4).fill(usable)],
    ['unseen', [{ b64_json: pngBomb().toString('base64') }], [{ bytes: pngBomb() }]],
  ])('are taken %s', async (_, data, files) => {
    mock().next(GENERATIONS, { body: { created: 1, data } });
    expect(await generate({}, 4)).toEqual({ files, usage: null });
  });

  it.each([
    ['of any type', { input_tokens: '5', output_tokens: -1, total_tokens: 1.5 }, null],
    ['by other names', { prompt_tokens: 3, completion_tokens: 4 }, [3, 4, 7, 0]],
    ['with more cached than sent', { input_tokens: 3, cached_input_tokens: 9 }, [3, 0, 3, 3]],
    [
      'without details',
      { input_tokens: 3, output_tokens: 4, input_tokens_details: [] },
      [3, 4, 7, 0],
    ],
    ['beyond reason', { input_tokens: 2 ** 52, output_tokens: 4 }, [0, 4, 4, 0]],
  ] as const)('have usage %s', async (_, usage, expected) => {
    mock().next(GENERATIONS, { body: { created: 1, data: [{ b64_json: picture }], usage } });
    const made = (await generate()).usage;
    expect(
      made && [made.input_tokens, made.output_tokens, made.total_tokens, made.cached_input_tokens],
    ).toEqual(expected);
  });
});

describe('a billable request', () => {
  it.each([
    ['images', (context: ProviderContext) => makeImages(imageJob(), context)],
    ['an edit', (context: ProviderContext) => makeImages(imageJob({}, [input(1)]), context)],
    ['a video', (context: ProviderContext) => makeVideo(videoJob(), context)],
    ['speech', (context: ProviderContext) => makeAudio(audioJob(), context)],
  ])('for %s calls beforeBillableRequest once, before it is sent', async (_, make) => {
    const context = newContext();
    const refused = new Error('the note cannot be written');
    await expect(
      make({ ...context, beforeBillableRequest: () => Promise.reject(refused) }),
    ).rejects.toBe(refused);
    expect(mock().requests).toEqual([]);
    await make(context);
    expect(context.billableRequests()).toBe(1);
  });
});

describe('inputs', () => {
  it('are sent as a form, with the mask', async () => {
    const work = { edit: true, n: 2, size: '64x64', quality: 'low', user: 'u' } as const;
    const { files } = await makeImages(imageJob(work, [input(1)], input(9, 'mask.png')));
    expect(files).toHaveLength(2);
    const { path, headers, parts } = mock().only();
    expect(path).toBe('/images/edits');
    expect(headers['authorization']).toBe(`Bearer ${KEY}`);
    expect(parts.map(({ name, value, filename, type }) => [name, value, filename, type])).toEqual([
      ['model', 'upstream-model', null, null],
      ['prompt', 'a lighthouse at dusk', null, null],
      ['n', '2', null, null],
      ['size', '64x64', null, null],
      ['quality', 'low', null, null],
      ['user', 'u', null, null],
      ['image', null, 'input-1.png', 'image/png'],
      ['mask', null, 'mask.png', 'image/png'],
    ]);
    expect(parts[6]!.bytes).toEqual(png(8, 8, 1));
    expect(parts[7]!.bytes).toEqual(png(8, 8, 9));
  });

  it('that are references are sent as a form', async () => {
    await makeImages(imageJob({}, [input(1), input(2)]));
    const files = mock()
      .to(EDITS)[0]!
      .parts.filter(({ filename }) => filename !== null);
    expect(files.map(({ name, bytes }) => [name, bytes])).toEqual([
      ['image[]', png(8, 8, 1)],
      ['image[]', png(8, 8, 2)],
    ]);
  });

  it('cannot break out of the form by names, types or text', async () => {
    const filename = 'a"; name="model"\r\nX-Other: 1\r\n\r\nö.png';
    const prompt = '--\r\nContent-Disposition: form-data; name="model"\r\n\r\nother ünï';
    const odd = { ...input(1, filename), mediaType: 'image/png\r\nX-Other: 1' };
    await makeImages(imageJob({ prompt }, [odd]));
    const { parts } = mock().only();
    expect(parts.map(({ name }) => name)).toEqual(['model', 'prompt', 'image']);
    expect(parts[1]!.bytes.toString()).toBe(prompt);
    expect(parts[2]).toMatchObject({ type: 'application/octet-stream', bytes: png(8, 8, 1) });
    expect(mock().only().body.toString()).not.toContain('\r\nX-Other');
  });
});

const PAGE = '<html><head><title>Bad gateway</title></head><body>nginx</body></html>';

/** What may have cost something although nothing came of it. */
const SPENT: readonly (readonly [string, Behaviour])[] = [
  ['a page', { body: PAGE }],
  ['nothing', { body: '' }],
  ['broken JSON', { body: '{"created":1,"data":[{"b64_json":"aGV', type: 'application/json' }],
  ['JSON of another type', { body: '[1,2]', type: 'application/json' }],
  ['JSON too deep for anybody', { body: '['.repeat(20_000) + ']'.repeat(20_000) }],
  ['no data', { body: { created: 1 } }],
  ['no image', { body: { created: 1, data: [] } }],
  ['no usable image', { body: { created: 1, data: [{ url: 'ftp://a/b' }, { b64_json: '*' }] } }],
  ['data of another type', { body: { data: { 0: 'x' }, usage: 'x' } }],
  ['half of its answer', { stopAt: { share: 0.5, end: 'reset' } }],
  ['no word, and resets', { fault: 'reset' }],
  ['bytes in an unknown encoding', { headers: { 'content-encoding': 'zip' } }],
  [
    'more than anybody would',
    { body: gzipSync(Buffer.alloc(60_000_000)), headers: { 'content-encoding': 'gzip' } },
  ],
  ['bytes that cannot be decompressed', { headers: { 'content-encoding': 'gzip' } }],
];

describe('a provider that sends', () => {
  it.each(SPENT)('%s, gives billable_error', async (_, behaviour) => {
    mock().next(GENERATIONS, behaviour);
    const failure = await failureOf(generate());
    expect(failure.type).toBe('billable_error');
    expect(isRetriable(failure) || canFailOver(failure)).toBe(false);
    expect(failure.message).toMatch(/may have charged/);
  });

  it('an HTML page, has its title in the detail only', async () => {
    mock().next(GENERATIONS, { body: PAGE });
    const failure = await failureOf(generate());
    expect(failure.message).toBe('The provider sent no JSON. It may have charged for it');
    expect(failure.detail).toContain('Bad gateway');
  });

  it.each([
    ['nothing', { fault: 'silence' }, { firstByte: 50 }, 'first_byte_timeout'],
    ['half', { stopAt: { share: 0.5, end: 'silence' } }, { idle: 50 }, 'idle_timeout'],
    ['ever less', { trickle: { pieces: 50, pause: 20 } }, { total: 100 }, 'total_timeout'],
  ] as const)('%s in time, gives billable_error', async (_, behaviour, timeouts, code) => {
    mock().next(GENERATIONS, behaviour);
    const failure = await failureOf(generate({ timeouts }));
    expect(failure).toMatchObject({ type: 'billable_error', code });
    expect(failure.message).toContain('The provider ');
    expect(failure.message).not.toContain('127.0.0.1');
  });

  it.each([
    [500, { error: { message: 'oops', type: 'server_error' } }, 'service_error', true, true],
    [400, { error: { message: 'no', code: 'moderation_blocked' } }, 'content_policy', false, false],
    [401, { error: { message: `bad key ${KEY}` } }, 'service_error', false, true],
    [302, '', 'service_error', false, true],
  ] as const)(
    'the status %s, gives no billable_error',
    async (status, body, type, again, elsewhere) => {
      mock().next(GENERATIONS, { status, body, headers: { location: '/other' } });
      const failure = await failureOf(generate());
      expect(verdictOf(failure)).toEqual([type, again, elsewhere]);
      expect(failure.message).not.toContain('5ecre7');
      expect((await generate()).files).toHaveLength(1);
    },
  );

  it('an error with status 200, gives no billable_error', async () => {
    const error = { message: 'blocked', code: 'content_policy_violation' };
    mock().next(GENERATIONS, { body: { error } });
    expect(await failureOf(generate())).toMatchObject({ type: 'content_policy' });
  });

  it('the key in its error, has it redacted', async () => {
    mock().next(
      GENERATIONS,
      { status: 400, body: { error: { message: `${KEY}!`, code: KEY, param: KEY } } },
      { body: `<title>${KEY}</title>` },
      { body: { error: { message: KEY } } },
    );
    for (let request = 0; request < 3; request += 1) {
      const { message, code, param } = await failureOf(generate());
      expect([message, code, param].join()).not.toContain('5ecre7');
    }
    mock().next(GENERATIONS, {
      body: { data: [{ url: 'https://a.b/c', revised_prompt: `so ${KEY}` }] },
    });
    expect(JSON.stringify(await generate())).not.toContain('5ecre7');
  });
});

it('a refused connection gives no billable_error', async () => {
  const failure = await failureOf(generate({ baseUrl: 'http://127.0.0.1:1/v1' }));
  expect(failure).toMatchObject({ type: 'network_error', code: 'unreachable' });
  expect(isRetriable(failure)).toBe(true);
});

it("an aborted request rejects with the signal's reason", async () => {
  mock().next(GENERATIONS, { fault: 'silence' });
  const context = newContext();
  const made = makeImages(imageJob(), context);
  const { closed } = await mock().received(GENERATIONS);
  const reason = new Failure('timeout', 'past its deadline', { code: 'total_timeout' });
  context.cancellation.abort(reason);
  await expect(made).rejects.toBe(reason);
  expect(await closed).toBe('cut');
});

describe('videos', () => {
  const CREATE = 'POST /videos';
  const LOOK = 'GET /videos/:id';

  it('are polled until the job is done', async () => {
    mock().jobs({ looks: 2 });
    const context = newContext();
    const order = videoJob({ size: '16:9', duration: 8 }, [input(1)]);
    const { files } = await makeVideo(order, context);
    const url = `${mock().url}/videos/video_1/content`;
    // The key itself would be stored with the task.
    expect(files).toEqual([{ url, needsKey: true }]);
    expect(context.savedStates).toEqual([{ id: 'video_1' }]);
    const { parts } = mock().to(CREATE)[0]!;
    expect(parts.map(({ name, value, bytes }) => [name, value ?? bytes])).toEqual([
      ['model', 'upstream-model'],
      ['prompt', 'a lighthouse at dusk'],
      ['seconds', '8'],
      ['size', '1280x720'],
      ['input_reference', png(8, 8, 1)],
    ]);
    expect(mock().to(LOOK)).toHaveLength(3);
    const content = await fetch(url);
    expect(Buffer.from(await content.arrayBuffer())).toEqual(mp4());
  });

  it.each([
    ['9:16', '720x1280'],
    ['1024x1792', '1024x1792'],
    ['auto', undefined],
    [null, undefined],
  ])('of size %s are requested as %s', async (size, sent) => {
    await makeVideo(videoJob({ size }));
    const { parts } = mock().to(CREATE)[0]!;
    expect(parts.find(({ name }) => name === 'size')?.value).toBe(sent);
  });

  it.each([
    ['size', videoJob({ size: '1:1' })],
    ['size', videoJob({ size: '720p' })],
    ['input_images', videoJob({}, [input(1), input(2)])],
  ])('of another %s are refused before anything is sent', async (param, order) => {
    const failure = await failureOf(makeVideo(order));
    expect(failure).toMatchObject({ type: 'invalid_request', param });
    expect(mock().requests).toEqual([]);
  });

  it('whose job id cannot be saved give billable_error', async () => {
    const context = newContext();
    const saveState = async () => {
      throw new Failure('service_error', 'the disk is full', { status: 503 });
    };
    const made = makeVideo(videoJob(), Object.assign(context, { saveState }));
    expect((await failureOf(made)).type).toBe('billable_error');
  });

  it('with a saved job id are polled, not submitted again', async () => {
    const first = newContext();
    mock().jobs({ looks: 1 });
    mock().next(LOOK, { fault: 'silence' });
    const lost = makeVideo(videoJob(), first);
    await mock().received(LOOK);
    first.cancellation.abort(new Error('the power went'));
    await expect(lost).rejects.toThrow('the power went');
    expect(first.savedStates).toEqual([{ id: 'video_1' }]);

    const second = newContext({ savedState: first.savedStates[0] });
    const { files } = await makeVideo(videoJob(), second);
    expect(files).toMatchObject([{ url: expect.stringContaining('/videos/video_1/content') }]);
    expect(mock().to(CREATE)).toHaveLength(1);
    expect(second.savedStates).toEqual([]);
  });

  it.each<[string, Behaviour]>([
    ['cannot be reached', { fault: 'reset' }],
    ['fails', { status: 500, body: {} }],
    ['is busy', { status: 429, body: {}, headers: { 'retry-after': '0' } }],
    ['sends a page', { body: PAGE }],
    ['sends half', { stopAt: { share: 0.5, end: 'reset' } }],
    ['sends another type', { body: '7', type: 'application/json' }],
    ['has an unknown status', { body: { id: 'video_1', status: 'pondering' } }],
    ['says nothing of it', { body: { status: { a: 1 } } }],
  ])('are looked at again where a look %s', async (_, behaviour) => {
    mock().next(LOOK, behaviour, behaviour);
    const { files } = await makeVideo();
    expect(files).toHaveLength(1);
    expect(mock().to(CREATE)).toHaveLength(1);
  });

  it.each([
    [{ code: 'moderation_blocked', message: 'not this' }, 'content_policy', 'not this'],
    [{ code: 'server_error', message: `broke ${KEY}` }, 'service_error', 'broke'],
    ['broke', 'service_error', 'broke'],
    [{ code: {}, message: [] }, 'service_error', 'failed'],
  ])('that fail have the error of the job: %j', async (error, type, message) => {
    mock().jobs({ looks: 1, error: error as object });
    const context = newContext();
    const failure = await failureOf(makeVideo(videoJob(), context));
    const said = `${failure.message} ${failure.detail}`;
    expect([failure.type, said]).toEqual([type, expect.stringContaining(message)]);
    expect(said).not.toContain('5ecre7');
    // The next try gives a new job.
    expect(context.savedStates.at(-1)).toBeNull();
  });

  it('whose job is unknown (404) fail', async () => {
    const context = newContext({ savedState: { id: 'video_gone' } });
    const failure = await failureOf(makeVideo(videoJob(), context));
    expect([failure.type, canFailOver(failure)]).toEqual(['service_error', true]);
    expect(context.savedStates).toEqual([null]);
  });

  it('whose polls are refused give billable_error', async () => {
    mock().always(LOOK, { status: 401, body: { error: { message: 'no' } } });
    expect((await failureOf(makeVideo())).type).toBe('billable_error');
  });

  it.each<[string, Behaviour]>([
    ['without a name', { body: { status: 'queued' } }],
    ['with a name that is no part of a path', { body: { id: '..', status: 'queued' } }],
    ['of which nothing is heard', { fault: 'reset' }],
    ['whose page is all that comes', { body: PAGE }],
  ])('%s may have been charged', async (_, behaviour) => {
    mock().next(CREATE, behaviour);
    const context = newContext();
    expect((await failureOf(makeVideo(videoJob(), context))).type).toBe('billable_error');
    expect(context.savedStates).toEqual([]);
  });

  it('with an invalid saved state are submitted again', async () => {
    const context = newContext({ savedState: { id: 7 } });
    expect((await makeVideo(videoJob(), context)).files).toHaveLength(1);
    expect(mock().to(CREATE)).toHaveLength(1);
  });

  it('cannot change the path by their job id', async () => {
    const id = 'a/../../b?c#d%2f';
    mock().next(CREATE, { body: { id, status: 'queued' } });
    mock().next(`GET /videos/:id`, { body: { status: 'completed' } });
    const { files } = await makeVideo();
    const path = `/videos/${encodeURIComponent(id)}`;
    expect(mock().requests.at(-1)!.path).toBe(path);
    expect(files).toMatchObject([{ url: `${mock().url}${path}/content` }]);
  });
});

describe('speech', () => {
  const SPEECH = 'POST /audio/speech';

  it('is requested with a voice', async () => {
    await makeAudio();
    const { files } = await makeAudio(audioJob({ voice: 'coral', format: 'wav' }));
    const said = { model: 'upstream-model', input: 'a lighthouse at dusk' };
    expect(
      mock()
        .to(SPEECH)
        .map(({ json }) => json),
    ).toEqual([
      { ...said, voice: 'alloy' },
      { ...said, voice: 'coral', response_format: 'wav' },
    ]);
    const [product] = files as [{ bytes: Buffer }];
    expect(product.bytes.toString('latin1', 0, 4)).toBe('RIFF');
  });

  it('with a duration is refused', async () => {
    const failure = await failureOf(makeAudio(audioJob({ duration: 5 })));
    expect(failure).toMatchObject({ type: 'invalid_request', param: 'duration' });
  });

  it.each<[string, Behaviour]>([
    ['a page', { body: PAGE }],
    ['JSON', { body: { audio: 'soon' } }],
    ['nothing', { body: '', type: 'audio/mpeg' }],
    ['half', { stopAt: { share: 0.5, end: 'reset' } }],
  ])('that is %s may have been charged', async (_, behaviour) => {
    mock().next(SPEECH, behaviour);
    const failure = await failureOf(makeAudio());
    expect(failure.type).toBe('billable_error');
  });

  it('that is a JSON error fails', async () => {
    mock().next(SPEECH, { body: { error: { message: 'no', code: 'content_filter' } } });
    const failure = await failureOf(makeAudio());
    expect(failure.type).toBe('content_policy');
  });
});

describe('moderations', () => {
  const MODERATIONS = 'POST /moderations';

  it('are passed on, with defaults for null categories', async () => {
    const answer = await moderate(['a', 'flag b']);
    expect(mock().only().json).toEqual({ model: 'upstream-model', input: ['a', 'flag b'] });
    expect(answer).toMatchObject({
      id: 'modr-1',
      results: [
        { flagged: false, categories: { violence: false, illicit: false } },
        {
          flagged: true,
          category_scores: { violence: 0.9, illicit: 0 },
          category_applied_input_types: { violence: ['text'] },
        },
      ],
    });
  });

  it('of several parts have one result', async () => {
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: { url: 'data:,' } },
    ] as const;
    expect((await moderate(parts)).results).toHaveLength(1);
  });

  const good = { flagged: false, categories: { a: false }, category_scores: { a: 0 } };
  it.each([
    { id: 'a', model: 'b' },
    { id: 'a', model: 'b', results: {} },
    { id: 'a', model: 'b', results: [] },
    { id: 'a', model: 'b', results: [good, good] },
    { id: '', model: 'b', results: [good] },
    { id: 'a', model: 5, results: [good] },
    { id: 'a', model: 'b', results: [{ ...good, flagged: 'no' }] },
    { id: 'a', model: 'b', results: [{ ...good, categories: { a: 'no' } }] },
    { id: 'a', model: 'b', results: [{ ...good, category_scores: [0] }] },
    { id: 'a', model: 'b', results: [null] },
    { error: { message: 'broke', type: 'server_error' } },
  ])('of another shape fail: %j', async (body) => {
    mock().next(MODERATIONS, { body });
    const failure = await failureOf(moderate('a'));
    expect([failure.type, isRetriable(failure)]).toEqual(['service_error', true]);
  });

  it('that are lost may be retried', async () => {
    mock().next(MODERATIONS, { fault: 'reset' });
    const failure = await failureOf(moderate('a'));
    expect(isRetriable(failure)).toBe(true);
  });
});
