import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { FAILURE_TYPES, Failure } from '../../../src/failure.ts';
import { sniffMedia } from '../../../src/media/files/media-type.ts';
import { sandboxProvider } from '../../../src/media/providers/sandbox/sandbox.ts';
import { audio, audioJob, context, images, moderation, video } from './provider-context.ts';

describe('a sandbox video', () => {
  it.each([
    [1, 6],
    [4, 24],
    [3600, 64],
  ])('of %i seconds has that duration', async (duration, frames) => {
    const [bytes] = await video({ duration });
    const { format, pages, width, height, delay } = await sharp(bytes).metadata();
    expect([format, pages, width, height]).toEqual(['webp', frames, 64, 48]);
    const total = delay!.reduce((sum, each) => sum + each, 0);
    expect(Math.abs(total - duration * 1000)).toBeLessThan(frames);
  });

  it('has fewer frames at larger sizes, and is repeatable', async () => {
    const [bytes] = await video({ size: '3000x2000', duration: 10 });
    expect((await sharp(bytes).metadata()).pages).toBe(4);
    expect(await video()).toEqual(await video());
    expect(await video({ seed: 1 })).not.toEqual(await video());
  });

  it('refuses sizes beyond the limits', async () => {
    await expect(video({ size: '8000x8000' })).rejects.toMatchObject({ param: 'size' });
  });
});

describe('sandbox audio', () => {
  it.each([
    [null, 3],
    [1, 1],
    [0.5, 0.5],
    [60, 60],
  ])('of %s seconds is a WAV of %i', async (duration, seconds) => {
    const [file] = await audio({ duration });
    const wav = Buffer.from(file!);
    expect(sniffMedia(wav)).toMatchObject({ mediaType: 'audio/wav' });
    const rate = wav.readUInt32LE(24);
    const bytes = 2 * rate * seconds;
    expect([wav.readUInt32LE(4), wav.readUInt32LE(40)]).toEqual([wav.length - 8, bytes]);
    const samples = new Int16Array(new Uint8Array(wav.subarray(44, 44 + bytes)).buffer);
    const loudest = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    expect(loudest).toBeGreaterThan(5000);
    expect(loudest).toBeLessThan(32_767);
  });

  it('depends on prompt, seed and voice only', async () => {
    expect(await audio()).toEqual(await audio());
    for (const more of [{ prompt: 'rain' }, { seed: 1 }, { voice: 'low' }]) {
      expect(await audio(more)).not.toEqual(await audio());
    }
  });

  it('refuses more than a minute', async () => {
    await expect(audio({ duration: 61 })).rejects.toMatchObject({
      type: 'invalid_request',
      param: 'duration',
      message: expect.stringMatching(/60 seconds/),
    });
  });
});

describe('sandbox moderation', () => {
  it.each([
    ['a text', 'a garden', 1],
    ['texts', ['a garden', 'a house'], 2],
    [
      'parts',
      [
        { type: 'text', text: 'a garden' },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      ],
      1,
    ],
    ['nothing', [], 1],
  ] as const)('classifies %s', async (_, input, results) => {
    const answer = await moderation(input);
    expect(answer).toMatchObject({ id: expect.stringMatching(/^modr-/), model: 'moderation' });
    expect(answer.results).toHaveLength(results);
    for (const { flagged, categories, category_scores: scores } of answer.results) {
      expect(flagged).toBe(false);
      expect(Object.keys(scores)).toEqual(Object.keys(categories));
    }
    expect(await moderation(input)).toEqual(answer);
  });
});

describe('a prompt with directives', () => {
  it.each(FAILURE_TYPES)('fails with sandbox:fail=%s for every media type', async (type) => {
    const prompt = `a house, sandbox:fail=${type}.`;
    for (const making of [images({ prompt }), video({ prompt }), audio({ prompt })]) {
      await expect(making).rejects.toMatchObject({ type });
    }
    await expect(moderation(prompt)).rejects.toMatchObject({ type });
  });

  it('gets fewer images, another size, or garbage', async () => {
    expect(await images({ n: 3, prompt: 'sandbox:partial=2' })).toHaveLength(2);
    const [small] = await images({ prompt: 'sandbox:size=20x10' });
    expect(await sharp(small).metadata()).toMatchObject({ width: 20, height: 10 });
    const prompt = 'sandbox:garbage';
    for (const made of [
      await images({ prompt }),
      await video({ prompt }),
      await audio({ prompt }),
    ]) {
      expect(sniffMedia(made[0]!)).toBeNull();
    }
  });

  it.each([
    ['sandbox:fail=no', /one of invalid_request/],
    ['sandbox:partial=11', /from 1 to 10/],
    ['sandbox:size=big', /a size/],
    ['sandbox:repeat=3', /unknown; expected fail, delay, partial, size or garbage/],
  ])('is refused for the invalid directive %s', async (prompt, message) => {
    await expect(images({ prompt })).rejects.toMatchObject({
      type: 'invalid_request',
      param: 'prompt',
      message: expect.stringMatching(message),
    });
  });

  it('waits with sandbox:delay=9m until the signal is aborted', async () => {
    const controller = new AbortController();
    const reason = new Failure('timeout', 'The deadline is over');
    const job = audioJob({ prompt: 'sandbox:delay=9m' });
    const making = sandboxProvider.makeAudio(job, await context('audio', controller.signal));
    controller.abort(reason);
    await expect(making).rejects.toBe(reason);
  });
});

it('the sandbox refuses unknown models', async () => {
  await expect(sandboxProvider.makeAudio(audioJob(), await context('video'))).rejects.toMatchObject(
    {
      code: 'unknown_sandbox_model',
    },
  );
});

it('the sandbox reports consistent usage', async () => {
  const job = audioJob({ prompt: 'a song' });
  const { usage } = await sandboxProvider.makeAudio(job, await context('audio'));
  expect(usage).toEqual({
    prompt_tokens: 2,
    completion_tokens: 25,
    total_tokens: 27,
    input_tokens: 2,
    output_tokens: 25,
    cached_input_tokens: 0,
  });
});
