import type {
  InputFile,
  MediaOutput,
  MediaProvider,
  ProviderContext,
} from '../../../src/media/provider/provider.ts';
import { sandboxProvider } from '../../../src/media/providers/sandbox/sandbox.ts';
import type {
  AudioTaskRequest,
  ImageTaskRequest,
  VideoTaskRequest,
} from '../../../src/media/task/task-request.ts';
import { inlinePool } from '../../../src/operations/pool/pool.ts';
import { TextThreads } from '../../../src/threads/text-threads.ts';
import { UpstreamClient } from '../../../src/upstream/client.ts';
import { AUDIO, IMAGE, jobOf, VIDEO } from '../task-requests.ts';

const SIZE = '64x48';

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

export async function images(more: Partial<ImageTaskRequest> = {}, files: Files = {}) {
  const job = jobOf({ ...IMAGE, size: SIZE, ...more }, files.inputs, files.mask);
  return bytesOf(await sandboxProvider.makeImages(job, await context('image')));
}

export async function video(more: Partial<VideoTaskRequest> = {}) {
  const job = jobOf({ ...VIDEO, size: SIZE, duration: 2, ...more });
  return bytesOf(await sandboxProvider.makeVideo(job, await context('video')));
}

export const audioJob = (more: Partial<AudioTaskRequest> = {}) =>
  jobOf({ ...AUDIO, duration: 1, ...more });

export async function audio(more: Partial<AudioTaskRequest> = {}) {
  const job = audioJob(more);
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
