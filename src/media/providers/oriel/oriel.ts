import { createHash } from 'node:crypto';
import { countOf, isObject, listOf, objectOf } from '../../../schema/untrusted.ts';
import { editBody, imagePathOf, moderate, transcribe } from '../../provider/openai-requests.ts';
import { filesAt, readImageResult, usageOf } from '../../provider/output-files.ts';
import { jobIdOf, type PollDelay, pollDelay, pollJob } from '../../provider/polling.ts';
import type {
  InputFile,
  MediaJob,
  MediaOutput,
  MediaProvider,
  ProviderContext,
} from '../../provider/provider.ts';
import { ADVICE, imageParameters } from '../../provider/provider.ts';
import {
  asBillable,
  type Json,
  type ProviderClient,
  type RequestBody,
  withProviderClient,
} from '../../provider/provider-client.ts';
import type {
  AudioTaskRequest,
  ImageTaskRequest,
  VideoTaskRequest,
} from '../../task/task-request.ts';

/** Bytes of a response, and of each image in it as base64. */
const MAX_RESPONSE_BYTES = 1024 * 1024;
const MAX_BYTES_PER_IMAGE = 48 * 1024 * 1024;

/** Files of one video or audio task. */
const MAX_FILES = 10;

/** A task at the other gateway: its request, and how its result is read. */
interface RemoteJob {
  readonly path: string;
  readonly body: RequestBody;
  /** Bytes that a response with the result may have. */
  readonly maxBytes: number;
  /** @throws Failure where the result is unusable */
  readonly read: (result: Json) => MediaOutput;
}

interface SavedState {
  /** The remote task; null where none is open. */
  readonly taskId: string | null;
  /** Remote tasks that failed: their idempotency keys would return the failed task again. */
  readonly failed: number;
}

/** Another gateway with Oriel's own interface, which runs jobs as tasks. */
export function orielProvider(delay: PollDelay = pollDelay): MediaProvider {
  const run = (jobOf: (client: ProviderClient) => RemoteJob, context: ProviderContext) =>
    withProviderClient(context, (client) => runRemote(jobOf(client), { client, context, delay }));
  return {
    imageFields: null,
    audioFormats: null,
    advice: { image: ADVICE, video: ADVICE, audio: ADVICE },
    makeImages: (job, context) => run((client) => imageJob(job, context.model, client), context),
    makeVideo: (job, context) => run(() => videoJob(job, context.model), context),
    makeAudio: (job, context) => run(() => audioJob(job, context.model), context),
    moderate,
    transcribe,
  };
}

interface RunOptions {
  readonly client: ProviderClient;
  readonly context: ProviderContext;
  readonly delay: PollDelay;
}

async function runRemote(job: RemoteJob, options: RunOptions): Promise<MediaOutput> {
  const { client, context } = options;
  const { taskId, failed } = savedStateOf(context);
  if (taskId !== null) return waitFor(taskId, job, options);
  // The idempotency key makes a repetition after a lost connection harmless.
  const { json } = await client.sendForJson({
    path: job.path,
    body: job.body,
    headers: {
      'idempotency-key': idempotencyKeyOf(context, failed),
      // Whatever the setting of the key there is.
      prefer: 'respond-async',
    },
    maxBytes: job.maxBytes,
  });
  if (isObject(json['error'])) throw client.failureOf(json);
  const id = jobIdOf(json['task_id']);
  if (id === null) return readResult(job, json);
  const state: SavedState = { taskId: id, failed };
  await context.saveState(state);
  return waitFor(id, job, options);
}

/** Hashed, since model names may have any length and characters that headers do not allow. */
function idempotencyKeyOf({ idempotencyKey }: ProviderContext, failed: number): string {
  return createHash('sha256').update(`${idempotencyKey} ${failed}`).digest('base64url');
}

function savedStateOf({ savedState }: ProviderContext): SavedState {
  const { taskId, failed } = objectOf(savedState);
  return { taskId: jobIdOf(taskId), failed: countOf(failed) ?? 0 };
}

function waitFor(taskId: string, job: RemoteJob, options: RunOptions): Promise<MediaOutput> {
  const { client, context, delay } = options;
  const stateAfterFailure: SavedState = { taskId: null, failed: savedStateOf(context).failed + 1 };
  return pollJob({
    client,
    context,
    // Not the response's poll_url: the key goes to the configured origin only.
    path: `/tasks/${encodeURIComponent(taskId)}`,
    delay,
    maxBytes: job.maxBytes,
    read: (record) => readTask(record, job, client),
    onFailed: () => context.saveState(stateAfterFailure),
  });
}

function readTask(record: Json, job: RemoteJob, client: ProviderClient): MediaOutput | null {
  switch (record['status']) {
    case 'completed':
      return readResult(job, objectOf(record['result']));
    case 'failed':
      throw client.failureOf({ error: record['error'] });
    case 'expired':
      throw client.failureOf({ type: 'timeout' });
    default:
      return null;
  }
}

function readResult(job: RemoteJob, result: Json): MediaOutput {
  try {
    return job.read(result);
  } catch (error) {
    throw asBillable(error);
  }
}

function imageJob(
  job: MediaJob<ImageTaskRequest>,
  model: string,
  { settings }: ProviderClient,
): RemoteJob {
  const { request, inputs } = job;
  const { prompt, seed, n } = request;
  const parameters = { model, prompt, ...imageParameters(request), ...(seed !== null && { seed }) };
  return {
    path: imagePathOf(request),
    body: request.edit
      ? editBody(job, parameters, 'image')
      : { json: { ...parameters, ...inputImages(inputs) } },
    maxBytes: n * MAX_BYTES_PER_IMAGE,
    read: (result) => readImageResult(result, { maxImages: n, apiKey: settings.apiKey }),
  };
}

function videoJob({ request, inputs }: MediaJob<VideoTaskRequest>, model: string): RemoteJob {
  const { prompt, size, duration, seed, user } = request;
  const parameters = withoutNulls({ prompt, size, duration, seed, user });
  return {
    path: '/videos/generations',
    body: { json: { model, ...parameters, ...inputImages(inputs) } },
    maxBytes: MAX_RESPONSE_BYTES,
    read: urlReader('video_url'),
  };
}

function audioJob({ request }: MediaJob<AudioTaskRequest>, model: string): RemoteJob {
  const { type: _, ...fields } = request;
  return {
    path: '/audio/generations',
    body: { json: { model, ...withoutNulls(fields) } },
    maxBytes: MAX_RESPONSE_BYTES,
    read: urlReader('audio_url'),
  };
}

/** Reads the files of a video or audio result, the primary one first. */
function urlReader(primary: 'video_url' | 'audio_url'): RemoteJob['read'] {
  return (result) => ({
    files: filesAt(
      [result[primary], ...listOf(result['urls'])].filter((url) => url !== undefined),
      MAX_FILES,
    ),
    usage: usageOf(result['usage']),
  });
}

function withoutNulls(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Inputs as data: URLs, since the other gateway may not reach this server's asset URLs. */
function inputImages(inputs: readonly InputFile[]): Json {
  if (inputs.length === 0) return {};
  const urls = inputs.map(({ bytes, mediaType }) => {
    const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
    return `data:${mediaType};base64,${data}`;
  });
  return { input_images: urls };
}
