import { invalid } from '../../../schema/invalid.ts';
import { isObject, objectOf } from '../../../schema/untrusted.ts';
import { type FormField, formOf } from '../../../upstream/form.ts';
import { jobIdOf, type PollDelay, pollJob } from '../../provider/polling.ts';
import type { MediaJob, MediaOutput, ProviderContext } from '../../provider/provider.ts';
import {
  asBillable,
  invalidResponse,
  type Json,
  type ProviderClient,
  type RequestBody,
  withProviderClient,
} from '../../provider/provider-client.ts';
import type { VideoTaskRequest } from '../../task/task-request.ts';

const MAX_RESPONSE_BYTES = 1024 * 1024;

/** Sizes for ratios: the API accepts pixels only. */
const SIZE_BY_RATIO = new Map([
  ['16:9', '1280x720'],
  ['9:16', '720x1280'],
]);

/** Submits a remote job, or resumes the saved one, and polls it until the video is done. */
export function makeVideo(
  job: MediaJob<VideoTaskRequest>,
  context: ProviderContext,
  delay: PollDelay,
): Promise<MediaOutput> {
  return withProviderClient(context, async (client) => {
    const savedId = jobIdOf(objectOf(context.savedState)['id']);
    const id = savedId ?? (await submit(job, context, client));
    const path = `/videos/${encodeURIComponent(id)}`;
    await pollJob({
      client,
      context,
      path,
      delay,
      maxBytes: MAX_RESPONSE_BYTES,
      read: (json) => isDone(json, client),
      onFailed: () => context.saveState(null),
    });
    const url = client.url(`${path}/content`);
    return { files: [{ url, needsKey: true }], usage: null };
  });
}

async function submit(
  job: MediaJob<VideoTaskRequest>,
  context: ProviderContext,
  client: ProviderClient,
): Promise<string> {
  const { json } = await client.sendForJson({
    path: '/videos',
    body: submissionBody(job, context.model),
    maxBytes: MAX_RESPONSE_BYTES,
    billable: true,
  });
  const id = jobIdOf(json['id']);
  if (id === null) {
    throw isObject(json['error'])
      ? client.failureOf(json)
      : asBillable(invalidResponse('no name of a job'));
  }
  try {
    await context.saveState({ id });
  } catch (error) {
    // The job exists; another attempt would submit a second one.
    throw asBillable(error);
  }
  return id;
}

function submissionBody(
  { request, inputs }: MediaJob<VideoTaskRequest>,
  model: string,
): RequestBody {
  if (inputs.length > 1) {
    throw invalid('input_images', 'this model takes one reference image', 'unsupported_value');
  }
  const size = sizeOf(request.size);
  return {
    form: formOf([
      ['model', model],
      ['prompt', request.prompt],
      ['seconds', String(request.duration)],
      ...(size === null ? [] : [['size', size] as const]),
      ...inputs.map((input): FormField => ['input_reference', input]),
    ]),
  };
}

function sizeOf(size: string | null): string | null {
  if (size === null || size === 'auto') return null;
  const pixels = /^\d+x\d+$/.test(size) ? size : SIZE_BY_RATIO.get(size);
  if (pixels !== undefined) return pixels;
  const message = 'this model makes videos of 16:9, 9:16 or WIDTHxHEIGHT pixels';
  throw invalid('size', message, 'unsupported_value');
}

/** True once a remote job is done; null before. @throws its failure */
function isDone(json: Json, client: ProviderClient): true | null {
  switch (json['status']) {
    case 'completed':
      return true;
    case 'failed':
    case 'cancelled':
      throw client.failureOf(json['error']);
    default:
      return null;
  }
}
