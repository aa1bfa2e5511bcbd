import OpenAI, { toFile } from 'openai';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { png } from './media-files.ts';
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
