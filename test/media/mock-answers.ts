import { mp4, png, wav } from './media-files.ts';
import { spoken, transcribed } from './mock-audio.ts';
import type { Answer, Jobs, Received } from './mock-request.ts';

export type Interface = 'openai' | 'oriel';

/** One job of a provider: how it is to go, and how often it has been looked at. */
interface Job extends Jobs {
  readonly id: string;
  readonly kind: 'image' | 'video' | 'audio';
  readonly result: object;
  seen: number;
}

/** All that a provider has made. */
export interface Shop {
  readonly speaks: Interface;
  origin: string;
  jobs: Jobs;
  imagesAs: 'b64_json' | 'url';
  readonly made: Map<string, Job>;
  /** Which job an idempotency key gave. */
  readonly keys: Map<string, Job>;
  readonly files: Map<string, { readonly type: string; readonly bytes: Buffer }>;
}

export function newShop(speaks: Interface, origin = ''): Shop {
  return {
    speaks,
    origin,
    jobs: { looks: 1, retryAfter: 0 },
    imagesAs: speaks === 'openai' ? 'b64_json' : 'url',
    made: new Map(),
    keys: new Map(),
    files: new Map(),
  };
}

const USAGE = {
  input_tokens: 50,
  output_tokens: 400,
  total_tokens: 450,
  input_tokens_details: { text_tokens: 10, image_tokens: 40, cached_tokens: 20 },
};

const NOT_FOUND: Answer = {
  status: 404,
  body: { error: { message: 'Not found', type: 'invalid_request_error', param: null, code: null } },
};

/** What a provider that means well says. */
export function answerAs(shop: Shop, request: Received): Answer {
  const { method, path } = request;
  const [, room = '', id = ''] = path.split('/');
  if (method === 'GET') {
    const job = shop.made.get(decodeURIComponent(id));
    if (room === 'files') return fileOf(shop, id);
    if (job === undefined) return NOT_FOUND;
    if (room === 'tasks' && shop.speaks === 'oriel') return looked(job, recordOf(job));
    if (room !== 'videos' || shop.speaks !== 'openai') return NOT_FOUND;
    if (path.endsWith('/content')) return { type: 'video/mp4', body: mp4() };
    return looked(job, videoOf(job, isDone(job)));
  }
  switch (`${shop.speaks} ${path}`) {
    case 'openai /images/generations':
    case 'openai /images/edits':
    case 'openai /images/variations':
      return { body: imagesFor(shop, request) };
    case 'openai /videos':
      return { body: videoOf(newJob(shop, request, 'video', {}), false) };
    case 'openai /audio/speech':
      return spoken(request);
    case 'openai /audio/transcriptions':
    case 'oriel /audio/transcriptions':
    case 'openai /audio/translations':
    case 'oriel /audio/translations':
      return transcribed(request);
    case 'openai /moderations':
    case 'oriel /moderations':
      return { body: moderationOf(request) };
    case 'oriel /images/generations':
      return taken(newJob(shop, request, 'image', imagesFor(shop, request)));
    case 'oriel /images/edits':
    case 'oriel /images/variations': {
      const job = newJob(shop, request, 'image', imagesFor(shop, request));
      return shop.jobs.looks === 0 ? { body: job.result } : taken(job);
    }
    case 'oriel /videos/generations': {
      const url = keep(shop, 'video/mp4', mp4());
      return taken(
        newJob(shop, request, 'video', { status: 'completed', video_url: url, urls: [url] }),
      );
    }
    case 'oriel /audio/generations': {
      const url = keep(shop, 'audio/wav', wav());
      return taken(newJob(shop, request, 'audio', { audio_url: url, urls: [url] }));
    }
    default:
      return NOT_FOUND;
  }
}

function fieldsOf({ json, parts }: Received): Readonly<Record<string, unknown>> {
  if (parts.length === 0) return (json ?? {}) as Record<string, unknown>;
  return Object.fromEntries(parts.map(({ name, value }) => [name, value]));
}

function newJob(shop: Shop, request: Received, kind: Job['kind'], result: object): Job {
  const key = request.headers['idempotency-key'];
  const before = typeof key === 'string' ? shop.keys.get(key) : undefined;
  if (before !== undefined) return before;
  const id = `${shop.speaks === 'openai' ? 'video' : 'task'}_${shop.made.size + 1}`;
  const job: Job = { ...shop.jobs, id, kind, result, seen: 0 };
  shop.made.set(id, job);
  if (typeof key === 'string') shop.keys.set(key, job);
  return job;
}

function looked(job: Job, body: object): Answer {
  job.seen += 1;
  const headers = job.retryAfter === undefined ? {} : { 'retry-after': String(job.retryAfter) };
  return { headers, body };
}

const isDone = (job: Job): boolean => job.seen >= job.looks;

function videoOf(job: Job, done: boolean): object {
  const end = job.error ? 'failed' : 'completed';
  return {
    id: job.id,
    object: 'video',
    model: 'any',
    status: done ? end : job.seen === 0 ? 'queued' : 'in_progress',
    progress: done ? 100 : 0,
    created_at: 1_700_000_000,
    completed_at: done ? 1_700_000_100 : null,
    expires_at: null,
    prompt: null,
    size: '1280x720',
    seconds: '4',
    remixed_from_video_id: null,
    error: done ? (job.error ?? null) : null,
  };
}

function recordOf(job: Job): object {
  const end = job.expires ? 'expired' : job.error ? 'failed' : 'completed';
  const status = isDone(job) ? end : 'processing';
  return {
    task_id: job.id,
    status,
    model: 'any',
    type: job.kind,
    result: status === 'completed' ? job.result : null,
    error: status === 'failed' || status === 'expired' ? (job.error ?? null) : null,
  };
}

function taken({ id }: Job): Answer {
  const body = { task_id: id, status: 'pending', model: 'any', poll_url: `/v1/tasks/${id}` };
  return { status: 202, body };
}

/** As many images as are asked for, of the size asked for; each is another picture. */
function imagesFor(shop: Shop, request: Received): object {
  const fields = fieldsOf(request);
  const [width = 64, height = 64] = /^\d+x\d+$/.test(String(fields['size']))
    ? String(fields['size']).split('x').map(Number)
    : [];
  const data = Array.from({ length: Number(fields['n'] ?? 1) }, (_, index) => {
    const bytes = png(width, height, index);
    const place =
      shop.imagesAs === 'url'
        ? { url: keep(shop, 'image/png', bytes) }
        : { b64_json: bytes.toString('base64') };
    return { ...place, revised_prompt: `${String(fields['prompt'])}, revised` };
  });
  return { created: 1_700_000_000, data, usage: USAGE };
}

function keep({ files, origin }: Shop, type: string, bytes: Buffer): string {
  const name = `file-${files.size + 1}`;
  files.set(name, { type, bytes });
  return `${origin}/files/${name}`;
}

function fileOf({ files }: Shop, name: string): Answer {
  const file = files.get(name);
  return file === undefined ? NOT_FOUND : { type: file.type, body: file.bytes };
}

/** Texts that say `flag` are flagged. */
function moderationOf({ json }: Received): object {
  const { input } = json as { input: unknown };
  const texts = Array.isArray(input) && typeof input[0] === 'string' ? input : [input];
  const results = texts.map((text) => {
    const flagged = JSON.stringify(text).includes('flag');
    return {
      flagged,
      categories: { violence: flagged, illicit: null },
      category_scores: { violence: flagged ? 0.9 : 0.001, illicit: null },
      category_applied_input_types: { violence: ['text'] },
    };
  });
  return { id: 'modr-1', model: 'any', results };
}
