import type { ImageInput } from '../input.ts';
import { completePng } from '../png/png.ts';
import { decodeByProgram } from '../programs/decode.ts';
import { type Header, readHeader } from './header.ts';
import { type Pixels, read, readSamples } from './pixels.ts';
import { formatOf } from './sniff.ts';
import { readDisplayed } from './true-colours.ts';

/** An image as it is stored: upright, but in its own colours. */
export type DecodedImage = Readonly<Awaited<ReturnType<typeof readStored>>>;

/** Decodes all frames of an image without a conversion of colours. */
export async function readStored(input: ImageInput, header: Header) {
  const { bytes, limits, sharp } = input;
  const several = header.pages > 1;
  const image = sharp(bytes, {
    limitInputPixels: limits.pixels,
    ignoreIcc: true,
    ...(several && { pages: -1 }),
  });
  // Orientation of several frames is not applied: they were upright or stay as they are.
  return { input, header, pixels: await read(several ? image : image.autoOrient(), header) };
}

/** An encoded image as an input. */
export async function openEncoded(input: ImageInput, file: Uint8Array) {
  const { sharp } = input;
  const own = { ...input, sharp, file, admit: () => {} };
  const bytes = formatOf(file) === 'jxl' ? await decodeByProgram(own, 'jxl') : completePng(file);
  const encoded = { ...own, bytes, load: async () => bytes };
  return { input: encoded, header: await readHeader(encoded) };
}

/**
 * Whether an encoding decodes to the same image: the same samples in the same colours, and the same frames, delays and
 * loops. A profile may be missing where it is sRGB.
 */
export async function isSameImage(source: DecodedImage, file: Uint8Array): Promise<boolean> {
  const { input, header } = await openEncoded(source.input, file);
  if (!isSameTiming(source.header, header)) return false;
  if (header.oriented && header.pages > 1) return false;
  const { pixels } = await readStored(input, header);
  if (!hasSameSamples(source.pixels, pixels)) return false;
  if (source.header.profiled && header.profiled) {
    const [one, other] = [source.header.metadata.icc, header.metadata.icc];
    return one !== undefined && other !== undefined && one.equals(other);
  }
  return source.header.profiled === header.profiled || looksEqual(source, { input, header });
}

function isSameTiming({ pages, metadata }: Header, other: Header): boolean {
  if (pages !== other.pages) return false;
  if (pages === 1) return true;
  const { delay = [], loop } = metadata;
  const { delay: delays = [], loop: loops } = other.metadata;
  return loop === loops && delay.join() === delays.join();
}

function hasSameSamples(one: Pixels, other: Pixels): boolean {
  const { width, height, data, channels } = one;
  if (other.width !== width || other.height !== height) return false;
  if (other.channels === channels && typeOf(other) === typeOf(one)) {
    return Buffer.compare(bytesOf(data), bytesOf(other.data)) === 0;
  }
  const sampleOf = reader(one);
  const otherOf = reader(other);
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    for (let channel = 0; channel < 4; channel += 1) {
      if (sampleOf(pixel, channel) !== otherOf(pixel, channel)) return false;
    }
  }
  return true;
}

const typeOf = ({ data }: Pixels): number => data.BYTES_PER_ELEMENT;

function bytesOf({ buffer, byteOffset, byteLength }: Pixels['data']): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Reads red, green, blue and alpha of any form in sixteen bits. */
function reader({ data, channels }: Pixels): (pixel: number, channel: number) => number {
  const factor = data.BYTES_PER_ELEMENT === 2 ? 1 : 257;
  const colours = channels < 3 ? 1 : 3;
  return (pixel, channel) => {
    if (channel === 3 && colours === channels) return 0xffff;
    const at = channel === 3 ? colours : Math.min(channel, colours - 1);
    return data[pixel * channels + at]! * factor;
  };
}

/** Largest difference of samples that comes from the rounding of conversions between equal colours. */
const ROUNDING = 1;

/** Whether two images of the same samples are displayed alike. */
async function looksEqual(
  one: Pick<DecodedImage, 'input' | 'header'>,
  other: Pick<DecodedImage, 'input' | 'header'>,
): Promise<boolean> {
  const shown = await readDisplayed(one.input, one.header);
  const otherShown = await readDisplayed(other.input, other.header);
  if (shown.channels !== otherShown.channels) return false;
  return shown.data.every((sample, at) => Math.abs(sample - otherShown.data[at]!) <= ROUNDING);
}

/** Whether the colours of an image differ from sRGB so that its profile must stay. */
export async function needsProfile(input: ImageInput, header: Header): Promise<boolean> {
  if (!header.profiled) return false;
  if (header.metadata.space === 'cmyk' || header.raw !== null) return true;
  const { data: shown } = await readDisplayed(input, header);
  const plain = input.sharp(input.bytes, {
    limitInputPixels: input.limits.pixels,
    ignoreIcc: true,
  });
  const eight = header.deep ? plain.pipelineColourspace(header.grey ? 'b-w' : 'srgb') : plain;
  const { data, channels } = await readSamples(eight.autoOrient());
  if (data.length !== shown.length || channels < 3) return true;
  return data.some((sample, at) => Math.abs(sample - shown[at]!) > ROUNDING);
}
