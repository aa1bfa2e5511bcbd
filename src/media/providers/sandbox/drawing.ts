import { Failure } from '../../../failure.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../images/limits.ts';
import { parseTarget, type Size } from '../../../images/sizes.ts';
import type { Job, JobSuccess } from '../../../operations/job.ts';
import type { RenderOptions } from '../../../operations/render.ts';
import type { InputFile, Workshop } from '../provider.ts';

/** Inputs were proven within the operator's own limits, which are not ours to know. */
const LIMITS: Limits = {
  ...DEFAULT_LIMITS,
  fileBytes: Number.MAX_SAFE_INTEGER,
  pixels: Number.MAX_SAFE_INTEGER,
  frames: Number.MAX_SAFE_INTEGER,
};

/** Pixels along a side of what is drawn, and in all. */
const SIDE = DEFAULT_LIMITS.side;
const PIXELS = DEFAULT_LIMITS.pixels;

/**
 * The size to draw in: pixels or a ratio, whose long edge is 1024; `usual` where the client leaves it.
 *
 * @throws Failure invalid_request for the param `size`
 */
export function sizeFor(text: string | null, usual: Size, most = PIXELS): Size {
  const target = text === null ? 'auto' : parseTarget(text);
  if (target === 'auto') return usual;
  const { width, height } = target;
  if (Math.max(width, height) <= SIDE && width * height <= most) return target;
  throw new Failure(
    'invalid_request',
    `size: the sandbox draws up to ${SIDE} pixels along a side and ${most / 1e6} megapixels, received ${width}x${height}`,
    { param: 'size' },
  );
}

/** The size of a picture that is to be changed, smaller where it is too large to be drawn. */
export function fittedSize({ width, height }: Size): Size {
  const shrink = Math.min(1, SIDE / Math.max(width, height), Math.sqrt(PIXELS / (width * height)));
  const side = (length: number) => Math.max(1, Math.floor(length * shrink));
  return { width: side(width), height: side(height) };
}

/** Draws one picture. @param source what is to be changed */
export async function draw(
  workshop: Workshop,
  options: RenderOptions,
  source?: InputFile,
): Promise<Uint8Array> {
  return (await perform(workshop, 'render', options, source)).image!.bytes;
}

/** What pictures are made of: their largest colours, as `#rrggbb`. */
export async function coloursOf(
  workshop: Workshop,
  inputs: readonly InputFile[],
): Promise<string[]> {
  const all: string[] = [];
  for (const input of inputs) {
    const { data } = await perform(workshop, 'palette', { count: 3 }, input);
    const { colors } = data as { readonly colors: readonly { readonly hex: string }[] };
    all.push(...colors.map(({ hex }) => hex));
  }
  return all;
}

export async function measure(workshop: Workshop, input: InputFile): Promise<Size> {
  return (await perform(workshop, 'verify', {}, input)).data as Size;
}

async function perform(
  { pool, signal }: Workshop,
  operation: string,
  options: Job['options'],
  source?: InputFile,
): Promise<JobSuccess> {
  if (signal.aborted) throw signal.reason;
  // Bytes are moved to a thread, so it gets a copy.
  const bytes = new Uint8Array(source?.bytes ?? []);
  const job: Job = { operation, options, source: { bytes }, limits: LIMITS };
  const result = await pool.run(job, { signal });
  if (result.ok) return result;
  throw new Failure('service_error', `the sandbox could not draw: ${result.error.message}`, {
    code: 'sandbox_failure',
  });
}
