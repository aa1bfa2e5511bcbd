import type { Size } from './facts.ts';
import type { Header } from './header.ts';
import type { ImageInput, Sharp } from './input.ts';
import type { Samples } from './ssim.ts';
import { openInEightBits } from './true-colours.ts';

/**
 * The pixels of the first frame as displayed: oriented, in sRGB, with eight bits.
 *
 * @param size to which they are scaled
 */
export async function readDisplayed(
  input: ImageInput,
  header: Header,
  size?: Size,
): Promise<Samples> {
  const image = (await openInEightBits(input, header)).autoOrient();
  return readSamples(size ? image.resize({ ...size, fit: 'fill' }) : image);
}

/** The pixels of a pipeline in sRGB with eight bits. */
export async function readSamples(image: Sharp): Promise<Samples> {
  const { data, info } = await image
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  return { data, width, height, channels: channels as 3 | 4 };
}
