import { unmapFreedBlocks } from '../../libc.ts';
import { onWhite, parseColour } from '../colour.ts';
import type { Header } from '../decoding/header.ts';
import { readSamples } from '../decoding/pixels.ts';
import { openEncoded } from '../decoding/stored.ts';
import { readDisplayed } from '../decoding/true-colours.ts';
import { fileFailure } from '../file-error.ts';
import { FORMATS, type OutputFormat } from '../formats.ts';
import type { ImageInput, Sharp } from '../input.ts';
import type { Attempt, EncodingResult, Warning } from '../output.ts';
import { ssimMeter } from '../similarity/difference.ts';
import { type EncodingTarget, encode } from './encoding.ts';
import type { EncodingOptions } from './options.ts';
import { type Goal, reaches, searchQuality } from './quality-search.ts';

const QUALITIES = Array.from({ length: 100 }, (_, index) => index + 1);
/** Sizes of palettes: more than these make little difference to size and quality. */
const PALETTES = [2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];

/** The options of one encoding, by the setting that is searched. */
interface Scale {
  readonly settings: readonly number[];
  /** Index of the setting that is tried first. */
  readonly first: number;
  optionsOf(setting: number): Pick<EncodingOptions, 'quality' | 'colors'>;
}

/** @throws Failure target_unsupported for a format without a setting of quality */
function scaleOf(to: OutputFormat): Scale {
  const { quality, palette } = FORMATS[to];
  if (quality !== null) {
    const optionsOf = (setting: number) => ({ quality: setting });
    return { settings: QUALITIES, first: QUALITIES.indexOf(quality), optionsOf };
  }
  if (palette) {
    const optionsOf = (setting: number) => ({ colors: setting });
    return { settings: PALETTES, first: PALETTES.indexOf(64), optionsOf };
  }
  throw fileFailure(
    'target_unsupported',
    `${to.toUpperCase()} has neither a quality nor a palette that could be searched; choose another format`,
  );
}

interface EncodingAttempt extends Attempt {
  readonly encoded: EncodingResult;
}

/**
 * Encodes the pixels of a pipeline several times, and returns the encoding that reaches the target best. Where none
 * does, it is the smallest, or the one with the highest SSIM, with a warning.
 *
 * @param take returns the pipeline; each encoding takes it again
 * @throws Failure with a file error code
 */
export async function encodeToTarget(
  input: ImageInput,
  header: Header,
  take: () => Sharp,
  target: EncodingTarget,
  { targetSsim, targetSize, ...others }: EncodingOptions,
): Promise<EncodingResult> {
  unmapFreedBlocks();
  const { to, facts } = target;
  const { settings, first, optionsOf } = scaleOf(to);
  const goal: Goal =
    targetSsim === undefined
      ? { kind: 'size', bytes: targetSize! }
      : { kind: 'ssim', least: targetSsim };
  if (goal.kind === 'ssim' && facts.frames > 1) {
    throw fileFailure(
      'animation_unsupported',
      `the SSIM of ${facts.frames} frames is not measured; targetSize is for animations too, and animated "first" takes one frame`,
    );
  }
  const measure = goal.kind === 'ssim' ? await meterFor(input, take(), target, others) : null;
  const attempt = async (own: Partial<EncodingOptions>): Promise<EncodingAttempt> => {
    const encoded = await encode(input, header, take(), target, { ...others, ...own });
    const { bytes } = encoded.image;
    const { quality, colors, lossless } = own;
    return {
      format: to,
      ...(quality !== undefined && { quality }),
      ...(colors !== undefined && { colors }),
      ...(lossless && { lossless }),
      size: bytes.byteLength,
      ...(measure && { ssim: await measure(bytes) }),
      encoded,
    };
  };
  const exact = FORMATS[to].lossless !== 'never';
  const tried: EncodingAttempt[] = [];
  // Exact palettes and grey levels are often smaller than any reduction.
  if (to === 'png') tried.push(await attempt({ lossless: true }));
  const fits = goal.kind === 'size' && tried.some((one) => reaches(goal, one));
  const found = fits
    ? null
    : await searchQuality((setting) => attempt(optionsOf(setting)), settings, { goal, first });
  tried.push(...(found?.trials ?? []));
  // Its SSIM is 1, which no quality may reach.
  if (goal.kind === 'ssim' && !found?.best && exact && to !== 'png') {
    tried.push(await attempt({ lossless: true }));
  }
  const { chosen, reached } = choose(goal, tried);
  const { image, warnings } = chosen.encoded;
  return {
    image,
    warnings: reached ? warnings : [...warnings, missed(goal, chosen)],
    search: { chosen: attemptOf(chosen), tried: tried.map(attemptOf), reached },
  };
}

/** The attempt that reaches the goal best: for a size the one of the highest quality. */
function choose(goal: Goal, tried: readonly EncodingAttempt[]) {
  const good = tried.filter((one) => reaches(goal, one));
  const best = (list: readonly EncodingAttempt[], rank: (one: EncodingAttempt) => number) =>
    list.reduce((one, other) => (rank(other) > rank(one) ? other : one));
  if (goal.kind === 'size') {
    if (good.length === 0) return { chosen: best(tried, ({ size }) => -size), reached: false };
    const exact = good.find(({ lossless }) => lossless);
    return { chosen: exact ?? best(good, ({ size }) => size), reached: true };
  }
  if (good.length === 0) return { chosen: best(tried, ({ ssim }) => ssim!), reached: false };
  return { chosen: best(good, ({ size }) => -size), reached: true };
}

const attemptOf = ({ encoded: _, ...attempt }: EncodingAttempt): Attempt => attempt;

function missed(goal: Goal, { size, ssim, quality, colors }: Attempt): Warning {
  const setting = quality === undefined ? `with ${colors} colours` : `of quality ${quality}`;
  const message =
    goal.kind === 'size'
      ? `the smallest encoding, ${setting}, has ${size} bytes, more than the target of ${goal.bytes}`
      : `the best encoding, ${setting}, has an SSIM of ${ssim}, less than the target of ${goal.least}`;
  return { code: 'target_not_reached', message };
}

/**
 * Measures the SSIM of encodings as `compare --full-size` does, against the pixels of a pipeline. Reduced to 256 pixels,
 * as `compare` does by default, a JPEG of 12 megapixels and quality 9 has an SSIM of 0.98.
 */
async function meterFor(
  input: ImageInput,
  pipeline: Sharp,
  { to, facts }: EncodingTarget,
  { background }: Pick<EncodingOptions, 'background'>,
): Promise<(bytes: Uint8Array) => Promise<number>> {
  const flat = facts.hasAlpha && !FORMATS[to].alpha;
  const shown = flat
    ? pipeline.flatten({ background: onWhite(parseColour(background)) })
    : pipeline;
  const meter = ssimMeter(
    await readSamples(facts.deep ? shown.pipelineColourspace(facts.grey ? 'b-w' : 'srgb') : shown),
  );
  return async (bytes) => {
    const encoded = await openEncoded(input, bytes);
    const ssim = meter(await readDisplayed(encoded.input, encoded.header));
    // Rounded down, so that no difference is reported as none.
    return Math.floor(ssim * 1e6) / 1e6;
  };
}
