import { Failure } from '../../../failure.ts';
import type { Size } from '../../../images/sizes.ts';
import type { MediaJob, MediaOutput, ProviderContext } from '../../provider/provider.ts';
import type { VideoTaskRequest } from '../../task/task-request.ts';
import { applyDirectives, expectModel, GARBAGE, usageOf } from './directives.ts';
import { coloursOf, renderImage, sizeFor } from './rendering.ts';

const DEFAULT_SIZE: Size = { width: 640, height: 360 };

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
  const { width, height } = sizeFor(size ?? request.size, DEFAULT_SIZE, MAX_PIXELS / 2);
  const milliseconds = duration * 1000;
  if (milliseconds > MAX_FRAME_MS) {
    throw new Failure(
      'invalid_request',
      `duration: expected at most ${Math.floor(MAX_FRAME_MS / 1000)} seconds`,
      {
        param: 'duration',
      },
    );
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
  return { files: [{ bytes }], usage: usageOf(prompt, inputs.length, tokens) };
}
