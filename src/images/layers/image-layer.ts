import { isSameSize, readHeader, type Size } from '../decoding/header.ts';
import { readSamples, start } from '../decoding/pixels.ts';
import { openInEightBits } from '../decoding/true-colours.ts';
import { forPixels, type ImageInput } from '../input.ts';
import type { Warning } from '../output.ts';
import type { LayerPixels } from './layer.ts';

/** An image as a layer. */
type ImageLayer = Awaited<ReturnType<typeof decode>>;

/** Bytes of decoded pixels that are kept for the next job. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

/** The last image: the jobs of a run lay the same over all their files. */
let last: { readonly key: string; readonly layer: ImageLayer } | undefined;

/** Decodes an image that the options refer to. @throws Failure with a file error code that names it */
export function openImageLayer(input: ImageInput, name: string): Promise<ImageLayer> {
  return input.withNamed(name, async (other, content) => {
    // An image may be within the limits of one job and not of another.
    const key = `${content} ${name} ${JSON.stringify(input.limits)}`;
    if (last?.key === key) return last.layer;
    const opened = await decode(other, name);
    const isSmall = opened.size.width * opened.size.height * 4 <= MAX_KEPT_BYTES;
    if (isSmall) last = { key, layer: opened };
    return opened;
  });
}

async function decode(input: ImageInput, name: string) {
  const header = await readHeader(input);
  // The decoded pixels, a copy, and those of another size.
  input.admit(forPixels(header.width * header.height, 12, 0.05));
  const image = (await openInEightBits(input, header)).autoOrient();
  const pixels = await readSamples(image.ensureAlpha());
  const { width, height } = pixels;
  // Not the input: a layer that is kept would keep its file and that of the job.
  const { sharp } = input;
  const message = `only the first of ${header.storedPages} frames of ${name} was laid over the image`;
  const warnings: Warning[] =
    header.storedPages > 1 ? [{ code: 'overlay_frames_lost', message }] : [];
  return {
    size: { width, height },
    ratio: width / height,
    grey: isGrey(pixels.data),
    warnings,
    async draw(size: Size) {
      const whole = start({ sharp }, pixels);
      return isSameSize(size, pixels) ? whole : whole.resize({ ...size, fit: 'fill' });
    },
  };
}

function isGrey(data: LayerPixels['data']): boolean {
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] !== 0 && (data[at] !== data[at + 1] || data[at] !== data[at + 2]))
      return false;
  }
  return true;
}
