import { Failure } from '../../../failure.ts';
import type { Size } from '../../../images/sizes.ts';
import type { VideoWork } from '../../work.ts';
import type { Order, Production, Workshop } from '../provider.ts';
import { coloursOf, draw, sizeFor } from './drawing.ts';
import { expectModel, GARBAGE, obey, usageOf } from './prompt.ts';

const USUAL: Size = { width: 640, height: 360 };

/** Frames of a film and of each of its seconds, and pixels of all of them: they are in memory at once. */
const MOST_FRAMES = 64;
const FRAMES_A_SECOND = 6;
const PIXELS = 24_000_000;

/** The longest time that a frame of an animated WebP can be shown: 24 bits of milliseconds. */
const LONGEST_FRAME = 2 ** 24 - 1;

/** A landscape that moves, as an animated WebP of the duration that was asked for. */
export async function makeVideo(
  { work, inputs }: Order<VideoWork>,
  workshop: Workshop,
): Promise<Production> {
  expectModel(workshop, 'video');
  const { prompt, seed, duration } = work;
  const { size, garbage } = await obey(prompt, 'prompt', workshop.signal);
  const { width, height } = sizeFor(size ?? work.size, USUAL, PIXELS / 2);
  const milliseconds = duration * 1000;
  if (milliseconds > LONGEST_FRAME) {
    throw new Failure(
      'invalid_request',
      `duration: expected at most ${Math.floor(LONGEST_FRAME / 1000)} seconds`,
      {
        param: 'duration',
      },
    );
  }
  const affordable = Math.floor(PIXELS / (width * height));
  const frames = Math.max(
    2,
    Math.min(MOST_FRAMES, affordable, Math.ceil(duration * FRAMES_A_SECOND)),
  );
  const colours = await coloursOf(workshop, inputs);
  const film = { frames, milliseconds };
  const bytes = garbage
    ? GARBAGE
    : await draw(workshop, { prompt, seed, number: 0, width, height, colours, film });
  const tokens = Math.ceil((width * height) / 1024) * frames;
  return { products: [{ bytes }], usage: usageOf(prompt, inputs.length, tokens) };
}
