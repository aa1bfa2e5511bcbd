import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon, type TestDaemon } from '../../daemon.ts';
import { ROOT } from '../../oriel.ts';

type Body = Readonly<Record<string, unknown>>;

const tools = (name: string) => ({
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
  title: name,
});
const WEATHER = 'What is the weather in Paris? Use get_weather.';
const LONG = 'sandbox:repeat=300 Say it again.';

/** The same conversations in each format. */
function texts(): [name: string, path: string, body: Body][] {
  const chat = (content: string, more: Body = {}): Body => ({
    model: 'sandbox-chat',
    messages: [{ role: 'user', content }],
    ...more,
  });
  const parameters = tools('weather');
  const fn = { name: 'get_weather', parameters };
  const json = { name: 'answer', schema: parameters };
  const format = { type: 'json_schema', json_schema: json };
  const messages = { max_tokens: 2000 };
  const gemini = (text: string, more: Body = {}) => ({
    contents: [{ parts: [{ text }] }],
    ...more,
  });
  const either = (name: string, path: string, body: Body): [string, string, Body][] => [
    [name, path, body],
    [`${name}, streamed`, path, { ...body, stream: true }],
  ];
  const atGoogle = (name: string, body: Body): [string, string, Body][] => [
    [name, '/v1beta/models/sandbox-chat:generateContent', body],
    [`${name}, streamed`, '/v1beta/models/sandbox-chat:streamGenerateContent?alt=sse', body],
  ];
  return [
    ...either('chat', '/v1/chat/completions', chat('Hello')),
    ...either('chat, long', '/v1/chat/completions', chat(LONG)),
    ...either('chat, tools', '/v1/chat/completions', {
      ...chat(WEATHER),
      tools: [{ type: 'function', function: fn }],
    }),
    ...either('chat, three answers', '/v1/chat/completions', chat(LONG, { n: 3 })),
    ...either('chat, schema', '/v1/chat/completions', chat('Paris', { response_format: format })),
    ...either('chat, reasoning', '/v1/chat/completions', chat('Hi', { model: 'sandbox-reasoner' })),
    ...either('chat, failure', '/v1/chat/completions', chat('sandbox:fail=service_error')),
    ...either('chat, broken', '/v1/chat/completions', chat('sandbox:fail=midstream')),
    ...either('completions', '/v1/completions', { model: 'sandbox-chat', prompt: 'Hello' }),
    ...either('responses', '/v1/responses', {
      model: 'sandbox-reasoner',
      input: WEATHER,
      tools: [{ type: 'function', strict: false, ...fn }],
    }),
    ...either('responses, text', '/v1/responses', { model: 'sandbox-chat', input: 'Hello' }),
    ...either('responses, broken', '/v1/responses', {
      model: 'sandbox-chat',
      input: 'sandbox:fail=midstream',
    }),
    ...either('messages', '/v1/messages', {
      ...chat(WEATHER, messages),
      tools: [{ name: 'get_weather', input_schema: parameters }],
    }),
    ...either('messages, text', '/v1/messages', chat('Hello', messages)),
    ...either('messages, failure', '/v1/messages', chat('sandbox:fail=rate_limit', messages)),
    ...either('messages, refused', '/v1/messages', chat('Hi', { max_tokens: -1 })),
    ...atGoogle('gemini', gemini('Hello')),
    ...atGoogle('gemini, tools', gemini(WEATHER, { tools: [{ functionDeclarations: [fn] }] })),
    ['tokens of messages', '/v1/messages/count_tokens', chat('Hello')],
    ['tokens of gemini', '/v1beta/models/sandbox-chat:countTokens', gemini('Hello')],
    ['embeddings', '/v1/embeddings', { model: 'sandbox-embedding', input: ['a b', 'c'] }],
    [
      'embeddings, base64',
      '/v1/embeddings',
      { model: 'sandbox-embedding', input: 'a', encoding_format: 'base64', dimensions: 64 },
    ],
    ['moderation', '/v1/moderations', { model: 'sandbox-moderation', input: ['a', 'b'] }],
  ];
}

function media(): [name: string, path: string, body: Body][] {
  const image = (more: Body): Body => ({
    model: 'sandbox-image-any',
    prompt: 'a lighthouse at dusk',
    size: '96x64',
    response_format: 'b64_json',
    ...more,
  });
  const speech = (more: Body): Body => ({
    model: 'sandbox-audio',
    input: 'Hello there.',
    voice: 'alloy',
    response_format: 'wav',
    ...more,
  });
  return [
    ['images', '/v1/images/generations', image({ seed: 7 })],
    ['images, WebP', '/v1/images/generations', image({ output_format: 'webp' })],
    ['images, streamed', '/v1/images/generations', image({ stream: true })],
    ['images, waited for', '/v1/images/generations/sync', image({})],
    ['speech', '/v1/audio/speech', speech({})],
    ['speech, samples', '/v1/audio/speech', speech({ response_format: 'pcm' })],
    ['speech, events', '/v1/audio/speech', speech({ stream_format: 'sse' })],
  ];
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function answerOf(response: Response): Promise<Answer> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const isText = /json|text/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, body: bytes.toString(isText ? 'utf8' : 'base64') };
}

async function send(daemon: TestDaemon, path: string, body: Body): Promise<Answer> {
  return answerOf(await daemon.send(path, body));
}

async function sendForm(daemon: TestDaemon, path: string, fields: Body): Promise<Answer> {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof Blob) body.set(name, value, 'file');
    else body.set(name, String(value));
  }
  return answerOf(await daemon.request(path, { method: 'POST', body }));
}

/** The bytes of the file that a task makes. */
async function fileOf(daemon: TestDaemon, path: string, body: Body): Promise<Answer> {
  const { body: created } = await send(daemon, path, body);
  const { task_id: id } = JSON.parse(created) as { readonly task_id: string };
  for (;;) {
    const task = (await (await daemon.request(`/v1/tasks/${id}`)).json()) as {
      readonly status: string;
      readonly result: object | null;
    };
    const [url] = /http[^"]+/.exec(JSON.stringify(task.result)) ?? [];
    if (url !== undefined) return answerOf(await daemon.request(new URL(url).pathname));
    expect(['pending', 'processing']).toContain(task.status);
    await delay(20);
  }
}

/** Sends every request and reads its whole answer, by its name. */
async function answersOf(daemon: TestDaemon, atOnce: boolean): Promise<Record<string, Answer>> {
  const rows: [string, () => Promise<Answer>][] = [
    ...[...texts(), ...media()].map(([name, path, body]): [string, () => Promise<Answer>] => [
      name,
      () => send(daemon, path, body),
    ]),
    [
      'video',
      () =>
        fileOf(daemon, '/v1/videos/generations', {
          model: 'sandbox-video',
          prompt: 'waves',
          duration: 1,
          size: '64x48',
        }),
    ],
    [
      'sound',
      () => fileOf(daemon, '/v1/audio/generations', { model: 'sandbox-audio', prompt: 'waves' }),
    ],
    ...['json', 'verbose_json', 'srt', 'vtt', 'text'].map(
      (response_format): [string, () => Promise<Answer>] => [
        `transcription as ${response_format}`,
        async () => {
          const speech = await send(daemon, '/v1/audio/speech', {
            model: 'sandbox-audio',
            input: 'Hello.',
            voice: 'alloy',
            response_format: 'wav',
          });
          const file = new Blob([Buffer.from(speech.body, 'base64')], { type: 'audio/wav' });
          const fields = { model: 'sandbox-transcription', file, response_format };
          return sendForm(daemon, '/v1/audio/transcriptions', fields);
        },
      ],
    ),
    [
      'edit',
      async () => {
        const image = await send(daemon, '/v1/images/generations', media()[0]![2]);
        const { data } = JSON.parse(image.body) as { data: { b64_json: string }[] };
        const file = new Blob([Buffer.from(data[0]!.b64_json, 'base64')], { type: 'image/png' });
        const fields = { model: 'sandbox-image-any', prompt: 'fog', response_format: 'b64_json' };
        return sendForm(daemon, '/v1/images/edits', { ...fields, image: file });
      },
    ],
  ];
  if (atOnce) {
    const answers = await Promise.all(
      rows.toReversed().map(async ([name, ask]) => [name, await ask()] as const),
    );
    return Object.fromEntries(answers);
  }
  const answers: Record<string, Answer> = {};
  for (const [name, ask] of rows) answers[name] = await ask();
  return answers;
}

/** Identifiers that Oriel makes. */
const IDS =
  /"(?:id|item_id|responseId|request_id)":"(?:chatcmpl-|cmpl-|(?:resp|msg|fc|rs|response|req|embd)_)\w+"/;
const TIMES = /"(?:created|created_at|completed_at)":\d+/g;

/** Without identifiers and times, which differ. */
function masked({ status, body }: Answer): Answer {
  return { status, body: body.replace(new RegExp(IDS, 'g'), '"id"').replace(TIMES, '"time"') };
}

/** Compares one by one, so that a difference names its request. */
function expectEqual(
  answers: Readonly<Record<string, Answer>>,
  expected: Readonly<Record<string, Answer>>,
): void {
  for (const [name, answer] of Object.entries(answers)) {
    expect(answer, name).toEqual(expected[name]);
  }
}

const mask = (answers: Readonly<Record<string, Answer>>) =>
  Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, masked(answer)]));

const CONFIG = { owner: { credits: 1_000_000 }, limits: { paid: { rpm: 1_000_000 } } };

describe('two daemons with --deterministic', () => {
  const args = ['--deterministic'];
  const first = sharedDaemon({ config: CONFIG, args });
  // It has a model of the first one too.
  const { providers, models } = JSON.parse(readFileSync(join(ROOT, 'config/sandbox.json'), 'utf8'));
  const second = sharedDaemon({
    args,
    get config() {
      const provider = { kind: 'openai', baseUrl: `${first().url}/v1`, apiKey: OWNER_KEY };
      const route = { provider: 'far', model: 'sandbox-reasoner', dialect: 'chat' };
      const reasoner = { type: 'text', routes: [route] };
      const catalog = {
        providers: { ...providers, far: provider },
        models: { ...models, reasoner },
      };
      return { ...CONFIG, ...catalog };
    },
  });
  const without = sharedDaemon({ config: CONFIG });

  it('answer equal requests by equal bytes, however many are under way, and one without it by equal bytes but for identifiers and times', async () => {
    const answers = await answersOf(first(), false);
    const refused = Object.keys(answers).filter((name) => answers[name]!.status >= 400);
    expect(refused.filter((name) => !/failure|broken|refused/.test(name))).toEqual([]);
    expectEqual(await answersOf(second(), true), answers);
    expectEqual(mask(await answersOf(without(), true)), mask(answers));
    const ids = Object.values(answers).flatMap(({ body }) => IDS.exec(body)?.[0] ?? []);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('keep random names for tasks and requests that clients have named', async () => {
    const body = { model: 'sandbox-audio', prompt: 'waves' };
    const created = [1, 2].map(() => send(first(), '/v1/audio/generations', body));
    const [one, other] = await Promise.all(created);
    expect(one!.body).toMatch(/"task_id":"task_/);
    expect(one).not.toEqual(other);
    const named = { method: 'POST', headers: { 'x-request-id': 'mine' }, body: '{}' };
    const { headers } = await first().request('/v1/messages', named);
    expect(headers.get('x-request-id')).toBe('mine');
  });

  it('translate answers of a provider by identifiers of their own requests', async () => {
    // So many that they share connections to the provider, and so long that texts come after the first chunk.
    const rows = Array.from({ length: 24 }, (_, index): Body => {
      const input = `sandbox:delay=${index * 3}ms sandbox:repeat=${60 + index}`;
      return { model: 'reasoner', input, stream: true };
    });
    const ask = (body: Body) => send(second(), '/v1/responses', body);
    const alone: Answer[] = [];
    for (const body of rows) alone.push(await ask(body));
    expect(alone[0]!.body).toContain('"type":"response.completed"');
    for (let round = 0; round < 2; round += 1) {
      expect(await Promise.all(rows.map(ask))).toEqual(alone);
    }
  });
});
