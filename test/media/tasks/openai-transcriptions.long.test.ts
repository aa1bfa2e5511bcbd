import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI, { APIUserAbortError, toFile } from 'openai';
import { describe, expect, it } from 'vitest';
import { png, speech, wav } from '../media-files.ts';
import { SRT, TRANSCRIPT, VERBOSE, VTT } from '../mock-audio.ts';
import type { Received } from '../mock-request.ts';
import type { Client } from './client.ts';
import { mediaDaemon, PROVIDER_KEYS } from './media-daemon.ts';

const TRANSCRIPTIONS = '/v1/audio/transcriptions';
const POST = 'POST /audio/transcriptions';

const media = mediaDaemon();

function sdk({ key }: Client, maxRetries = 0) {
  const baseURL = `${media().daemon.url}/v1`;
  return new OpenAI({ apiKey: key, baseURL, maxRetries }).audio;
}

const upload = (bytes = wav(), name = 'recording.wav') => toFile(bytes, name);

function fieldsOf({ parts }: Received) {
  return Object.fromEntries(
    parts.filter(({ value }) => value !== null).map(({ name, value }) => [name, value]),
  );
}

describe("audio.transcriptions of OpenAI's SDK", () => {
  it.each([
    [{}, TRANSCRIPT, 'json'],
    [{ response_format: 'json' }, TRANSCRIPT, 'json'],
    [{ response_format: 'text' }, `${TRANSCRIPT.text}\n`, 'json'],
    [{ response_format: 'srt' }, SRT, 'srt'],
    [{ response_format: 'vtt' }, VTT, 'vtt'],
    [{ response_format: 'verbose_json' }, VERBOSE, 'verbose_json'],
  ] as const)('%o resolves with its form of the transcript', async (more, transcript, sent) => {
    const { first, ann } = await media.fresh();
    const body = { model: 'scribe', file: await upload(), ...more };
    expect(await sdk(ann).transcriptions.create(body)).toEqual(transcript);
    const received = first.only();
    expect(fieldsOf(received)).toEqual({ model: 'upstream-transcription', response_format: sent });
    expect(received.headers.authorization).toBe(`Bearer ${PROVIDER_KEYS.first}`);
    expect(received.parts.find(({ name }) => name === 'file')).toMatchObject({
      filename: 'audio.wav',
      type: 'audio/wav',
      bytes: wav(),
    });
    await expect.poll(() => ann.credits()).toMatchObject({ reserved: 0, spent: 2 });
  });

  it.each(['scribe', 'far-scribe'])('has its fields reach the upstream of %s', async (model) => {
    const { first, far, client } = media();
    const { transcriptions } = sdk(await client());
    await transcriptions.create({
      model,
      file: await upload(),
      language: 'de',
      prompt: 'Wellen, Strand',
      temperature: 0.2,
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
      chunking_strategy: { type: 'server_vad', threshold: 0.4 },
    });
    const [received] = [...first.to(POST), ...far.to(POST)];
    const sent = received!.parts.filter(({ value }) => value !== null);
    expect(sent.map(({ name, value }) => `${name}=${value}`).toSorted()).toEqual([
      'chunking_strategy[threshold]=0.4',
      'chunking_strategy[type]=server_vad',
      'language=de',
      'model=upstream-transcription',
      'prompt=Wellen, Strand',
      'response_format=verbose_json',
      'temperature=0.2',
      'timestamp_granularities[]=segment',
      'timestamp_granularities[]=word',
    ]);
  });

  it('streams the text once it is there', async () => {
    const { client } = media();
    const { transcriptions } = sdk(await client());
    const body = { model: 'scribe', file: await upload(), stream: true } as const;
    const { data: stream, response } = await transcriptions.create(body).withResponse();
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events).toEqual([
      { type: 'transcript.text.delta', delta: TRANSCRIPT.text },
      { type: 'transcript.text.done', ...TRANSCRIPT },
    ]);
  });

  it.each(['mp3', 'opus', 'flac', 'wav', 'aac'])(
    'names a file of %s by its content',
    async (format) => {
      const { first, ann } = await media.fresh();
      const form = [
        ['model', 'scribe'],
        ['file', speech(format).bytes],
      ] as const;
      const { status } = await ann.form(TRANSCRIPTIONS, form);
      const { filename } = first.only().parts.find(({ name }) => name === 'file')!;
      const extension = format === 'opus' ? 'ogg' : format;
      expect([filename, status]).toEqual([`audio.${extension}`, format === 'aac' ? 400 : 200]);
    },
  );

  it('of a large file sends the whole of it, and keeps nothing of it', async () => {
    const { first, client, daemon } = media();
    const { transcriptions } = sdk(await client());
    const bytes = Buffer.concat([wav(), Buffer.alloc(9 * 1024 * 1024, 'sound ')]);
    await transcriptions.create({ model: 'scribe', file: await upload(bytes) });
    const file = first.only().parts.find(({ name }) => name === 'file')!;
    const digest = (content: Buffer) => createHash('sha256').update(content).digest('hex');
    expect(digest(file.bytes)).toBe(digest(bytes));
    await expect.poll(() => readdirSync(join(daemon.data, 'spool'))).toEqual([]);
  });

  it('of the sandbox gives the text of its speech, in every form', async () => {
    const ann = await media().client();
    const { speech: speaker, transcriptions } = sdk(ann);
    const input = 'Good morning, all of you who listen to the waves below the lighthouse.';
    const spoken = await speaker.create({ model: 'sound', input, voice: 'alloy' });
    const bytes = Buffer.from(await spoken.arrayBuffer());
    const body = { model: 'listener', file: await upload(bytes) };
    const usage = { type: 'duration', seconds: 3 };
    expect(await transcriptions.create(body)).toEqual({ text: input, usage });
    const verbose = await transcriptions.create({
      ...body,
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    });
    expect(verbose).toMatchObject({ text: input, duration: 3, usage });
    expect(verbose.words!.map(({ word }) => word).join(' ')).toBe(input);
    expect(verbose.segments!.at(-1)!.end).toBe(3);
    const srt = await transcriptions.create({ ...body, response_format: 'srt' });
    expect(srt).toMatch(/^1\n00:00:00,000 --> 00:00:01,\d{3}\nGood morning,/);
    const vtt = await transcriptions.create({ ...body, response_format: 'vtt' });
    expect(vtt).toMatch(/^WEBVTT\n\n00:00:00\.000 --> 00:00:01\.\d{3}\nGood morning,/);
    const other = await transcriptions.create({ model: 'listener', file: await upload() });
    expect(other.text).toMatch(/^The sandbox heard /);
    expect(await transcriptions.create({ model: 'listener', file: await upload() })).toEqual(other);
    const { response } = await transcriptions.create({ ...body, temperature: 1 }).withResponse();
    expect(response.headers.get('x-oriel-ignored')).toBe('temperature');
  });

  it.each([
    ['fail=rate_limit', 429],
    ['fail=service_error', 502],
    ['nothing=1', 400],
  ])('of the sandbox fails as the prompt sandbox:%s says', async (directive, status) => {
    const ann = await media().client();
    const body = { model: 'listener', file: await upload(), prompt: `sandbox:${directive}` };
    await expect(sdk(ann).transcriptions.create(body)).rejects.toMatchObject({ status });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });
});

describe('a transcription', () => {
  const file = ['file', wav()] as const;
  const model = ['model', 'scribe'] as const;

  const FORMAT = 'response_format';
  const GRANULARITIES = 'timestamp_granularities';
  const conflict = 'conflicting_parameters';
  const format = 'unsupported_format';
  const many = Array.from({ length: 101 }, () => ['keywords[]', 'a'] as const);
  const tooLarge = Buffer.alloc(30 * 1024 * 1024 + 1);
  const times = (...values: readonly string[]) =>
    values.map((value) => [`${GRANULARITIES}[]`, value] as const);

  it.each<[string, Parameters<Client['form']>[1], string, (string | null)?, number?]>([
    ['without a file', [model], 'file'],
    ['with a text as file', [model, ['file', 'hello']], 'file'],
    ['with two files', [model, file, file], 'file'],
    ['with an empty file', [model, ['file', Buffer.alloc(0)]], 'file', 'empty_file'],
    ['of an image', [model, ['file', png(8, 8)]], 'file', format],
    ['of a page', [model, ['file', Buffer.from('<html>')]], 'file', format],
    ['of noise', [model, ['file', Buffer.alloc(99, 1)]], 'file', format],
    ['of a file beyond the limit', [model, ['file', tooLarge]], 'file', 'file_too_large', 413],
    ['without a model', [file], 'model'],
    ['by an unknown model', [['model', 'none'], file], 'model', 'model_not_found', 404],
    ['by a model of another type', [['model', 'speech'], file], 'model', 'wrong_model_type'],
    ['in an unknown form', [model, file, [FORMAT, 'xml']], FORMAT],
    ['with two prompts', [model, file, ['prompt', 'a'], ['prompt', 'b']], 'prompt'],
    ['with a long prompt', [model, file, ['prompt', 'a'.repeat(4097)]], 'prompt'],
    ['with a huge prompt', [model, file, ['prompt', 'a'.repeat(20_000)]], 'prompt'],
    ['that is too warm', [model, file, ['temperature', '1.5']], 'temperature'],
    ['with times in JSON', [model, file, ...times('word')], GRANULARITIES, conflict],
    [
      'with unknown times',
      [model, file, [FORMAT, 'verbose_json'], ...times('word', 'year')],
      `${GRANULARITIES}[1]`,
    ],
    ['with more items than the limit', [model, file, ...many], 'keywords'],
    [
      'streamed as subtitles',
      [model, file, ['stream', 'true'], [FORMAT, 'srt']],
      'stream',
      conflict,
    ],
    [
      'with speakers at the sandbox',
      [['model', 'listener'], file, [FORMAT, 'diarized_json']],
      FORMAT,
      'not_supported_by_model',
    ],
  ])('%s is refused and costs nothing', async (_, form, param, code, status) => {
    const { first, ann } = await media.fresh();
    const answer = await ann.form(TRANSCRIPTIONS, form);
    const error = { param, code: code ?? null };
    expect([answer.status, answer.body.error]).toMatchObject([status ?? 400, error]);
    expect(first.requests).toEqual([]);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });

  it('with a JSON body is refused', async () => {
    const { status, body } = await (await media().client()).post(TRANSCRIPTIONS, {
      model: 'scribe',
    });
    expect([status, body.error.code]).toEqual([415, 'unsupported_media_type']);
  });

  it.each([
    ['an error with status 200', { body: { error: { message: 'No.' } } }, 502, 'service_error'],
    ['a page', { body: '<html>down</html>' }, 502, 'billable_error'],
    ['JSON without text', { body: { words: [] } }, 502, 'billable_error'],
    ['a reset after the request', { fault: 'reset' }, 502, 'billable_error'],
    [
      'its key in an error',
      { status: 401, body: { error: { message: PROVIDER_KEYS.first } } },
      502,
      'service_error',
    ],
  ] as const)(
    'that an upstream answers with %s fails and costs nothing',
    async (_, behaviour, status, type) => {
      const { first, ann } = await media.fresh();
      first.always(POST, behaviour);
      const request = sdk(ann, 2).transcriptions.create({ model: 'scribe', file: await upload() });
      const error = await request.catch((reason: unknown) => reason as { error: object });
      expect(error).toMatchObject({ status, type });
      expect(JSON.stringify(error)).not.toContain(PROVIDER_KEYS.first);
      if (type === 'billable_error') expect(first.requests).toHaveLength(1);
      expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
    },
  );

  it('that one upstream refuses goes to the next with the same file', async () => {
    const { first, second, client } = media();
    first.always(POST, { status: 503, body: {} });
    const body = { model: 'two-scribes', file: await upload() };
    expect(await sdk(await client()).transcriptions.create(body)).toEqual(TRANSCRIPT);
    expect(second.only().parts.find(({ name }) => name === 'file')!.bytes).toEqual(wav());
  });

  it('whose client disconnects is cancelled, and charged, since the upstream has it', async () => {
    const { first, client, daemon } = media();
    const ann = await client();
    first.next(POST, { fault: 'silence' });
    const controller = new AbortController();
    const { signal } = controller;
    const request = sdk(ann).transcriptions.create(
      { model: 'scribe', file: await upload() },
      { signal },
    );
    const received = await first.received(POST);
    controller.abort();
    await expect(request).rejects.toThrow(APIUserAbortError);
    expect(await received.closed).toBe('cut');
    await expect.poll(() => ann.credits()).toMatchObject({ reserved: 0, spent: 2 });
    await expect.poll(() => readdirSync(join(daemon.data, 'spool'))).toEqual([]);
  });
});
