import * as v from 'valibot';
import { codedFailure } from '../../../failure.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../images/limits.ts';
import { parseTarget, type Size } from '../../../images/sizes.ts';
import type { Job, JobSuccess } from '../../../operations/definition/job.ts';
import type { RenderOptions } from '../../../operations/sandbox/render.ts';
import { convert } from '../../../operations/tools/convert.ts';
import { invalid } from '../../../schema/invalid.ts';
import type { InputFile, ProviderContext } from '../../provider/provider.ts';

/** No limits of their own: inputs were verified within the operator's limits, which may be higher. */
const LIMITS: Limits = {
  ...DEFAULT_LIMITS,
  fileBytes: Number.MAX_SAFE_INTEGER,
  pixels: Number.MAX_SAFE_INTEGER,
  frames: Number.MAX_SAFE_INTEGER,
};

/** Limits of a rendered image. */
const MAX_SIDE = DEFAULT_LIMITS.side;
const MAX_PIXELS = DEFAULT_LIMITS.pixels;

/**
 * The size to render: pixels, or a ratio with a long edge of 1024.
 *
 * @param defaultSize where the client chose none
 * @throws Failure invalid_request for the param `size`
 */
export function sizeFor(text: string | null, defaultSize: Size, maxPixels = MAX_PIXELS): Size {
  const target = text === null ? 'auto' : parseTarget(text);
  if (target === 'auto') return defaultSize;
  const { width, height } = target;
  if (Math.max(width, height) <= MAX_SIDE && width * height <= maxPixels) return target;
  throw invalid(
    'size',
    `the sandbox draws up to ${MAX_SIDE} pixels along a side and ${maxPixels / 1e6} megapixels, received ${width}x${height}`,
  );
}

/** Scales the size of an edit's source down to the limits of a rendered image. */
export function fittedSize({ width, height }: Size): Size {
  const scale = Math.min(
    1,
    MAX_SIDE / Math.max(width, height),
    Math.sqrt(MAX_PIXELS / (width * height)),
  );
  const side = (length: number) => Math.max(1, Math.floor(length * scale));
  return { width: side(width), height: side(height) };
}

/** Renders one image. @param source image to edit */
export async function renderImage(
  context: ProviderContext,
  options: RenderOptions,
  source?: InputFile,
): Promise<Uint8Array> {
  return (await runJob(context, 'render', options, source)).image!.bytes;
}

/** Encodes a PNG in another format. @param quality 0 to 100 */
export async function convertImage(
  context: ProviderContext,
  png: Uint8Array,
  format: string,
  quality: number,
): Promise<Uint8Array> {
  // The encoders begin at 1.
  const options = v.parse(convert.options, { format, quality: Math.max(1, quality) });
  return (await runJob(context, 'convert', options, { bytes: png })).image!.bytes;
}

/** The main colours of images, as `#rrggbb`. */
export async function coloursOf(
  context: ProviderContext,
  inputs: readonly InputFile[],
): Promise<string[]> {
  const all: string[] = [];
  for (const input of inputs) {
    const { data } = await runJob(context, 'palette', { count: 3 }, input);
    const { colors } = data as { readonly colors: readonly { readonly hex: string }[] };
    all.push(...colors.map(({ hex }) => hex));
  }
  return all;
}

export async function sizeOf(context: ProviderContext, input: InputFile): Promise<Size> {
  return (await runJob(context, 'verify', {}, input)).data as Size;
}

async function runJob(
  { pool, signal }: ProviderContext,
  operation: string,
  options: Job['options'],
  source?: Pick<InputFile, 'bytes'>,
): Promise<JobSuccess> {
  if (signal.aborted) throw signal.reason;
  // The pool transfers bytes to a thread, so it gets a copy.
  const bytes = new Uint8Array(source?.bytes ?? []);
  const job: Job = { operation, options, source: { bytes }, limits: LIMITS };
  const result = await pool.run(job, { signal });
  if (result.ok) return result;
  throw codedFailure('sandbox_failure', `the sandbox could not draw: ${result.error.message}`);
}
