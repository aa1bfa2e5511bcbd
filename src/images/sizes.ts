import { Failure } from '../failure.ts';

/** Width and height, in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * The output sizes of a native-size model (interface, part 4.4). Those of one orientation stand in
 * ascending order, which is what lets a tie go to the smaller. 1152x2048 is not among them, so
 * portrait targets map more coarsely than landscape ones.
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

/** What `resolution` may be: the names of the long edges that a ratio can be drawn at. */
export const RESOLUTIONS = ['1K', '2K', '4K'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

const LONG_EDGES: Record<Resolution, number> = { '1K': 1024, '2K': 2048, '4K': 3840 };

/** The size fields of an image request. `img_size` and `aspect_ratio` are what older clients send. */
export interface SizeFields {
  size?: string | undefined;
  img_size?: string | undefined;
  aspect_ratio?: string | undefined;
  resolution?: string | undefined;
}

/** From the strongest to the weakest: the first one that is present is the one that is read. */
const TARGET_FIELDS = ['size', 'img_size', 'aspect_ratio'] as const;
type TargetField = (typeof TARGET_FIELDS)[number];

/**
 * Reads one target: `auto`, `WIDTHxHEIGHT` in pixels, or a ratio `W:H`, which may have decimals
 * (`1.91:1`). A ratio has its long edge at `resolution`; pixels say everything, so they ignore it.
 *
 * @throws {Failure} invalid_request for `size`
 */
export function parseTarget(text: string, resolution: Resolution = '1K'): Size | 'auto' {
  return readTarget('size', text, resolution);
}

/**
 * The target of a whole image request: `size` before `img_size` before `aspect_ratio`, each with
 * `resolution`. A resolution alone asks for a square, and a request that says nothing is `auto`.
 *
 * A resolution is checked even where pixels make it irrelevant, for it is a mistake either way. The
 * weaker target fields are not read at all.
 *
 * @throws {Failure} invalid_request, its param the field at fault
 */
export function targetOf(request: SizeFields): Size | 'auto' {
  const resolution = readResolution(request.resolution);
  for (const field of TARGET_FIELDS) {
    const text = request[field];
    if (text !== undefined) return readTarget(field, text, resolution ?? '1K');
  }
  return resolution === undefined ? 'auto' : sizeOfRatio(1, 1, resolution);
}

/** Below this two distances are one: exact ties differ in their last bits once they are computed. */
const TIE = 1e-12;

/**
 * The output size nearest to a target among those of the target's own orientation. Near means few
 * times larger or smaller, the same in both directions: √(ln²(w/W) + ln²(h/H)).
 *
 * @throws {RangeError} for sides that are not positive and finite, which no parsed target has
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
    if (distance < least - TIE) {
      nearest = size;
      least = distance;
    }
  }
  if (nearest === undefined) {
    throw new RangeError(`No output size is near ${target.width}x${target.height}`);
  }
  return nearest;
}

/** -1 for portrait, 0 for square, 1 for landscape. */
function orientation({ width, height }: Size): number {
  return Math.sign(width - height);
}

/** Nine digits hold the sides of every image format there is, and stay exact as numbers. */
const PIXELS = /^([1-9]\d{0,8})[xX]([1-9]\d{0,8})$/;

/** Twelve digits at most, so that ratios which differ as text still differ as numbers. */
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
  // Rounding must neither make a square of 1001:1000 nor leave 9999:1 without a height.
  const short = Math.min(Math.max(Math.round(exact), 1), long - 1);
  return across > down ? { width: long, height: short } : { width: short, height: long };
}

function unexpected(param: string, expected: string, received: string): Failure {
  // The text comes from outside: quoted, so that it shows its ends, and never a page long.
  const shown = JSON.stringify(received.length > 40 ? `${received.slice(0, 40)}…` : received);
  return new Failure('invalid_request', `${param}: expected ${expected}, received ${shown}`, {
    param,
  });
}
