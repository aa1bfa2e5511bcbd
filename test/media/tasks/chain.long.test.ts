import { describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../../daemon.ts';
import { quadrants } from '../../fixtures/images.ts';
import { decode } from '../../pixels.ts';
import { Client, EDITS, GENERATIONS } from './client.ts';

/** The one that makes things itself, and the one that asks it. */
const inner = sharedDaemon();
const price = {
  image: { perImage: 4 },
  video: { perVideo: 3 },
  audio: { perRequest: 2 },
};
const modelTo = (type: keyof typeof price, model: string, more: object = {}) => ({
  type,
  routes: [{ provider: 'inner', model }],
  price: price[type],
  ...more,
});
const outer = sharedDaemon({
  // Read when it starts: by then the other one has its port.
  get config() {
    return {
      routing: { retries: 0, cooldown: { after: 0 } },
      providers: { inner: { kind: 'oriel', baseUrl: `${inner().url}/v1`, apiKey: OWNER_KEY } },
      models: {
        native: modelTo('image', 'sandbox-image', { rules: 'native-size' }),
        any: modelTo('image', 'sandbox-image-any'),
        film: modelTo('video', 'sandbox-video'),
        sound: modelTo('audio', 'sandbox-audio'),
        stranger: modelTo('image', 'unknown-model'),
      },
    };
  },
});
const client = () => Client.of(outer());

async function bytesAt(url: string): Promise<Buffer> {
  expect(new URL(url).origin).toBe(outer().url);
  const response = await fetch(url);
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

describe.concurrent('one Oriel behind another', () => {
  it('generates images of the requested size', async () => {
    const ann = await client();
    const body = { model: 'native', size: '16:9', resolution: '2K', n: 2, seed: 7 };
    const task = await ann.make(body);
    expect(task).toMatchObject({ status: 'completed', error: null });
    expect(task.result.data).toHaveLength(2);
    const picture = await decode(await bytesAt(task.result.data[0].url));
    expect(picture).toMatchObject({ width: 2048, height: 1152 });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 8 });
  });

  it('edits images within the mask', async () => {
    const ann = await client();
    const size = { width: 64, height: 48 };
    const { status, body } = await ann.form(EDITS, [
      ['model', 'any'],
      ['prompt', 'a hat'],
      ['image', await quadrants(size).png().toBuffer()],
      ['mask', await quadrants(size).ensureAlpha(0).png().toBuffer()],
      ['response_format', 'b64_json'],
    ]);
    expect(status).toBe(200);
    expect(await decode(Buffer.from(body.data[0].b64_json, 'base64'))).toMatchObject(size);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 4 });
  });

  it('generates videos and audio with reference images', async () => {
    const ann = await client();
    const still = await quadrants({ width: 32, height: 32 }).png().toBuffer();
    const [film, sound] = await Promise.all([
      ann.make(
        {
          model: 'film',
          duration: 1,
          size: '128x72',
          input_images: [`data:image/png;base64,${still.toString('base64')}`],
        },
        '/v1/videos/generations',
      ),
      ann.make({ model: 'sound', duration: 1 }, '/v1/audio/generations'),
    ]);
    expect([film.error, sound.error]).toEqual([null, null]);
    expect(await decode(await bytesAt(film.result.video_url))).toMatchObject({ width: 128 });
    expect((await bytesAt(sound.result.audio_url)).toString('latin1', 0, 4)).toBe('RIFF');
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 5 });
  });

  it.each([
    ['billable_error', 'billable_error'],
    // Clients did not cause errors of the account at the other gateway.
    ['insufficient_quota', 'service_error'],
    ['auth_error', 'service_error'],
  ])('passes a failure of type %s on as %s', async (fails, type) => {
    const ann = await client();
    const task = await ann.make({ model: 'any', prompt: `a tree sandbox:fail=${fails}` });
    expect(task).toMatchObject({ status: 'failed', result: null, error: { type } });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });

  it('fails for an unknown model', async () => {
    const ann = await client();
    const answer = await ann.post(`${GENERATIONS}/sync`, { model: 'stranger', prompt: 'a' });
    expect(answer.status).toBe(502);
    expect(answer.body.error).toMatchObject({ type: 'service_error', code: 'upstream_not_found' });
  });
});
