import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { png, pngBomb } from '../media-files.ts';
import { GENERATIONS } from './client.ts';
import { mediaDaemon } from './media-daemon.ts';

const media = mediaDaemon();
const POST = 'POST /images/generations';

describe('an accepted task', () => {
  it('is on disk, with its reservation, before the response', async () => {
    const { daemon, first, ann } = await media.fresh();
    first.always(POST, { wait: new Promise(() => {}) });
    const { status, body } = await ann.post(GENERATIONS, { model: 'native', prompt: 'a', n: 2 });
    expect(status).toBe(202);
    expect(body).toEqual({
      task_id: expect.stringMatching(/^task_/),
      status: expect.stringMatching(/^(pending|processing)$/),
      model: 'native',
      poll_url: `/v1/tasks/${body.task_id}`,
    });
    const journal = join(daemon.data, 'store', 'journal');
    const written = readdirSync(journal).map((name) => readFileSync(join(journal, name), 'utf8'));
    expect(written.join('')).toContain(body.task_id);
    expect(await ann.credits()).toMatchObject({ reserved: 8, spent: 0, available: 992 });
    expect(await ann.look(body.task_id)).toMatchObject({ result: null, error: null });
    // Its request must not come among those of the next test.
    await first.received(POST);
  });

  it("completes with the provider's images at permanent URLs", async () => {
    const { first, ann } = await media.fresh();
    const task = await ann.make({ model: 'native', size: '1:1', quality: 'low' });
    expect(task).toMatchObject({
      status: 'completed',
      type: 'image',
      model: 'native',
      error: null,
    });
    expect(task.result).toMatchObject({
      created: expect.any(Number),
      usage: { total_tokens: 450 },
    });
    expect(task.result.data).toHaveLength(1);
    const image = await fetch(task.result.data[0].url);
    expect(Buffer.from(await image.arrayBuffer())).toEqual(png(1024, 1024));
    expect(first.only().json).toEqual({
      model: 'upstream-image',
      prompt: 'a lighthouse',
      size: '1024x1024',
      quality: 'low',
    });
  });
});

describe('all text that a model may read', () => {
  it.each([
    { prompt: 'A child', size: 'nude' },
    { prompt: 'A child', aspect_ratio: 'wide, nude' },
    { prompt: 'nude', img_size: 'child' },
    { prompt: '%63hild', size: 'n.u.d.e' },
  ])('is screened together: %j', async (body) => {
    const ann = await media().client();
    const { status, body: answer } = await ann.post(GENERATIONS, { model: 'any', ...body });
    expect([status, answer.error.code]).toEqual([400, 'content_policy']);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });
});

const made = (...images: readonly (Buffer | string)[]) => ({
  body: {
    created: 1,
    data: images.map((image) => ({
      b64_json: Buffer.isBuffer(image) ? image.toString('base64') : image,
    })),
  },
});
const sound = (shade = 0) => png(1024, 1024, shade);

describe('several images', () => {
  it('are charged per image', async () => {
    const { first, ann } = await media.fresh();
    const task = await ann.make({ model: 'native', n: 3 });
    expect(new Set(task.result.data.map(({ url }: { url: string }) => url)).size).toBe(3);
    expect(first.only().json.n).toBe(3);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 12, available: 988 });
    expect(await ann.ledger(task.task_id)).toEqual([
      ['reserve', 12],
      ['charge', 12],
    ]);
  });

  it('of which only some are returned are charged in part', async () => {
    const { first, ann } = await media.fresh();
    first.next(POST, made(sound(1), pngBomb(), sound(2), sound(3).subarray(0, 40), 'no base64'));
    const task = await ann.make({ model: 'native', size: '1:1', n: 5 });
    expect(task.status).toBe('completed');
    expect(task.result.data).toHaveLength(2);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 8, available: 992 });
    expect(await ann.ledger(task.task_id)).toEqual([
      ['reserve', 20],
      ['charge', 8],
      ['release', 12],
    ]);
    const { body } = await ann.ask('/v1/account/usage');
    expect(body.data[0]).toMatchObject({ requests: 1, outputs: 2, credits: 8 });
  });

  it('at URLs of the provider are downloaded', async () => {
    const { first, ann } = await media.fresh();
    first.images('url');
    const task = await ann.make({ model: 'native', n: 2, size: '1:1' });
    expect(task.status).toBe('completed');
    const fetched = first.to('GET /files/:id');
    expect(fetched).toHaveLength(2);
    for (const { headers } of fetched) expect(headers.authorization).toBeUndefined();
    for (const [index, { url }] of task.result.data.entries()) {
      expect(url).toContain(`${media().daemon.url}/assets/`);
      const image = await fetch(url);
      expect(Buffer.from(await image.arrayBuffer())).toEqual(png(1024, 1024, index));
    }
  });
});

describe('a successful response with', () => {
  it.each([
    ['a page', { body: '<!doctype html><title>Sign in</title>', type: 'text/html' }],
    ['a bomb', made(pngBomb())],
  ])('%s is not charged', async (_, behaviour) => {
    const { first, ann } = await media.fresh();
    first.next(POST, behaviour);
    const task = await ann.make({ model: 'native', size: '1024x1024', n: 2 });
    expect(task).toMatchObject({ status: 'failed', result: null, type: 'image', model: 'native' });
    expect(task.error).toMatchObject({ type: 'billable_error', message: expect.any(String) });
    expect(task.error!.message).not.toContain('5ecre7');
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0, available: 1000 });
    expect(await ann.ledger(task.task_id)).toEqual([
      ['reserve', 8],
      ['release', 8],
    ]);
    expect(first.to(POST)).toHaveLength(1);
  });

  it('missing images is not charged', async () => {
    const { first, ann } = await media.fresh();
    first.next(POST, { body: { data: [{ url: `${first.url}/gone` }] } });
    first.always('GET /gone', { status: 403, body: 'no' });
    const task = await ann.make({ model: 'native' });
    expect(task.error).toMatchObject({ type: 'billable_error', code: 'unusable_result' });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });
});
