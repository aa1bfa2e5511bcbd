import type {
  InputFile,
  MediaJob,
  MediaOutput,
  MediaProvider,
  ProviderContext,
} from '../../../src/media/provider/provider.ts';
import { sandboxProvider } from '../../../src/media/providers/sandbox/sandbox.ts';
import type {
  AudioTaskRequest,
  ImageTaskRequest,
  TaskRequest,
  VideoTaskRequest,
} from '../../../src/media/task/task-request.ts';
import { inlinePool } from '../../../src/operations/pool/pool.ts';
import { TextThreads } from '../../../src/threads/text-threads.ts';
import { UpstreamClient } from '../../../src/upstream/client.ts';

const PROMPTED = { prompt: 'a lighthouse at dusk', seed: null, user: null };

const IMAGE: ImageTaskRequest = {
  ...PROMPTED,
  type: 'image',
  edit: false,
  n: 1,
  size: '64x48',
  native: false,
  quality: null,
  inputs: [],
  mask: null,
};
const VIDEO: VideoTaskRequest = {
  ...PROMPTED,
  type: 'video',
  size: '64x48',
  duration: 2,
  inputs: [],
};
const AUDIO: AudioTaskRequest = {
  ...PROMPTED,
  type: 'audio',
  voice: null,
  format: null,
  duration: 1,
};

interface Files {
  readonly inputs?: readonly InputFile[];
  readonly mask?: InputFile;
}

export function inputFile(bytes: Uint8Array, name = 'input-1'): InputFile {
  return { bytes, mediaType: 'image/png', filename: `${name}.png` };
}

export async function context(
  model: string,
  signal = new AbortController().signal,
): Promise<ProviderContext> {
  return {
    settings: { kind: 'sandbox', concurrency: 8 },
    model,
    idempotencyKey: 'task_1',
    upstream: new UpstreamClient(),
    pool: await inlinePool(1),
    textThreads: new TextThreads(1),
    timeouts: { connect: 60_000, firstByte: 60_000, idle: 60_000, total: 60_000 },
    signal,
    savedState: null,
    saveState: () => Promise.resolve(),
    beforeBillableRequest: () => Promise.resolve(),
  };
}

const jobOf = <Request extends TaskRequest>(
  request: Request,
  { inputs = [], mask }: Files,
): MediaJob<Request> => ({
  request,
  inputs,
  mask: mask ?? null,
});

export async function images(more: Partial<ImageTaskRequest> = {}, files: Files = {}) {
  const job = jobOf({ ...IMAGE, ...more }, files);
  return bytesOf(await sandboxProvider.makeImages(job, await context('image')));
}

export async function video(more: Partial<VideoTaskRequest> = {}, files: Files = {}) {
  const job = jobOf({ ...VIDEO, ...more }, files);
  return bytesOf(await sandboxProvider.makeVideo(job, await context('video')));
}

export async function audio(more: Partial<AudioTaskRequest> = {}) {
  const job = jobOf({ ...AUDIO, ...more }, {});
  return bytesOf(await sandboxProvider.makeAudio(job, await context('audio')));
}

export async function moderation(input: Parameters<MediaProvider['moderate']>[0]) {
  return sandboxProvider.moderate(input, await context('moderation'));
}

function bytesOf({ files }: MediaOutput): Uint8Array[] {
  return files.map((file) => {
    if (!('bytes' in file)) throw new Error('the sandbox gives bytes');
    return file.bytes;
  });
}
