import sharp from 'sharp';
import { png } from '../../media/media-files.ts';
import { endOf, eventsOf } from '../answer.ts';
import { type Answer, type FormPart, form, jsonOf } from '../client.ts';
import { MEDIA_COSTS, STEADY_COST } from '../configuration.ts';
import type { Random } from '../random.ts';
import { sha256, type Tenant } from './tenant.ts';

/** One kind of request of well-behaved tenants. */
export interface Work {
  /** Name of its group of latencies. */
  readonly group: string;
  /** Frequency, relative to the others. */
  readonly weight: number;
  /** Size class: latencies of small requests are limited, with another limit where images are decoded. */
  readonly size: 'small' | 'small image' | 'large';
  run(tenant: Tenant, random: Random): Promise<void>;
}

export const DIALECTS = ['chat', 'responses', 'messages'] as const;
type Dialect = (typeof DIALECTS)[number];

export const PATHS = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
} as const;

/** A minimal request body in each format. */
export function textBody(
  dialect: Dialect,
  model: string,
  prompt: string,
  more: object = {},
): object {
  if (dialect === 'responses') return { model, input: prompt, max_output_tokens: 500, ...more };
  return { model, messages: [{ role: 'user', content: prompt }], max_tokens: 500, ...more };
}

/** Path and body of a text request. Gemini has model and streaming in the path. */
function textRequest(dialect: Dialect | 'gemini', model: string, prompt: string, stream: boolean) {
  if (dialect !== 'gemini') {
    return { path: PATHS[dialect], body: textBody(dialect, model, prompt, { stream }) };
  }
  const verb = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  const contents = [{ role: 'user', parts: [{ text: prompt }] }];
  const body = { contents, generationConfig: { maxOutputTokens: 500 } };
  return { path: `/v1beta/models/${model}:${verb}`, body };
}

function text(dialect: Dialect | 'gemini', stream: boolean): Work {
  const group = `text ${dialect}${stream ? ' streamed' : ''}`;
  return {
    group,
    weight: 3,
    size: 'small',
    async run(tenant, random) {
      const model = `to-${random.pick(DIALECTS)}`;
      const { path, body } = textRequest(dialect, model, `Hello ${tenant.next()}`, stream);
      const answer = await tenant.send(group, { method: 'POST', path, body }, STEADY_COST);
      if (answer === null) return;
      if (stream) {
        const events = eventsOf(answer.body.toString());
        const end = events === null ? 'none' : endOf(path, events);
        if (end !== 'complete') {
          tenant.uncertain += STEADY_COST;
          const now = performance.now();
          if (tenant.context.outages.scopesBetween(now - answer.total, now).size === 0) {
            tenant.violates(
              'streams have a proper end',
              `${group}: ${answer.body.subarray(-300).toString()}`,
            );
          }
          return;
        }
      } else if (!answer.body.includes('Hello from the upstream')) {
        tenant.violates(
          'good requests succeed',
          `${group}: ${answer.body.subarray(0, 300).toString()}`,
        );
      }
      tenant.spent += STEADY_COST;
    },
  };
}

function lookup(
  group: string,
  path: (tenant: Tenant, random: Random) => string | null,
  weight = 3,
): Work {
  return {
    group,
    weight,
    size: 'small',
    async run(tenant, random) {
      const where = path(tenant, random);
      if (where !== null) await tenant.send(group, { path: where });
    },
  };
}

function task(type: 'image' | 'video' | 'audio', weight: number): Work {
  const group = `task ${type}`;
  return {
    group,
    weight,
    size: 'small',
    async run(tenant, random) {
      const number = tenant.next();
      const hasCallback = random.chance(0.5);
      const references = [...tenant.uploads.keys()].slice(-3);
      const body = {
        model: type,
        prompt: `a quiet lake ${number}`,
        ...(type === 'image' && { size: '64x64' }),
        ...(type === 'image' &&
          references.length > 0 &&
          random.chance(0.3) && { input_images: [random.pick(references)] }),
        ...(type !== 'image' && { duration: 1 }),
        ...(type === 'video' && { size: '64x64' }),
        ...(hasCallback && { callback_url: tenant.context.callbacks }),
      };
      const path = `/v1/${type}${type === 'audio' ? '' : 's'}/generations`;
      const headers = { 'idempotency-key': `${tenant.name}-${number}` };
      const answer = await tenant.send(group, { method: 'POST', path, body, headers });
      if (answer === null) return;
      const { task_id: id } = (jsonOf(answer) ?? {}) as { task_id?: string };
      if (answer.status !== 202 || id === undefined) {
        tenant.violates('good requests succeed', `${group}: ${answer.status} without a task`);
        return;
      }
      tenant.tasks.push({ id, type, each: MEDIA_COSTS[type], hasCallback });
    },
  };
}

/** A synchronous image request. Its task is compared by the list of tasks at the end. */
function synchronous(group: string, sent: (tenant: Tenant) => Promise<Sent>): Work {
  return {
    group,
    weight: 1,
    size: 'large',
    async run(tenant) {
      const number = tenant.next();
      const { headers, ...rest } = await sent(tenant);
      const keyed = { ...headers, 'idempotency-key': `${tenant.name}-${number}` };
      const answer = await tenant.send(group, { method: 'POST', ...rest, headers: keyed });
      if (answer === null) return;
      const { data } = (jsonOf(answer) ?? {}) as { data?: { url?: string }[] };
      if (answer.status === 200 && data?.[0]?.url === undefined) {
        tenant.violates(
          'good requests succeed',
          `${group}: ${answer.body.subarray(0, 200).toString()}`,
        );
      }
    },
  };
}

interface Sent {
  readonly path: string;
  readonly body: object | Buffer;
  readonly headers?: Record<string, string>;
}

const photograph = sharp({
  create: {
    width: 320,
    height: 240,
    channels: 3,
    background: 'black',
    noise: { type: 'gaussian', mean: 128, sigma: 40 },
  },
})
  .jpeg({ quality: 80 })
  .toBuffer();

const BATCHES: readonly { name: string; fields: Record<string, string>; gives: 'zip' | 'json' }[] =
  [
    { name: 'batch-convert-images', fields: { format: 'webp' }, gives: 'zip' },
    { name: 'batch-resize-images', fields: { width: '80' }, gives: 'zip' },
    {
      name: 'batch-crop-images',
      fields: { left: '1', top: '1', width: '8', height: '8' },
      gives: 'zip',
    },
    { name: 'batch-rotate-images', fields: { angle: '90' }, gives: 'zip' },
    { name: 'batch-image-metadata', fields: {}, gives: 'json' },
    { name: 'batch-color-palette', fields: { count: '3' }, gives: 'json' },
    { name: 'batch-image-hash', fields: {}, gives: 'json' },
  ];

function batch({ name, fields, gives }: (typeof BATCHES)[number]): Work {
  const group = name.replace('batch-', 'batch ');
  return {
    group,
    weight: 1,
    size: gives === 'json' ? 'small image' : 'large',
    async run(tenant, random) {
      const files = [await photograph, png(16, 16, random.below(256))];
      const parts: FormPart[] = [
        ...Object.entries(fields).map(([field, value]) => ({ name: field, value })),
        ...files.map((value, index) => ({
          name: 'files',
          value,
          filename: `ein Bild ${index}.${index === 0 ? 'jpg' : 'png'}`,
          type: index === 0 ? 'image/jpeg' : 'image/png',
        })),
      ];
      const path = `/api/free/${name}`;
      const answer = await tenant.send(group, { method: 'POST', path, ...form(parts) });
      if (answer === null) return;
      const fault = gives === 'zip' ? zipFault(answer) : jsonFault(name, answer, files);
      const now = performance.now();
      const excused = tenant.context.outages.scopesBetween(now - answer.total, now).size > 0;
      if (fault !== null && !excused)
        tenant.violates('batches have the requested results', `${group}: ${fault}`);
    },
  };
}

function zipFault({ body }: Answer): string | null {
  const isZip = body.subarray(0, 2).toString() === 'PK';
  return isZip && body.includes('manifest.json') && !body.includes('"failed": 1')
    ? null
    : 'no whole ZIP';
}

function jsonFault(name: string, answer: Answer, files: readonly Buffer[]): string | null {
  const { summary, results } = (jsonOf(answer) ?? {}) as {
    summary?: { succeeded?: number };
    results?: { data?: { sha256?: string } }[];
  };
  if (summary?.succeeded !== files.length) return answer.body.subarray(0, 400).toString();
  if (!name.endsWith('hash')) return null;
  const wrong = files.some((file, index) => results?.[index]?.data?.sha256 !== sha256(file));
  return wrong ? 'another SHA-256' : null;
}

const upload: Work = {
  group: 'upload',
  weight: 2,
  size: 'small image',
  async run(tenant, random) {
    const value = png(8 + random.below(40), 8 + random.below(40), random.below(256));
    const parts = [{ name: 'file', value, filename: 'a.png', type: 'image/png' }];
    const path = '/v1/images/upload';
    const answer = await tenant.send('upload', { method: 'POST', path, ...form(parts) });
    if (answer === null) return;
    const { url } = (jsonOf(answer) ?? {}) as { url?: string };
    if (url === undefined) tenant.violates('good requests succeed', 'an upload without url');
    else tenant.uploads.set(url, sha256(value));
  },
};

const download: Work = {
  group: 'download',
  weight: 3,
  size: 'small',
  async run(tenant, random) {
    const known = [...tenant.uploads.entries()];
    if (known.length === 0) return;
    const [url, digest] = random.pick(known);
    const answer = await tenant.send('download', { path: new URL(url).pathname });
    if (answer !== null && sha256(answer.body) !== digest) {
      tenant.violates('uploads are read as they were written', url);
    }
  },
};

const moderation: Work = {
  group: 'moderation',
  weight: 2,
  size: 'small',
  async run(tenant) {
    const body = { model: 'moderation', input: `a picnic ${tenant.next()}` };
    const cost = MEDIA_COSTS.moderation;
    const path = '/v1/moderations';
    const answer = await tenant.send('moderation', { method: 'POST', path, body }, cost);
    if (answer !== null) tenant.spent += cost;
  },
};

export const GOOD_WORK: readonly Work[] = [
  text('chat', false),
  text('chat', true),
  text('responses', false),
  text('responses', true),
  text('messages', false),
  text('messages', true),
  text('gemini', false),
  text('gemini', true),
  lookup(
    'catalog',
    (_, random) => random.pick(['/v1/models', '/v1/models/to-chat', '/openapi.json']),
    2,
  ),
  lookup('account', (_, random) =>
    random.pick(['', '/credits', '/usage', '/usage?by=model']).replace(/^/, '/v1/account'),
  ),
  lookup('task lookup', ({ tasks }, random) =>
    tasks.length === 0 ? null : `/v1/tasks/${random.pick(tasks).id}`,
  ),
  lookup(
    'task list',
    (_, random) => random.pick(['/v1/tasks', '/v1/tasks?status=completed&limit=5']),
    2,
  ),
  task('image', 3),
  task('video', 1),
  task('audio', 1),
  synchronous('image, waited for', async (tenant) => ({
    path: '/v1/images/generations/sync',
    body: { model: 'image', prompt: `a harbour ${tenant.next()}`, size: '64x64' },
  })),
  synchronous('edit', async (tenant) => ({
    path: '/v1/images/edits',
    ...form([
      { name: 'model', value: 'image' },
      { name: 'prompt', value: `make it evening ${tenant.next()}` },
      { name: 'size', value: '64x64' },
      { name: 'image', value: png(32, 32, 7), filename: 'a.png', type: 'image/png' },
    ]),
  })),
  upload,
  download,
  moderation,
  ...BATCHES.map(batch),
];

export function someWork(random: Random, works: readonly Work[] = GOOD_WORK): Work {
  let left = random.below(works.reduce((sum, { weight }) => sum + weight, 0));
  for (const work of works) {
    left -= work.weight;
    if (left < 0) return work;
  }
  return works[0]!;
}
