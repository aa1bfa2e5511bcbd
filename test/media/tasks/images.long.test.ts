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
    const { daemon, first, client } = media();
    const ann = await client();
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
    const { first, client } = media();
    const ann = await client();
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

describe('sizes of a native-size model reach the provider as one of its seven', () => {
  it.each([
    [{}, undefined],
    [{ size: 'auto' }, undefined],
    [{ size: '1280x720' }, '1536x1024'],
    [{ size: '1920x1080' }, '2048x1152'],
    [{ size: '1440x2560' }, '2160x3840'],
    [{ size: '2560x1440' }, '2048x1152'],
    [{ size: '1449x1449' }, '2048x2048'],
    [{ size: '1x9999' }, '1024x1536'],
    [{ size: '16:9' }, '1536x1024'],
    [{ size: '16:9', resolution: '2K' }, '2048x1152'],
    [{ size: '9:16', resolution: '4K' }, '2160x3840'],
    [{ size: '1:1', resolution: '4K' }, '2048x2048'],
    [{ size: '1920x1080', resolution: '4K' }, '2048x1152'],
    [{ aspect_ratio: '16:9' }, '1536x1024'],
    [{ aspect_ratio: '9:16', resolution: '4K' }, '2160x3840'],
    [{ resolution: '1K' }, '1024x1024'],
    [{ img_size: '1024x1536' }, '1024x1536'],
    [{ size: '1:1', img_size: '16:9', aspect_ratio: '9:16' }, '1024x1024'],
    [{ img_size: '16:9', aspect_ratio: '9:16' }, '1536x1024'],
  ])('%j as %s', async (fields, size) => {
    const { first, client } = media();
    const task = await (await client()).make({ model: 'native', ...fields });
    expect(task.status).toBe('completed');
    expect(first.only().json.size).toBe(size);
  });

  it.each([
    [{ size: 'large' }, 'size'],
    [{ size: '0x10' }, 'size'],
    [{ aspect_ratio: '1024x1024' }, 'aspect_ratio'],
    [{ img_size: '' }, 'img_size'],
    [{ size: '16:9', resolution: '8K' }, 'resolution'],
    [{ n: 11 }, 'n'],
    [{ n: 0 }, 'n'],
    [{ quality: 'best' }, 'quality'],
    [{ colour: 'red' }, 'colour'],
  ])('but %j is refused, and costs nothing', async (fields, param) => {
    const { first, client } = media();
    const ann = await client();
    const { status, body } = await ann.post(GENERATIONS, {
      model: 'native',
      prompt: 'a',
      ...fields,
    });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ type: 'invalid_request', param });
    expect(await ann.credits()).toMatchObject({ reserved: 0, available: 1000 });
    expect(first.requests).toHaveLength(0);
  });
});

describe('a model without native sizes gets the size', () => {
  it.each([
    [{}, undefined],
    [{ size: 'auto' }, undefined],
    [{ size: 'square_hd' }, 'square_hd'],
    [{ size: '16:9' }, '16:9'],
    [{ size: '1000x1000' }, '1000x1000'],
    [{ aspect_ratio: '4:3' }, '4:3'],
    [{ img_size: 'portrait', aspect_ratio: '4:3' }, 'portrait'],
    [{ n: 1, quality: 'auto', size: 'wide' }, 'wide'],
  ])('of %j as %s', async (fields, size) => {
    const { first, client } = media();
    const task = await (await client()).make({ model: 'any', ...fields });
    expect(task.status).toBe('completed');
    expect(first.only().json.size).toBe(size);
  });

  it.each([
    [{ n: 2 }, 'n'],
    [{ quality: 'high' }, 'quality'],
    [{ resolution: '2K' }, 'resolution'],
  ])('but not %j', async (fields, param) => {
    const ann = await media().client();
    const { status, body } = await ann.post(GENERATIONS, { model: 'any', prompt: 'a', ...fields });
    expect([status, body.error.param]).toEqual([400, param]);
  });

  it('and may return an image of another size', async () => {
    const { first, client } = media();
    const ann = await client();
    first.next(POST, { body: { data: [{ b64_json: png(30, 20).toString('base64') }] } });
    expect(await ann.make({ model: 'any', size: '64x64' })).toMatchObject({ status: 'completed' });
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
    const { first, client } = media();
    const ann = await client();
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
    const { first, client } = media();
    const ann = await client();
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

  it('beyond the requested number are left out', async () => {
    const { first, client } = media();
    const ann = await client();
    first.next(POST, made(sound(1), sound(2), sound(3)));
    const task = await ann.make({ model: 'native', n: 2 });
    expect(task.result.data).toHaveLength(2);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 8 });
  });

  it('at URLs of the provider are downloaded', async () => {
    const { first, client } = media();
    first.images('url');
    const ann = await client();
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
    ['a page that calls itself JSON', { body: '<html>', type: 'application/json' }],
    ['nothing', { body: Buffer.alloc(0) }],
    ['no list', { body: { data: 'none' } }],
    ['an empty list', { body: { data: [] } }],
    ['a list of anything', { body: { data: [null, 1, 'x', {}, { b64_json: 5 }, { url: {} }] } }],
    ['addresses that are none', { body: { data: [{ url: 'file:///etc/passwd' }, { url: '//' }] } }],
    ['a bomb', made(pngBomb())],
    ['half an image', made(sound().subarray(0, 60))],
    ['an image whose data breaks off', made(sound().subarray(0, -40))],
    ['a page as an image', made(Buffer.from('<html>'))],
    ['an image of another size', made(png(512, 512))],
    ['a script as an image', made(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))],
  ])('%s is not charged', async (_, behaviour) => {
    const { first, client } = media();
    const ann = await client();
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
    const { first, client } = media();
    const ann = await client();
    first.next(POST, { body: { data: [{ url: `${first.url}/gone` }] } });
    first.always('GET /gone', { status: 403, body: 'no' });
    const task = await ann.make({ model: 'native' });
    expect(task.error).toMatchObject({ type: 'billable_error', code: 'unusable_result' });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });

  it('a slow body completes the task', async () => {
    const { first, client } = media();
    const ann = await client();
    first.next(POST, { wait: 300, trickle: { pieces: 5, pause: 30 } });
    expect(await ann.make({ model: 'native' })).toMatchObject({ status: 'completed' });
  });

  it('an interrupted body gives billable_error and is not retried', async () => {
    const { first, client } = media();
    const ann = await client();
    first.next(POST, { stopAt: { share: 0.5, end: 'reset' } });
    const task = await ann.make({ model: 'native' });
    expect(task.error).toMatchObject({ type: 'billable_error' });
    expect(first.to(POST)).toHaveLength(1);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });
});

describe('a client that waits', () => {
  it('gets the images', async () => {
    const ann = await media().client();
    const { status, body } = await ann.post(`${GENERATIONS}/sync`, {
      model: 'native',
      prompt: 'a',
      response_format: 'b64_json',
      size: '1:1',
    });
    expect(status).toBe(200);
    expect(Buffer.from(body.data[0].b64_json, 'base64')).toEqual(sound());
  });

  it("gets the status of the task's failure", async () => {
    const { first, client } = media();
    const ann = await client();
    first.next(POST, made(pngBomb()));
    const { status, body } = await ann.post(`${GENERATIONS}/sync`, {
      model: 'native',
      prompt: 'a',
    });
    expect(status).toBe(502);
    expect(body.error).toMatchObject({ type: 'billable_error', code: 'unusable_result' });
  });

  it('may disconnect without ending its task', async () => {
    const { first, client } = media();
    const ann = await client();
    let answer = () => {};
    first.next(POST, {
      wait: new Promise<void>((resolve) => {
        answer = resolve;
      }),
    });
    const leave = new AbortController();
    const body = { model: 'native', prompt: 'a' };
    const waiting = ann.post(`${GENERATIONS}/sync`, body, undefined, { signal: leave.signal });
    await first.received(POST);
    leave.abort();
    await expect(waiting).rejects.toThrow();
    // By the next answer the daemon has seen the client go.
    const { body: listed } = await ann.ask('/v1/tasks');
    answer();
    expect(await ann.ended(listed.data[0].task_id)).toMatchObject({ status: 'completed' });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 4 });
  });
});
