import OpenAI, { toFile } from 'openai';
import { expect, it } from 'vitest';
import { mp4, png, wav } from '../media-files.ts';
import { SRT, TRANSCRIPT } from '../mock-audio.ts';
import type { Received } from '../mock-request.ts';
import type { Client } from './client.ts';
import { mediaDaemon } from './media-daemon.ts';

const media = mediaDaemon();

const sdk = ({ key }: Client) =>
  new OpenAI({ apiKey: key, baseURL: `${media().daemon.url}/v1`, maxRetries: 0 });

const fieldsOf = ({ parts }: Received) =>
  Object.fromEntries(parts.map(({ name, value }) => [name, value]));

const image = () => toFile(png(64, 64), 'image.png', { type: 'image/png' });
const audio = () => toFile(wav(), 'recording.wav');

it.each(['scribe', 'far-scribe'])("audio.translations of OpenAI's SDK reach %s", async (model) => {
  const { first, far, ann } = await media.fresh();
  const { translations } = sdk(ann).audio;
  expect(await translations.create({ model, file: await audio(), prompt: 'Sea' })).toEqual(
    TRANSCRIPT,
  );
  const [received] = [
    ...first.to('POST /audio/translations'),
    ...far.to('POST /audio/translations'),
  ];
  expect(fieldsOf(received!)).toEqual({
    ...{ model: 'upstream-transcription', prompt: 'Sea', response_format: 'json', file: null },
  });
  const format = { response_format: 'srt' } as const;
  expect(await translations.create({ model, file: await audio(), ...format })).toBe(SRT);
  await expect.poll(() => ann.credits()).toMatchObject({ reserved: 0, spent: 4 });
});

it('translations take no fields of transcriptions, and only audio', async () => {
  const { translations } = sdk(await media().client()).audio;
  const german = { model: 'listener', file: await audio(), ...{ language: 'de' } };
  const { headers } = await translations.create(german).asResponse();
  expect(headers.get('x-oriel-ignored')).toBe('language');
  await expect(
    translations.create({ model: 'listener', file: await image() }),
  ).rejects.toMatchObject({ status: 400, param: 'file' });
  const verbose = { response_format: 'verbose_json' } as const;
  expect(
    await translations.create({ model: 'listener', file: await audio(), ...verbose }),
  ).toMatchObject({ task: 'translate' });
});

it.each([
  ['native', 'first'],
  ['far-native', 'far'],
] as const)("images.createVariation of OpenAI's SDK reaches %s", async (model, at) => {
  const { [at]: provider, ann } = await media.fresh();
  const { data } = await sdk(ann).images.createVariation({
    ...{ model, image: await image(), n: 2, response_format: 'b64_json' },
  });
  expect(data).toHaveLength(2);
  const [received] = provider.to('POST /images/variations');
  expect(fieldsOf(received!)).toEqual({ model: 'upstream-image', n: '2', image: null });
  await expect.poll(() => ann.credits()).toMatchObject({ reserved: 0, spent: 8 });
});

it('edits take JSON that names images by URL and by file', async () => {
  const { first, ann } = await media.fresh();
  const client = sdk(ann);
  const { id } = await client.files.create({ file: await image(), purpose: 'vision' });
  const url = `data:image/png;base64,${png(64, 64).toString('base64')}`;
  const post = (more: object) =>
    client.post<OpenAI.ImagesResponse>('/images/edits', {
      body: { model: 'native', prompt: 'night', response_format: 'b64_json', ...more },
    });
  const images = [{ file_id: id }, { image_url: url }];
  expect((await post({ images })).data).toHaveLength(1);
  const [{ parts }] = first.to('POST /images/edits') as [Received];
  expect(parts.filter(({ name }) => name.startsWith('image'))).toHaveLength(2);
  for (const [more, param] of [
    [{}, 'images'],
    [{ images: [{}] }, 'images[0]'],
    [{ images: [{ file_id: 'file_0123456789ABCDEFGHIJ' }] }, 'images[0].file_id'],
    [{ images: [{ image_url: 'data:,x' }] }, 'images[0].image_url'],
    [{ images, mask: { image_url: 'http://127.0.0.1/a.png' } }, 'mask.image_url'],
  ] as const) {
    await expect(post(more)).rejects.toMatchObject({ param });
  }
});

it('variations by the sandbox need one image and take no prompt', async () => {
  const { images } = sdk(await media().client());
  const file = await image();
  const drawn = await images.createVariation({
    model: 'drawn',
    image: file,
    response_format: 'url',
  });
  expect(drawn.data).toMatchObject([{ url: expect.any(String) }]);
  for (const [more, param] of [
    [{ prompt: 'a cat' }, 'prompt'],
    [{ image: await toFile(Buffer.from('no image'), 'a.png') }, 'image'],
    [{ model: 'film' }, 'model'],
    [{ n: 11 }, 'n'],
  ] as const) {
    const body = { model: 'drawn', image: file, ...more } as OpenAI.ImageCreateVariationParams;
    await expect(images.createVariation(body)).rejects.toMatchObject({ status: 400, param });
  }
});

it.each(['film', 'far-film'])("videos of OpenAI's SDK are tasks of %s", async (model) => {
  const { ann, first, far } = await media.fresh();
  const { videos } = sdk(ann);
  const asked = { model, prompt: 'waves', seconds: '8', size: '1280x720' } as const;
  const made = await videos.create({ ...asked, input_reference: await image() });
  expect(made).toMatchObject({ ...asked, object: 'video', progress: 0, error: null });
  await expect.poll(async () => (await videos.retrieve(made.id)).status).toBe('completed');
  const whole = await videos.retrieve(made.id);
  expect(whole).toMatchObject({ id: made.id, progress: 100, completed_at: expect.any(Number) });
  expect(whole.expires_at).toBeGreaterThan(whole.completed_at!);
  const content = await videos.downloadContent(made.id);
  expect(content.headers.get('content-type')).toBe('video/mp4');
  expect(content.headers.get('cache-control')).toBe('private');
  expect(Buffer.from(await content.arrayBuffer())).toEqual(mp4());
  await expect(videos.downloadContent(made.id, { variant: 'thumbnail' })).rejects.toThrow(
    /expected one of video, received "thumbnail"/,
  );
  const input_reference = { image_url: `data:image/png;base64,${png(8, 8).toString('base64')}` };
  const { id } = await videos.create({ ...asked, prompt: 'more waves', input_reference });
  const referenced = () =>
    [...first.requests, ...far.requests].filter(({ parts, json }) =>
      /input_(reference|images)/.test(JSON.stringify([parts.map(({ name }) => name), json])),
    );
  await expect.poll(referenced).toHaveLength(2);
  const ids: string[] = [];
  for await (const one of videos.list({ limit: 1, order: 'desc' })) ids.push(one.id);
  expect(ids).toEqual([id, made.id]);
  expect(await ann.look(made.id)).toMatchObject({ status: 'completed', type: 'video' });
  const remix = videos.remix(made.id, { prompt: 'at night' });
  await expect(remix).rejects.toMatchObject({ status: 400, param: 'video_id' });
  const deleted = { id: made.id, object: 'video.deleted', deleted: true };
  expect(await videos.delete(made.id)).toEqual(deleted);
  for (const name of ['retrieve', 'downloadContent'] as const) {
    await expect(videos[name](made.id)).rejects.toMatchObject({ status: 404 });
  }
});

it('a video that failed says why, and has no file', async () => {
  const { first, ann } = await media.fresh();
  const { videos } = sdk(ann);
  first.jobs({ looks: 0, error: { code: 'moderation_blocked', message: 'No.' } });
  const { id } = await videos.create({ model: 'film', prompt: 'waves' });
  await expect.poll(async () => (await videos.retrieve(id)).status).toBe('failed');
  expect((await videos.retrieve(id)).error).toMatchObject({ message: 'No.' });
  await expect(videos.downloadContent(id)).rejects.toMatchObject({ status: 404 });
});

it('videos of others, other tasks and wrong fields are refused', async () => {
  const { ann } = await media.fresh();
  const { videos } = sdk(ann);
  const { id } = await videos.create({ model: 'film', prompt: 'waves' });
  const other = sdk(await media().client());
  const task = await ann.begin({ model: 'sound', prompt: 'rain' }, '/v1/audio/generations');
  for (const refused of [
    () => other.videos.retrieve(id),
    () => other.videos.downloadContent(id),
    () => other.videos.delete(id),
    () => other.videos.remix(id, { prompt: 'x' }),
    () => videos.retrieve(task),
    () => videos.retrieve('video_x'),
    () => other.videos.list({ after: id }),
  ]) {
    await expect(refused()).rejects.toMatchObject({ status: 404 });
  }
  expect((await other.videos.list()).data).toEqual([]);
  const bad = videos.remix(id, { prompt: ' ' });
  await expect(bad).rejects.toMatchObject({ status: 400, param: 'prompt' });
  for (const [more, param] of [
    [{ seconds: '61' }, 'seconds'],
    [{ seconds: 'long' }, 'seconds'],
    [{ size: 'huge' }, 'size'],
    [{ model: 'native' }, 'model'],
    [{ prompt: ' ' }, 'prompt'],
    [{ input_reference: await toFile(Buffer.from('text'), 'a.png') }, 'input_reference'],
    [{ input_reference: { file_id: 'file_1' } }, 'input_reference[file_id]'],
  ] as const) {
    const body = { model: 'film', prompt: 'waves', ...more } as OpenAI.VideoCreateParams;
    await expect(videos.create(body)).rejects.toMatchObject({ status: 400, param });
  }
});

it('unknown fields are left out and named, and content in them is refused', async () => {
  const { images, moderations } = sdk((await media.fresh()).ann);
  const body = { model: 'native', prompt: 'x', response_format: 'b64_json', extra: 1 } as const;
  const judged = { model: 'judge', input: 'x', extra: 1 };
  for (const { headers } of [
    await images.generate(body).asResponse(),
    await images.edit({ ...body, image: await image() }).asResponse(),
    await moderations.create(judged).asResponse(),
  ])
    expect(headers.get('x-oriel-ignored')).toBe('extra');
  const broken = { ...body, input_images: [`data:image/png;base64,${btoa('no image')}`] };
  await expect(images.generate(broken)).rejects.toMatchObject({ param: 'input_images[0]' });
});
