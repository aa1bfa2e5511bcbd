import { outputSize, type Size } from '../../../images/sizes.ts';
import { invalid } from '../../../schema/invalid.ts';
import type {
  MediaJob,
  MediaOutput,
  OutputFile,
  ProviderContext,
} from '../../provider/provider.ts';
import type { ImageTaskRequest, VideoTaskRequest } from '../../task/task-request.ts';
import { applyDirectives, estimateUsage, expectModel, GARBAGE } from './directives.ts';
import { coloursOf, convertImage, fittedSize, renderImage, sizeFor, sizeOf } from './rendering.ts';

const DEFAULT_SIZE: Size = { width: 1024, height: 1024 };

/**
 * Renders landscapes as PNG, or the first input with one laid over it. One after another, so that
 * other jobs get threads meanwhile.
 */
export async function makeImages(
  { request, inputs, mask }: MediaJob<ImageTaskRequest>,
  context: ProviderContext,
): Promise<MediaOutput> {
  expectModel(context, 'image');
  const { prompt, seed } = request;
  const directives = await applyDirectives(prompt, 'prompt', context.signal);
  const source = request.edit ? inputs[0] : undefined;
  const defaultSize =
    source === undefined ? DEFAULT_SIZE : sizeOfEdit(request, await sizeOf(context, source));
  const { width, height } = sizeFor(directives.size ?? request.size, defaultSize);
  const references = source === undefined ? inputs : inputs.slice(1);
  const colours = await coloursOf(context, references);
  const files: OutputFile[] = [];
  const edit = source && { edit: { mask: mask?.bytes ?? null } };
  for (let number = 0; number < Math.min(request.n, directives.partial ?? request.n); number += 1) {
    const options = { prompt, seed, number, width, height, colours, ...edit };
    const bytes = directives.garbage
      ? GARBAGE
      : await encoded(context, await renderImage(context, options, source), request);
    files.push({ bytes });
  }
  const tokens = Math.ceil((width * height) / 1024) * files.length;
  return { files, usage: estimateUsage(prompt, inputs.length, tokens) };
}

/** A rendered PNG in the format that the client chose. */
function encoded(
  context: ProviderContext,
  png: Uint8Array,
  { options = {} }: ImageTaskRequest,
): Promise<Uint8Array> | Uint8Array {
  const { output_format: format = 'png', output_compression: compression = 100 } = options;
  if (format === 'png') return png;
  return convertImage(context, png, String(format), Number(compression));
}

/** An edit has the size of its source, as far as the model allows. */
function sizeOfEdit({ native }: ImageTaskRequest, size: Size): Size {
  return native ? outputSize(size) : fittedSize(size);
}

const DEFAULT_VIDEO_SIZE: Size = { width: 640, height: 360 };

/** Bounds of the frames and of the pixels of all frames, which are in memory at once. */
const MAX_FRAMES = 64;
const FRAMES_PER_SECOND = 6;
const MAX_PIXELS = 24_000_000;

/** The longest duration of a frame of an animated WebP: 24 bits of milliseconds. */
const MAX_FRAME_MS = 2 ** 24 - 1;

/** Renders a moving landscape as an animated WebP of the requested duration. */
export async function makeVideo(
  { request, inputs }: MediaJob<VideoTaskRequest>,
  context: ProviderContext,
): Promise<MediaOutput> {
  expectModel(context, 'video');
  const { prompt, seed, duration } = request;
  const { size, garbage } = await applyDirectives(prompt, 'prompt', context.signal);
  const { width, height } = sizeFor(size ?? request.size, DEFAULT_VIDEO_SIZE, MAX_PIXELS / 2);
  const milliseconds = duration * 1000;
  if (milliseconds > MAX_FRAME_MS) {
    throw invalid('duration', `expected at most ${Math.floor(MAX_FRAME_MS / 1000)} seconds`);
  }
  const affordableFrames = Math.floor(MAX_PIXELS / (width * height));
  const frames = Math.max(
    2,
    Math.min(MAX_FRAMES, affordableFrames, Math.ceil(duration * FRAMES_PER_SECOND)),
  );
  const colours = await coloursOf(context, inputs);
  const film = { frames, milliseconds };
  const bytes = garbage
    ? GARBAGE
    : await renderImage(context, { prompt, seed, number: 0, width, height, colours, film });
  const tokens = Math.ceil((width * height) / 1024) * frames;
  return { files: [{ bytes }], usage: estimateUsage(prompt, inputs.length, tokens) };
}
