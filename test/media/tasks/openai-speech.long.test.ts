import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { speech } from '../media-files.ts';
import type { Client } from './client.ts';
import { mediaDaemon } from './media-daemon.ts';

const SPEECH = '/v1/audio/speech';
const POST = 'POST /audio/speech';
const said = { model: 'speech', input: 'Good morning.', voice: 'nova' } as const;

const media = mediaDaemon();

function sdk({ key }: Client, maxRetries = 0) {
  const baseURL = `${media().daemon.url}/v1`;
  return new OpenAI({ apiKey: key, baseURL, maxRetries }).audio.speech;
}

describe("audio.speech of OpenAI's SDK", () => {
  it.each([
    ['mp3', 'audio/mpeg'],
    ['opus', 'audio/ogg'],
    ['aac', 'audio/aac'],
    ['flac', 'audio/flac'],
    ['wav', 'audio/wav'],
    ['pcm', 'audio/pcm'],
  ] as const)('resolves with the bytes of %s and their media type', async (format, type) => {
    const { first, ann } = await media.fresh();
    const response = await sdk(ann).create({ ...said, response_format: format });
    const { bytes } = speech(format);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('content-length')).toBe(String(bytes.length));
    expect(first.only().json).toEqual({
      model: 'upstream-audio',
      input: said.input,
      voice: 'nova',
      response_format: format,
    });
    const task = await ann.look(response.headers.get('x-oriel-task')!);
    expect(task).toMatchObject({ status: 'completed', type: 'audio' });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 2 });
  });

  it('has its fields reach the upstream, without neutral values', async () => {
    const { first, far, client } = media();
    const speaker = sdk(await client());
    const fields = { instructions: 'Whisper.', speed: 1.5, voice: { id: 'voice_1' } } as const;
    await speaker.create({ ...said, ...fields });
    expect(first.only().json).toEqual({ model: 'upstream-audio', input: said.input, ...fields });
    await speaker.create({ ...said, ...fields, model: 'far-speech', response_format: 'wav' });
    expect(far.to('POST /audio/generations')[0]!.json).toEqual({
      model: 'upstream-audio',
      prompt: said.input,
      format: 'wav',
      ...fields,
    });
    await speaker.create({ ...said, instructions: '', speed: 1, stream_format: 'audio' });
    expect(first.to(POST)[1]!.json).toEqual({
      model: 'upstream-audio',
      input: said.input,
      voice: 'nova',
    });
  });

  it('has events where stream_format asks for them', async () => {
    const { ann } = await media.fresh();
    const response = await sdk(ann).create({ ...said, stream_format: 'sse' });
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const frames = (await response.text()).trim().split('\n\n');
    const events = frames.map((frame) => JSON.parse(/^data: (.*)$/m.exec(frame)![1]!));
    const deltas = events.slice(0, -1).map(({ audio }) => Buffer.from(audio, 'base64'));
    expect(Buffer.concat(deltas)).toEqual(speech('mp3').bytes);
    expect(events.map(({ type }) => type)).toEqual(['speech.audio.delta', 'speech.audio.done']);
    expect(events.at(-1).usage).toMatchObject({ input_tokens: 0, output_tokens: 0 });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 2 });
  });

  it('of the sandbox is the same WAV for the same text, in pcm as well', async () => {
    const speaker = sdk(await media().client());
    const bytesOf = async (more: object) => {
      const response = await speaker.create({ ...said, model: 'sound', ...more });
      return [response.headers.get('content-type'), Buffer.from(await response.arrayBuffer())];
    };
    const [type, wav] = await bytesOf({});
    expect(type).toBe('audio/wav');
    expect(await bytesOf({})).toEqual([type, wav]);
    for (const more of [{ input: 'Other.' }, { voice: 'echo' }, { instructions: 'Sing.' }]) {
      expect((await bytesOf(more))[1]).not.toEqual(wav);
    }
    const [, fast] = await bytesOf({ speed: 3 });
    expect(fast!.length).toBeLessThan(wav!.length / 2);
    expect(await bytesOf({ response_format: 'mp3' })).toEqual([type, wav]);
    const [pcmType, pcm] = await bytesOf({ response_format: 'pcm' });
    expect([pcmType, (wav as Buffer).includes(pcm as Buffer)]).toEqual(['audio/pcm', true]);
  });

  it.each([
    [{ voice: 'nobody' }, 'upstream'],
    [{ voice: '' }, 'voice'],
    [{ voice: { id: 3 } }, 'voice'],
    [{ voice: 'x'.repeat(65) }, 'voice'],
    [{ input: ' ' }, 'input'],
    [{ input: 'a'.repeat(32_001) }, 'input'],
    [{ input: null }, 'input'],
    [{ speed: 5 }, 'speed'],
    [{ response_format: 'midi' }, 'response_format'],
    [{ stream_format: 'chunks' }, 'stream_format'],
    [{ instructions: 'a'.repeat(4097) }, 'instructions'],
    [{ prompt: 'a' }, 'prompt'],
    [{ model: 'native' }, 'model'],
  ])('%o is refused and costs nothing', async (fields, param) => {
    const { ann } = await media.fresh();
    const { status, body } = await ann.post(SPEECH, { ...said, ...fields });
    expect([status, body.error.type]).toEqual([400, 'invalid_request']);
    if (param !== 'upstream') expect(body.error.param).toBe(param);
    else expect(body.error.message).toContain('Unknown voice');
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });

  it('is refused where a key may not use or pay for the model, or its text breaks the rules', async () => {
    const { first, client } = media();
    const refused = async (ann: Client, more: object = {}) => {
      const { status, body } = await ann.post(SPEECH, { ...said, ...more });
      return [status, body.error.type, body.error.param];
    };
    expect(await refused(await client({ credits: '1' }))).toEqual([
      402,
      'insufficient_quota',
      null,
    ]);
    expect(await refused(await client({ budget: '1' }))).toEqual([402, 'insufficient_quota', null]);
    expect(await refused(await client({ models: 'sound' }))).toEqual([403, 'auth_error', 'model']);
    const nude = 'a nude child';
    const ann = await client();
    expect(await refused(ann, { input: nude })).toEqual([400, 'content_policy', 'input']);
    expect(await refused(ann, { instructions: nude })).toEqual([400, 'content_policy', 'input']);
    expect(first.requests).toEqual([]);
  });

  it('as a task names the advice that its upstream lacks', async () => {
    const ann = await media().client();
    const body = { model: 'speech', prompt: 'Hello', user: 'u', seed: 1 };
    const { status, headers, body: task } = await ann.post('/v1/audio/generations', body);
    expect([status, headers.get('x-oriel-ignored')]).toEqual([202, 'seed, user']);
    expect(await ann.ended(task.task_id)).toMatchObject({ status: 'completed' });
  });

  it('is repeated by its Idempotency-Key without a second charge', async () => {
    const { first, ann } = await media.fresh();
    const headers = { 'idempotency-key': 'once' };
    const both = await Promise.all([0, 1].map(() => sdk(ann).create(said, { headers })));
    const [one, two] = both.map((response) => response.headers.get('x-oriel-task'));
    expect(one).toBe(two);
    expect(first.requests).toHaveLength(1);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 2 });
  });
});

describe('audio requests that take longer than limits.syncWait', () => {
  const impatient = mediaDaemon({ limits: { syncWait: '0s' } });

  it('are answered 504 task_running, which names the task', async () => {
    const ann = await impatient().client();
    const { status, body, headers } = await ann.post(SPEECH, said);
    const id = headers.get('x-oriel-task')!;
    expect([status, body.error.code]).toEqual([504, 'task_running']);
    expect(body.error.message).toContain(`the audio is not ready yet; the task ${id} goes on`);
    expect(headers.get('x-should-retry')).toBe('false');
    expect(await ann.ended(id)).toMatchObject({ status: 'completed' });
  });
});
