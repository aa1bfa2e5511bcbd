import type { Failure } from '../failure.ts';
import { invalid } from '../schema/invalid.ts';

/** Width and height in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * The output sizes of a native-size model. Sizes of one orientation are in ascending
 * order, so that the smaller one wins a tie. 1152x2048 is not among them, so that portrait targets map
 * more coarsely than landscape ones.
 */
export const OUTPUT_SIZES: readonly Size[] = [
  { width: 1024, height: 1024 },
  { width: 1536, height: 1024 },
  { width: 1024, height: 1536 },
  { width: 2048, height: 2048 },
  { width: 2048, height: 1152 },
  { width: 3840, height: 2160 },
  { width: 2160, height: 3840 },
];

/** Values of `resolution`: names of the long edges of ratios. */
export const RESOLUTIONS = ['1K', '2K', '4K'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

const LONG_EDGES: Record<Resolution, number> = { '1K': 1024, '2K': 2048, '4K': 3840 };

/** The size fields of an image request. Older clients send `img_size` and `aspect_ratio`. */
export interface SizeFields {
  size?: string | undefined;
  img_size?: string | undefined;
  aspect_ratio?: string | undefined;
  resolution?: string | undefined;
}

/** Target fields by precedence: the first one present is read. */
const TARGET_FIELDS = ['size', 'img_size', 'aspect_ratio'] as const;
type TargetField = (typeof TARGET_FIELDS)[number];

/**
 * Reads one target: `auto`, `WIDTHxHEIGHT` in pixels, or a ratio `W:H`, which may have decimals
 * (`1.91:1`). The long edge of a ratio is `resolution`; pixels ignore it.
 *
 * @throws {Failure} invalid_request for `size`
 */
export function parseTarget(text: string, resolution: Resolution = '1K'): Size | 'auto' {
  return readTarget('size', text, resolution);
}

/**
 * The target of a whole image request: `size` before `img_size` before `aspect_ratio`, each with
 * `resolution`. A resolution alone means a square, and a request without any of them is `auto`.
 *
 * An invalid resolution is an error even if pixels make it irrelevant. Fields of lower precedence are not
 * read.
 *
 * @throws {Failure} invalid_request, `param` is the invalid field
 */
export function targetOf(request: SizeFields): Size | 'auto' {
  const resolution = readResolution(request.resolution);
  for (const field of TARGET_FIELDS) {
    const text = request[field];
    if (text !== undefined) return readTarget(field, text, resolution ?? '1K');
  }
  return resolution === undefined ? 'auto' : sizeOfRatio(1, 1, resolution);
}

/** Distances that differ by less are equal, because exact ties differ in their last bits. */
const TIE_TOLERANCE = 1e-12;

/**
 * The nearest output size of the target's orientation, by the ratio of the sides in both directions:
 * √(ln²(w/W) + ln²(h/H)).
 *
 * @param target sides that are positive and finite
 */
export function outputSize(target: Size): Size {
  let nearest: Size | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const size of OUTPUT_SIZES) {
    if (orientation(size) !== orientation(target)) continue;
    const distance = Math.hypot(
      Math.log(target.width / size.width),
      Math.log(target.height / size.height),
    );
    if (distance < least - TIE_TOLERANCE) {
      nearest = size;
      least = distance;
    }
  }
  return nearest!;
}

/** -1 for portrait, 0 for square, 1 for landscape. */
const orientation = ({ width, height }: Size): number => Math.sign(width - height);

/** Nine digits are enough for the sides of every image format, and exact as numbers. */
const PIXELS = /^([1-9]\d{0,8})[xX]([1-9]\d{0,8})$/;

/** At most twelve digits, so that ratios that differ as text also differ as numbers. */
const RATIO = /^(\d{1,6}(?:\.\d{1,6})?):(\d{1,6}(?:\.\d{1,6})?)$/;

const EXPECTED: Record<TargetField, string> = {
  size: 'auto, WIDTHxHEIGHT or a ratio such as 16:9',
  img_size: 'auto, WIDTHxHEIGHT or a ratio such as 16:9',
  aspect_ratio: 'auto or a ratio such as 16:9',
};

function readTarget(field: TargetField, text: string, resolution: Resolution): Size | 'auto' {
  if (text === 'auto') return 'auto';

  const pixels = field === 'aspect_ratio' ? null : PIXELS.exec(text);
  if (pixels !== null) return { width: Number(pixels[1]), height: Number(pixels[2]) };

  const ratio = RATIO.exec(text);
  const across = Number(ratio?.[1] ?? 0);
  const down = Number(ratio?.[2] ?? 0);
  if (across > 0 && down > 0) return sizeOfRatio(across, down, resolution);

  throw unexpected(field, EXPECTED[field], text);
}

function readResolution(text: string | undefined): Resolution | undefined {
  if (text === undefined) return undefined;
  const resolution = RESOLUTIONS.find((known) => known === text);
  if (resolution === undefined) throw unexpected('resolution', 'one of 1K, 2K, 4K', text);
  return resolution;
}

function sizeOfRatio(across: number, down: number, resolution: Resolution): Size {
  const long = LONG_EDGES[resolution];
  if (across === down) return { width: long, height: long };
  const exact = (long * Math.min(across, down)) / Math.max(across, down);
  // Rounding must not make 1001:1000 a square, nor the height of 9999:1 zero.
  const short = Math.min(Math.max(Math.round(exact), 1), long - 1);
  return across > down ? { width: long, height: short } : { width: short, height: long };
}

function unexpected(param: string, expected: string, received: string): Failure {
  // Untrusted text is quoted and truncated.
  const shown = JSON.stringify(received.length > 40 ? `${received.slice(0, 40)}…` : received);
  return invalid(param, `expected ${expected}, received ${shown}`);
}
