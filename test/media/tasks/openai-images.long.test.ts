import OpenAI, { APIUserAbortError, toFile } from 'openai';
import { describe, expect, it } from 'vitest';
import { sniffMedia } from '../../../src/media/files/media-type.ts';
import { gate } from '../../gate.ts';
import { decode } from '../../pixels.ts';
import { png } from '../media-files.ts';
import { type Client, EDITS, GENERATIONS } from './client.ts';
import { mediaDaemon } from './media-daemon.ts';

const media = mediaDaemon();
const POST = 'POST /images/generations';
const prompt = 'a lighthouse';

function sdk({ key }: Client, maxRetries = 0): OpenAI {
  return new OpenAI({ apiKey: key, baseURL: `${media().daemon.url}/v1`, maxRetries });
}

async function eventsOf<Event>(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function bytesAt(url: string | undefined): Promise<Buffer> {
  const response = await fetch(url!);
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

describe("images.generate of OpenAI's SDK", () => {
  it('resolves with base64 images, their time and usage', async () => {
    const { first, ann } = await media.fresh();
    const { data: images, response } = await sdk(ann)
      .images.generate({ model: 'native', prompt, n: 2, response_format: 'b64_json' })
      .withResponse();
    expect(images).toEqual({
      created: expect.any(Number),
      data: [0, 1].map((shade) => ({
        b64_json: png(64, 64, shade).toString('base64'),
        revised_prompt: `${prompt}, revised`,
      })),
      usage: expect.objectContaining({ input_tokens: 50, output_tokens: 400, total_tokens: 450 }),
    });
    expect(first.only().json).toEqual({ model: 'upstream-image', prompt, n: 2 });
    const id = response.headers.get('x-oriel-task')!;
    expect(await ann.look(id)).toMatchObject({ status: 'completed' });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 8 });
  });

  it('resolves with the URLs of images', async () => {
    const { images } = sdk(await media().client());
    const { data, created } = await images.generate({
      model: 'any',
      prompt,
      response_format: 'url',
    });
    expect(created).toBeGreaterThan(1_600_000_000);
    expect(data).toHaveLength(1);
    expect(data![0]).not.toHaveProperty('b64_json');
    expect(await bytesAt(data![0]!.url)).toEqual(png(64, 64));
  });

  it('resolves with a task where nothing asks for images in the response', async () => {
    const { first, client } = media();
    const { images } = sdk(await client());
    for (const format of [{}, { response_format: null }]) {
      const { response } = await images
        .generate({ model: 'any', prompt, ...format })
        .withResponse();
      expect(response.status).toBe(202);
    }
    // Their requests must not come among those of the next test.
    await first.received(POST, 1);
  });

  it('resolves with images where the setting of the key asks for them', async () => {
    const { first, client } = media();
    const native = { model: 'native', prompt } as const;
    const b64 = sdk(await client({ images: 'b64_json' }));
    const url = sdk(await client({ images: 'url' }));
    const { data } = await b64.images.generate(native);
    expect(data).toMatchObject([{ b64_json: png(64, 64).toString('base64') }]);
    expect((await url.images.generate(native)).data).toMatchObject([{ url: expect.any(String) }]);
    const headers = { prefer: 'wait=5, respond-async' };
    const task = await b64.images.generate(native, { headers }).withResponse();
    expect(task.response.status).toBe(202);
    const given = await b64.images.generate({ ...native, response_format: 'url' });
    expect(given.data![0]).not.toHaveProperty('b64_json');
    const image = await toFile(png(64, 64), 'a.png');
    const edit = await b64.images.edit({ ...native, image });
    expect(edit.data).toMatchObject([{ b64_json: png(64, 64).toString('base64') }]);
    await first.received(POST, 3);
  });

  it('that is aborted loses neither the task nor its images', async () => {
    const { first, ann } = await media.fresh();
    const answer = gate();
    first.next(POST, { wait: answer.passed });
    const controller = new AbortController();
    const request = sdk(ann).images.generate(
      { model: 'any', prompt, response_format: 'b64_json' },
      { signal: controller.signal },
    );
    await first.received(POST);
    controller.abort();
    await expect(request).rejects.toThrow(APIUserAbortError);
    answer.open();
    const { data } = (await ann.ask('/v1/tasks')).body;
    const task = await ann.ended(data[0].task_id);
    expect(await bytesAt(task.result.data[0].url)).toEqual(png(64, 64));
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 4 });
  });

  it('is not repeated by the SDK where the upstream may have charged', async () => {
    const { first, client } = media();
    first.always(POST, { body: { data: [] } });
    const request = sdk(await client(), 2).images.generate({
      model: 'any',
      prompt,
      response_format: 'url',
    });
    await expect(request).rejects.toMatchObject({ status: 502, type: 'billable_error' });
    expect(first.requests).toHaveLength(1);
  });
});

describe("image streams of OpenAI's SDK", () => {
  const USAGE = { input_tokens: 50, output_tokens: 400, total_tokens: 450 };

  it('have one completed event with its usage, and name what is left out', async () => {
    const { first, ann } = await media.fresh();
    const { data: stream, response } = await sdk(ann)
      .images.generate({
        model: 'native',
        prompt,
        stream: true,
        partial_images: 2,
        quality: 'high',
        background: 'opaque',
      })
      .withResponse();
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(response.headers.get('x-oriel-ignored')).toBe('partial_images');
    const events = await eventsOf(stream);
    expect(events).toEqual([
      {
        type: 'image_generation.completed',
        b64_json: png(64, 64).toString('base64'),
        created_at: expect.any(Number),
        size: 'auto',
        quality: 'high',
        background: 'opaque',
        output_format: 'png',
        revised_prompt: `${prompt}, revised`,
        usage: expect.objectContaining(USAGE),
      },
    ]);
    expect(first.only().json).toMatchObject({ quality: 'high', background: 'opaque' });
    expect(first.only().json).not.toHaveProperty('stream');
    const task = await ann.look(response.headers.get('x-oriel-task')!);
    expect(task).toMatchObject({ status: 'completed' });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 4 });
  });

  it('have an event for each of several images, the last with the usage of all', async () => {
    const { images } = sdk(await media().client());
    const stream = await images.generate({ model: 'native', prompt, n: 3, stream: true });
    const events = await eventsOf(stream);
    const tokens = events.map((event) => 'usage' in event && event.usage.total_tokens);
    expect(tokens).toEqual([0, 0, 450]);
    expect(events.map((event) => event.b64_json)).toEqual(
      [0, 1, 2].map((shade) => png(64, 64, shade).toString('base64')),
    );
  });

  it('of edits have events of their own', async () => {
    const { images } = sdk(await media().client());
    const image = await toFile(png(64, 64), 'a.png');
    const stream = await images.edit({ model: 'native', prompt, image, stream: true });
    const events = await eventsOf(stream);
    expect(events).toMatchObject([{ type: 'image_edit.completed', usage: USAGE }]);
  });

  it('that fail before their first event are errors with their status', async () => {
    const { first, ann } = await media.fresh();
    first.always(POST, { status: 400, body: { error: { message: 'No.', code: 'no' } } });
    const request = sdk(ann).images.generate({ model: 'any', prompt, stream: true });
    await expect(request).rejects.toMatchObject({ status: 400, type: 'invalid_request' });
    const refused = await ann.post(`${GENERATIONS}/sync`, { model: 'any', prompt, stream: true });
    expect([refused.status, refused.body.error.param]).toEqual([400, 'stream']);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });
});

describe("OpenAI's fields of images", () => {
  it.each(['native', 'far-native'])('reach the upstream of %s', async (model) => {
    const { first, far, client } = media();
    const fields = {
      background: 'transparent',
      moderation: 'low',
      output_format: 'webp',
      output_compression: 0,
      quality: 'high',
      user: 'u-1',
    } as const;
    const { images } = sdk(await client());
    await images.generate({ model, prompt, response_format: 'url', ...fields });
    const sent = [...first.to(POST), ...far.to(POST)].map(({ json }) => json);
    expect(sent).toEqual([{ model: 'upstream-image', prompt, ...fields }]);
  });

  it('of models without native sizes reach the upstream', async () => {
    const { first, client } = media();
    const fields = { style: 'vivid', quality: 'hd' } as const;
    const { images } = sdk(await client());
    await images.generate({ model: 'any', prompt, response_format: 'url', ...fields });
    expect(first.only().json).toEqual({ model: 'upstream-image', prompt, ...fields });
  });

  it('with neutral values are accepted and not sent', async () => {
    const { first, client } = media();
    const neutral = {
      background: 'auto',
      moderation: 'auto',
      quality: 'auto',
      size: 'auto',
      n: 1,
      output_compression: 100,
      partial_images: 2,
      stream: false,
      style: null,
    } as const;
    const { images } = sdk(await client());
    await images.generate({ model: 'native', prompt, response_format: 'url', ...neutral });
    expect(first.only().json).toEqual({ model: 'upstream-image', prompt });
  });

  it.each([
    [{ stream: 'yes' }, 'stream', null],
    [{ stream: true, response_format: 'url' }, 'response_format', 'conflicting_parameters'],
    [{ style: 'loud' }, 'style', null],
    [{ partial_images: 4 }, 'partial_images', null],
    [{ output_format: 'gif' }, 'output_format', null],
    [{ output_compression: 50 }, 'output_compression', 'conflicting_parameters'],
    [{ background: 'transparent', output_format: 'jpeg' }, 'background', 'conflicting_parameters'],
    [{ quality: 'hd' }, 'quality', 'not_supported_by_model'],
    [{ model: 'any', quality: 'low' }, 'quality', 'not_supported_by_model'],
  ])('%j are refused, and cost nothing', async (fields, param, code) => {
    const { first, ann } = await media.fresh();
    for (const format of [{}, { response_format: 'b64_json' }]) {
      const body = { model: 'native', prompt, ...format, ...fields };
      const answer = await ann.post(GENERATIONS, body);
      const error = { type: 'invalid_request', param, code };
      expect([answer.status, answer.body.error]).toMatchObject([400, error]);
    }
    expect(first.requests).toEqual([]);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });

  it('that one of two upstreams lacks go to the other', async () => {
    const { first, client } = media();
    const { images } = sdk(await client());
    const request = { model: 'mixed', prompt, size: '64x64', response_format: 'url' } as const;
    await images.generate(request);
    expect(first.requests).toEqual([]);
    await images.generate({ ...request, style: 'natural' });
    expect(first.only().json).toMatchObject({ style: 'natural' });
  });

  it('that are options or advice are named where an upstream lacks them', async () => {
    const { first, ann } = await media.fresh();
    const ignored = async (model: string, fields: object) => {
      const body = { model, prompt, size: '64x64', response_format: 'url', ...fields };
      const { status, headers } = await ann.post(GENERATIONS, body);
      return [status, headers.get('x-oriel-ignored')];
    };
    const advice = { user: 'u', seed: 1 };
    expect(await ignored('drawn', advice)).toEqual([200, 'user']);
    const options = { style: 'vivid', background: 'opaque', quality: 'hd' };
    expect(await ignored('drawn', options)).toEqual([200, 'quality, background, style']);
    expect(await ignored('any', advice)).toEqual([200, 'seed']);
    expect(await ignored('any', {})).toEqual([200, null]);
    expect(first.to(POST)).toHaveLength(2);
  });

  it.each(['jpeg', 'webp'] as const)("give the sandbox's images as %s", async (format) => {
    const { images } = sdk(await media().client());
    const made = async (compression: number) => {
      const { data } = await images.generate({
        model: 'drawn',
        prompt,
        size: '256x256',
        response_format: 'b64_json',
        output_format: format,
        output_compression: compression,
      });
      return Buffer.from(data![0]!.b64_json!, 'base64');
    };
    const [small, large] = [await made(0), await made(100)];
    expect(sniffMedia(large)).toMatchObject({ mediaType: `image/${format}` });
    expect(await decode(large)).toMatchObject({ width: 256, height: 256 });
    expect(small.length).toBeLessThan(large.length);
  });
});

describe("images.edit of OpenAI's SDK", () => {
  it('resolves with base64 images, and its fields reach the upstream', async () => {
    const { first, client } = media();
    const { images } = sdk(await client());
    const image = await Promise.all([0, 1].map((shade) => toFile(png(64, 64, shade), 'a.png')));
    const { data } = await images.edit({
      model: 'native',
      prompt,
      image,
      response_format: 'b64_json',
      background: 'opaque',
      input_fidelity: 'high',
      stream: false,
      user: 'u-1',
    });
    expect(data).toMatchObject([{ b64_json: png(64, 64).toString('base64') }]);
    const parts = first.only().parts.map(({ name, value }) => [name, value]);
    expect(Object.fromEntries(parts)).toEqual({
      model: 'upstream-image',
      prompt,
      user: 'u-1',
      background: 'opaque',
      input_fidelity: 'high',
      'image[]': null,
    });
  });

  it('is made without a field that no upstream has, and refused with an invalid one', async () => {
    const ann = await media().client();
    const form = Object.entries({ model: 'drawn', prompt, image: png(8, 8) });
    const { status, headers } = await ann.form(EDITS, [...form, ['input_fidelity', 'low']]);
    expect([status, headers.get('x-oriel-ignored')]).toEqual([200, 'input_fidelity']);
    const streamed = await ann.form(EDITS, [...form, ['stream', 'often']]);
    expect([streamed.status, streamed.body.error.param]).toEqual([400, 'stream']);
  });
});
