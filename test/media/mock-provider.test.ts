import OpenAI, { toFile } from 'openai';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { png, pngBomb } from './media-files.ts';
import { USAGE } from './mock-answers.ts';
import { type MockProvider, startMockProvider } from './mock-provider.ts';

// What is proven through the mock is worth as much as the mock: the official client, talking to it
// without the gateway, must find in it all that its interface promises.

let provider: MockProvider;
beforeAll(async () => {
  provider = await startMockProvider();
});
afterAll(() => provider.close());
beforeEach(() => provider.reset());

const client = (options: object = {}) =>
  new OpenAI({ baseURL: provider.url, apiKey: 'sk-mock', maxRetries: 0, ...options });

const file = () => toFile(png(8, 8), 'a.png', { type: 'image/png' });

describe('the official client with the mock', () => {
  it('generates images as base64', async () => {
    const { data, usage } = await client().images.generate({
      model: 'm',
      prompt: 'a lighthouse',
      n: 2,
      size: '1536x1024',
    });
    expect(usage).toEqual(USAGE);
    const sizes = await Promise.all(
      data!.map(async ({ b64_json }) => {
        const { width, height } = await sharp(Buffer.from(b64_json!, 'base64')).metadata();
        return `${width}x${height}`;
      }),
    );
    expect(sizes).toEqual(['1536x1024', '1536x1024']);
    const { method, path, headers, json } = provider.only();
    expect([method, path, headers.authorization]).toEqual([
      'POST',
      '/images/generations',
      'Bearer sk-mock',
    ]);
    expect(json).toEqual({ model: 'm', prompt: 'a lighthouse', n: 2, size: '1536x1024' });
  });

  it('generates images as URLs', async () => {
    provider.images('url');
    const { data } = await client().images.generate({ model: 'm', prompt: 'p' });
    const response = await fetch(data![0]!.url!);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await response.arrayBuffer())).toEqual(png(64, 64));
  });

  it('edits images', async () => {
    const image = [await file(), await file()];
    const { data } = await client().images.edit({
      model: 'm',
      prompt: 'brighter',
      image,
      mask: await file(),
    });
    expect(data).toHaveLength(1);
    expect(provider.only().parts).toMatchObject([
      { name: 'model', value: 'm' },
      { name: 'prompt', value: 'brighter' },
      { name: 'image[]', filename: 'a.png', type: 'image/png', bytes: png(8, 8) },
      { name: 'image[]' },
      { name: 'mask', filename: 'a.png', value: null },
    ]);
  });

  it('generates a video', async () => {
    provider.jobs({ looks: 2 });
    const videos = client().videos;
    const { id, status } = await videos.create({ model: 'm', prompt: 'waves', seconds: '4' });
    expect(status).toBe('queued');
    expect((await videos.retrieve(id)).status).toBe('queued');
    expect((await videos.retrieve(id)).status).toBe('in_progress');
    expect((await videos.retrieve(id)).status).toBe('completed');
    const content = await videos.downloadContent(id);
    expect(Buffer.from(await content.arrayBuffer()).toString('latin1', 4, 8)).toBe('ftyp');
    expect(provider.to('GET /videos/:id/content')).toHaveLength(1);
  });

  it('gets the error of a failed video', async () => {
    provider.jobs({ looks: 1, error: { code: 'moderation_blocked', message: 'no' } });
    const videos = client().videos;
    const { id } = await videos.create({ model: 'm', prompt: 'waves' });
    await videos.retrieve(id);
    expect(await videos.retrieve(id)).toMatchObject({
      status: 'failed',
      error: { code: 'moderation_blocked' },
    });
    await expect(videos.retrieve('video_99')).rejects.toMatchObject({ status: 404 });
  });

  it('generates speech', async () => {
    const speech = await client().audio.speech.create({
      model: 'm',
      input: 'hello',
      voice: 'alloy',
      response_format: 'wav',
    });
    expect(speech.headers.get('content-type')).toBe('audio/wav');
    expect(Buffer.from(await speech.arrayBuffer()).toString('latin1', 0, 4)).toBe('RIFF');
  });

  it('moderates texts', async () => {
    const { results } = await client().moderations.create({ model: 'm', input: ['a', 'flag b'] });
    expect(results.map(({ flagged }) => flagged)).toEqual([false, true]);
  });
});

describe('a misbehaving mock', () => {
  const generate = (options: object = {}) =>
    client(options).images.generate({ model: 'm', prompt: 'p' });

  it('misbehaves for the given number of requests', async () => {
    provider.next('POST /images/generations', { status: 500, body: {} });
    await expect(generate()).rejects.toMatchObject({ status: 500 });
    expect((await generate()).data).toHaveLength(1);
    provider.always('POST /images/generations', {
      status: 429,
      headers: { 'retry-after': '7' },
      body: { error: { message: 'slow down' } },
    });
    await expect(generate()).rejects.toMatchObject({ status: 429 });
    const refused = await generate().catch(
      (error: unknown) => error as InstanceType<typeof OpenAI.APIError>,
    );
    expect(refused).toMatchObject({ status: 429, message: '429 slow down' });
  });

  it.each([
    ['resets', { fault: 'reset' }],
    ['goes away in the middle', { stopAt: { share: 0.5, end: 'reset' } }],
  ] as const)('%s', async (_, behaviour) => {
    provider.next('POST /images/generations', behaviour);
    await expect(generate()).rejects.toThrow();
    expect(await provider.only().closed).toBe('cut');
  });

  it.each([
    ['says nothing', { fault: 'silence' }],
    ['begins and says nothing more', { stopAt: { share: 0.5, end: 'silence' } }],
  ] as const)('%s until its client disconnects', async (_, behaviour) => {
    provider.next('POST /images/generations', behaviour);
    const leaving = new AbortController();
    const asked = fetch(`${provider.url}/images/generations`, {
      method: 'POST',
      body: '{}',
      signal: leaving.signal,
    }).then((response) => response.text());
    const { closed } = await provider.received('POST /images/generations');
    leaving.abort();
    await expect(asked).rejects.toThrow();
    expect(await closed).toBe('cut');
  });

  it('sends a body in chunks', async () => {
    provider.next('POST /images/generations', { trickle: { pieces: 5, pause: 1 } });
    const { data } = await generate();
    expect(Buffer.from(data![0]!.b64_json!, 'base64')).toEqual(png(64, 64));
    expect(await provider.only().closed).toBe('whole');
  });

  it('waits until it is resumed', async () => {
    let go = () => {};
    const wait = new Promise<void>((resolve) => {
      go = resolve;
    });
    provider.next('POST /images/generations', { wait });
    const asked = generate();
    await provider.received('POST /images/generations');
    go();
    expect((await asked).data).toHaveLength(1);
  });

  it('has an image that exceeds the limits', async () => {
    const unlimited = sharp(pngBomb(), { limitInputPixels: false });
    await expect(unlimited.metadata()).resolves.toMatchObject({ width: 60_000 });
    await expect(sharp(pngBomb()).raw().toBuffer()).rejects.toThrow(/pixel limit/);
  });
});

describe('a mock of another gateway', () => {
  it('returns the same task for the same idempotency key', async () => {
    const gateway = await startMockProvider('oriel');
    try {
      gateway.jobs({ looks: 1 });
      const ask = async (path: string, init: RequestInit = {}) => {
        const response = await fetch(gateway.url + path, init);
        return {
          status: response.status,
          body: (await response.json()) as Record<string, unknown>,
        };
      };
      const body = JSON.stringify({ model: 'm', prompt: 'p', size: '100x50' });
      const headers = { 'idempotency-key': 'k1' };
      const post = () => ask('/images/generations', { method: 'POST', body, headers });
      const made = await post();
      expect(made).toMatchObject({ status: 202, body: { status: 'pending' } });
      expect(await post()).toEqual(made);
      const path = `/tasks/${String(made.body['task_id'])}`;
      expect((await ask(path)).body['status']).toBe('processing');
      const { result } = (await ask(path)).body as { result: { data: { url: string }[] } };
      const picture = await fetch(result.data[0]!.url);
      expect(Buffer.from(await picture.arrayBuffer())).toEqual(png(100, 50));
      expect((await ask('/tasks/other')).status).toBe(404);
    } finally {
      await gateway.close();
    }
  });
});
