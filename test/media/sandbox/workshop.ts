import type {
  InputFile,
  MediaProvider,
  Order,
  Production,
  Workshop,
} from '../../../src/media/providers/provider.ts';
import { sandboxProvider } from '../../../src/media/providers/sandbox/sandbox.ts';
import type { AudioWork, ImageWork, VideoWork, Work } from '../../../src/media/work.ts';
import { inlinePool } from '../../../src/operations/pool.ts';
import { LightAbortSignal } from '../../../src/upstream/abort-signal.ts';
import { UpstreamClient } from '../../../src/upstream/client.ts';

const PROMPTED = { prompt: 'a lighthouse at dusk', seed: null, user: null };

const IMAGE: ImageWork = {
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
const VIDEO: VideoWork = { ...PROMPTED, type: 'video', size: '64x48', duration: 2, inputs: [] };
const AUDIO: AudioWork = { ...PROMPTED, type: 'audio', voice: null, format: null, duration: 1 };

interface Files {
  readonly inputs?: readonly InputFile[];
  readonly mask?: InputFile;
}

export function inputFile(bytes: Uint8Array, name = 'input-1'): InputFile {
  return { bytes, mediaType: 'image/png', filename: `${name}.png` };
}

export async function workshop(model: string, signal = new LightAbortSignal()): Promise<Workshop> {
  return {
    settings: { kind: 'sandbox', concurrency: 8 },
    model,
    idempotencyKey: 'task_1',
    upstream: new UpstreamClient(),
    pool: await inlinePool(1),
    timeouts: { connect: 60_000, firstByte: 60_000, idle: 60_000, total: 60_000 },
    signal,
    noted: null,
    note: () => Promise.resolve(),
    asking: () => Promise.resolve(),
  };
}

const orderOf = <Kind extends Work>(work: Kind, { inputs = [], mask }: Files): Order<Kind> => ({
  work,
  inputs,
  mask: mask ?? null,
});

export async function images(more: Partial<ImageWork> = {}, files: Files = {}) {
  const order = orderOf({ ...IMAGE, ...more }, files);
  return bytesOf(await sandboxProvider.makeImages(order, await workshop('image')));
}

export async function video(more: Partial<VideoWork> = {}, files: Files = {}) {
  const order = orderOf({ ...VIDEO, ...more }, files);
  return bytesOf(await sandboxProvider.makeVideo(order, await workshop('video')));
}

export async function audio(more: Partial<AudioWork> = {}) {
  const order = orderOf({ ...AUDIO, ...more }, {});
  return bytesOf(await sandboxProvider.makeAudio(order, await workshop('audio')));
}

export async function moderation(input: Parameters<MediaProvider['moderate']>[0]) {
  return sandboxProvider.moderate(input, await workshop('moderation'));
}

function bytesOf({ products }: Production): Uint8Array[] {
  return products.map((product) => {
    if (!('bytes' in product)) throw new Error('the sandbox gives bytes');
    return product.bytes;
  });
}
