import * as v from 'valibot';
import { checkFrames, factsOf, type Header, readHeader } from '../../images/decoding/header.ts';
import { selectFrames } from '../../images/decoding/picture.ts';
import { needsProfile, readStored } from '../../images/decoding/stored.ts';
import { ignoredSettings } from '../../images/encoding/encoders.ts';
import { estimateOutput, sameFormat } from '../../images/encoding/encoding.ts';
import { estimateLossless } from '../../images/encoding/estimate.ts';
import {
  type EncodingOptions,
  encodingFault,
  encodingFields,
  formatField,
  isSearched,
} from '../../images/encoding/options.ts';
import { profileFiles } from '../../images/encoding/profile.ts';
import { fileFailure } from '../../images/file-error.ts';
import { FILE_FORMATS, FORMATS, type OutputFormat } from '../../images/formats.ts';
import { isTruncatedGif } from '../../images/gif.ts';
import type { ImageInput } from '../../images/input.ts';
import { smallerApng, smallestLossless } from '../../images/lossless/candidates.ts';
import { isLosslessWebp } from '../../images/lossless/webp.ts';
import {
  type Attempt,
  distinctWarnings,
  type OutputImage,
  type Search,
  type Warning,
} from '../../images/output.ts';
import { isProgramFormat } from '../../images/program-formats.ts';
import { rule } from '../../schema/fields.ts';
import { defineOperation } from '../definition/operation.ts';
import { runSteps } from '../definition/run-steps.ts';
import { keepIfSmallerField, originalOf } from './keep-if-smaller.ts';
import { optimizeSvg } from './optimize-svg.ts';

type OptimizeOptions = EncodingOptions & {
  readonly format?: OutputFormat | undefined;
  readonly keepIfSmaller: boolean;
};

export const optimize = defineOperation({
  name: 'optimize',
  summary: 'Make files smaller, without loss or to a quality or size',
  gives: 'image',
  endpoint: 'batch-optimize-images',
  cost: 1500,
  keeps: FILE_FORMATS,
  options: v.pipe(
    v.strictObject({
      format: v.optional(formatField("output format; the input's by default")),
      ...encodingFields,
      keepIfSmaller: keepIfSmallerField(true),
    }),
    rule((options) => encodingFault(options)),
  ),
  examples: [
    'optimize --out smaller *.jpg',
    'optimize --target-ssim 0.98 --out similar *.jpg',
    'optimize --format webp --target-size 200KB --out small *.jpg',
  ],
  sample: { targetSsim: 0.98 },
  images: (options) => profileFiles(options as object),
  run: (input, options) => optimizeImage(input, options),
});

/** One way to encode the image. */
interface Candidate {
  readonly image: OutputImage;
  readonly attempt: Attempt;
  readonly warnings: readonly Warning[];
  /** Whether it reaches the target; true without one. */
  readonly reached: boolean;
}

async function optimizeImage(input: ImageInput, options: OptimizeOptions) {
  const header = await readHeader(input);
  if (header.format === 'svg' && options.format === undefined) {
    return optimizeSvg(input, header, options);
  }
  const to = options.format ?? sameFormat(header);
  const isConverted = options.profile !== undefined;
  const isSame =
    to === header.format &&
    !isConverted &&
    (options.animated !== 'first' || header.storedPages === 1);
  admit(input, header, to, options);
  const exact = isSame ? await losslessCandidates(input, header, to, options) : [];
  const original = originalOf(input, header);
  const mayKeep = options.keepIfSmaller || (exact.length === 0 && !requestsEncoding(to, options));
  const kept: Candidate[] =
    original && isSame && mayKeep
      ? [{ ...original, reached: reachesSize(options, original.image), warnings: [] }]
      : [];
  const lossless = [...exact, ...kept];
  const tried: Attempt[] = exact.map(({ attempt }) => attempt);
  const candidates = [...lossless];
  const isEnough = options.targetSize !== undefined && lossless.some(({ reached }) => reached);
  if (!isSame || (requestsEncoding(to, options) && !isEnough)) {
    const { image, warnings, data } = await runSteps(input, {
      steps: [],
      format: () => to,
      encoding: requestsEncoding(to, options)
        ? { ...options, effort: effortOf(to, options) }
        : withoutLoss(input, header, to, options),
    });
    const attempt = data?.chosen ?? attemptOf(image, to, options);
    candidates.push({ image, attempt, warnings, reached: data?.reached ?? true });
    tried.push(...(data?.tried ?? [attempt]));
  }
  const best = chooseBest(candidates);
  if (!original && !options.format && options.keepIfSmaller && best.attempt.size >= input.size) {
    const message = `a ${to.toUpperCase()} of this ${header.format.toUpperCase()} image would not be smaller; choose a format such as webp`;
    throw fileFailure('larger_than_input', message);
  }
  const isLarger =
    original && options.keepIfSmaller && !isConverted && best.attempt.size >= original.attempt.size;
  const missed = best.warnings.filter(({ code }) => code === 'target_not_reached');
  const chosen = isLarger ? { ...best, ...original, warnings: missed } : best;
  const search: Search = {
    chosen: chosen.attempt,
    tried,
    ...(isSearched(options) && { reached: chosen.reached }),
  };
  return {
    image: chosen.image,
    data: search,
    warnings: distinctWarnings([
      ...header.warnings,
      ...chosen.warnings,
      ...ignoredSettings(to, options),
      ...(chosen.reached ? [] : missedSize(options, chosen)),
      ...(chosen.image.kept ? keptMetadata(header, options) : []),
    ]),
  };
}

/** Admits all work at once, of which the steps admit their parts. */
function admit(input: ImageInput, header: Header, to: OutputFormat, options: OptimizeOptions) {
  const { pages } = header;
  const frames = FORMATS[to].animation && options.animated !== 'first' ? pages : 1;
  const target = { to, facts: factsOf(header, frames), held: isSearched(options) ? 8 : 0 };
  const effort = effortOf(to, options);
  const encoding = estimateOutput(input, header, target, { ...options, effort });
  const lossless =
    to === header.format ? estimateLossless(header, frames, to) : { milliseconds: 0, bytes: 0 };
  input.admit({
    milliseconds: encoding.milliseconds + lossless.milliseconds,
    bytes: encoding.bytes + lossless.bytes,
  });
}

/** Whether the user asks for a change of pixels, or for an encoding of this format. */
function requestsEncoding(to: OutputFormat, options: EncodingOptions): boolean {
  const { quality, colors, lossless, nearLossless } = options;
  return (
    isSearched(options) ||
    (quality !== undefined && FORMATS[to].quality !== null) ||
    (colors !== undefined && FORMATS[to].palette) ||
    (lossless && FORMATS[to].lossless === 'optional') ||
    (nearLossless && to === 'webp')
  );
}

/** At equal SSIM, JPEG by mozjpeg has a tenth fewer bytes. Other formats gain 3 % for three to five times the time. */
function effortOf(to: OutputFormat, { effort }: EncodingOptions): number | undefined {
  return effort ?? (to === 'jpeg' ? 7 : undefined);
}

/** Another format without loss, where the input has none and the format can. */
function withoutLoss(
  { file }: ImageInput,
  { format }: Header,
  to: OutputFormat,
  options: EncodingOptions,
): EncodingOptions {
  const isLossy =
    format === 'jpeg' ||
    format === 'avif' ||
    isProgramFormat(format) ||
    (format === 'webp' && !isLosslessWebp(file));
  return { ...options, lossless: !isLossy && FORMATS[to].lossless === 'optional' };
}

function attemptOf(
  { bytes }: OutputImage,
  format: OutputFormat,
  options: EncodingOptions,
): Attempt {
  const { quality, colors, lossless } = options;
  const { palette, quality: preset } = FORMATS[format];
  return {
    format,
    ...(preset !== null && !lossless && { quality: quality ?? preset }),
    ...(palette && colors !== undefined && { colors }),
    ...(lossless && { lossless }),
    size: bytes.byteLength,
  };
}

function reachesSize({ targetSize }: EncodingOptions, { bytes }: OutputImage): boolean {
  return targetSize === undefined || bytes.byteLength <= targetSize;
}

/** Colour spaces of pixels that are written as they are. */
const SPACES = new Set(['srgb', 'rgb', 'rgb16', 'b-w', 'grey16']);

/** The candidate with the same pixels that is smallest; none where there is none. */
async function losslessCandidates(
  input: ImageInput,
  header: Header,
  to: OutputFormat,
  options: OptimizeOptions,
): Promise<Candidate[]> {
  const { width, height, pages, storedPages } = header;
  const asCandidate = (bytes: Uint8Array, warnings: readonly Warning[]): Candidate => {
    const frames = Math.max(pages, storedPages);
    const image = { bytes, format: to, width, height, ...(frames > 1 && { pages: frames }) };
    const attempt: Attempt = {
      format: to,
      lossless: true,
      size: bytes.byteLength,
      ...(options.targetSsim !== undefined && { ssim: 1 }),
    };
    return { image, attempt, warnings, reached: reachesSize(options, image) };
  };
  if (options.animated !== 'first') checkFrames({ ...header, pages: storedPages }, input.limits);
  if (storedPages > pages) {
    input.admit(estimateLossless(header, storedPages, to));
    return [asCandidate(await smallerApng(input.file, header, options.metadata), [])];
  }
  if (to === 'gif' && isTruncatedGif(input.bytes)) {
    throw fileFailure('corrupt_image', 'this GIF image is damaged: it breaks off');
  }
  const selection = await selectFrames(input, header, to, options);
  // Fewer frames are not the same image, nor are other colour spaces, which no encoder here writes.
  const isFaithful = SPACES.has(header.metadata.space ?? '') || to === 'jpeg';
  if (selection.frames < storedPages || to === 'avif' || !isFaithful) return [];
  const { metadata, ...others } = options;
  const keepsColours = metadata !== 'none' || (await needsProfile(input, header));
  const policy = metadata === 'none' && keepsColours ? 'icc' : metadata;
  const effort = options.effort ?? FORMATS[to].effort?.max;
  const encoding = {
    ...others,
    metadata: policy,
    effort,
    colors: undefined,
    targetSsim: undefined,
    targetSize: undefined,
    nearLossless: false,
    lossless: FORMATS[to].lossless === 'optional',
  };
  const warnings: Warning[] = [];
  const bytes = await smallestLossless(await readStored(input, header), to, {
    metadata,
    keepsColours,
    level: Math.min(9, effort ?? 9),
    exhaustive: (options.effort ?? 0) >= 9,
    progressive: options.progressive,
    warn: (warning) => warnings.push(warning),
    async encode() {
      const made = await runSteps(input, { steps: [], format: () => to, encoding, exact: true });
      warnings.push(...made.warnings);
      return made.image.bytes;
    },
  });
  return bytes ? [asCandidate(bytes, warnings)] : [];
}

/** The smallest of the candidates that reach the target, else of all. */
function chooseBest(candidates: readonly Candidate[]): Candidate {
  const reached = candidates.filter((candidate) => candidate.reached);
  const from = reached.length > 0 ? reached : candidates;
  return from.reduce((one, other) => (other.attempt.size < one.attempt.size ? other : one));
}

function missedSize({ targetSize }: EncodingOptions, { attempt, warnings }: Candidate): Warning[] {
  if (targetSize === undefined || warnings.some(({ code }) => code === 'target_not_reached'))
    return [];
  const message = `the smallest output has ${attempt.size} bytes, more than the target of ${targetSize}`;
  return [{ code: 'target_not_reached', message }];
}

/** Warns that the bytes of the input have metadata that the policy removes. */
function keptMetadata({ metadata, exif }: Header, options: EncodingOptions): Warning[] {
  const found = [exif && 'EXIF', metadata.xmp && 'XMP', metadata.iptc && 'IPTC'].filter(Boolean);
  if (options.metadata === 'all' || found.length === 0) return [];
  const message = `${found.join(', ')} was kept, because nothing smaller without it was found`;
  return [{ code: 'metadata_kept', message }];
}
