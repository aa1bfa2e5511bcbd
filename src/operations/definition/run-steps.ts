import { type Facts, factsOf, type Header, readHeader } from '../../images/decoding/header.ts';
import { openPicture, selectFrames } from '../../images/decoding/picture.ts';
import { mapFrames, read } from '../../images/decoding/pixels.ts';
import {
  checkOutputSize,
  checkPixelCount,
  encode,
  estimateOutput,
} from '../../images/encoding/encoding.ts';
import { type EncodingOptions, isSearched } from '../../images/encoding/options.ts';
import { type Conversion, convertColours } from '../../images/encoding/profile.ts';
import { encodeToTarget } from '../../images/encoding/target.ts';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import type { ImageInput, Sharp } from '../../images/input.ts';
import { withMetadata } from '../../images/metadata/policy.ts';
import type { EncodingResult, Search, Warning } from '../../images/output.ts';
import { pngWithDensity } from '../../images/png/png.ts';
import { gainMapFor, openGainMap } from './gain-map-progress.ts';
import { beginProgress, type MapProgress, openPixels, type Progress } from './progress.ts';
import { type ChosenStep, loadStep, PLACE, type Source, type StepContext } from './step.ts';

/** Continues in a new pipeline, with the size that its pixels have. */
async function reopen({ input, header, profiled }: Source, progress: Progress): Promise<Progress> {
  const { image, facts } = progress;
  const { unchanged, gainMap } = progress;
  const fresh = { place: -1, decoded: false, colours: false, unchanged, gainMap };
  if (profiled) {
    const { image: copy, info } = await withMetadata(input, image, header);
    return { ...fresh, image: copy, facts: { ...facts, width: info.width, height: info.height } };
  }
  const pixels = await read(image, facts);
  const { width, height } = pixels;
  return { ...fresh, image: openPixels(input, pixels), facts: { ...facts, width, height } };
}

/**
 * Applies one step: in the same pipeline where sharp's order of changes is that of the steps, else in a
 * new one over the pixels. Frames of an animation are changed one by one.
 *
 * @throws Failure with a file error code
 */
export async function applyStep(
  source: Source,
  progress: Progress,
  { step, options }: ChosenStep,
  context: StepContext,
): Promise<Progress> {
  const { input } = source;
  const { facts } = progress;
  const planned = step.plan(facts, options as never, context);
  checkPixelCount(input, planned.after);
  const unchanged = progress.unchanged && planned.unchanged === true;
  if (facts.frames > 1) {
    const isFirst = progress.decoded && progress.place === -1;
    const whole = planned.whole === true && (planned.fresh === true || isFirst);
    const apply = (frame: Sharp) => planned.apply(frame, source);
    const image = whole
      ? await apply(progress.image)
      : await mapFrames(input, progress.image, facts, apply);
    const decoded = whole && !planned.fresh;
    const place = decoded ? planned.to : -1;
    return { image, facts: planned.after, place, decoded, colours: false, unchanged };
  }
  const before = planned.from > progress.place ? progress : await reopen(source, progress);
  const next: Progress = {
    image: await planned.apply(before.image, source),
    facts: planned.after,
    place: planned.fresh ? -1 : planned.to,
    decoded: before.decoded && !planned.fresh,
    colours: !planned.fresh && (before.colours || planned.colours === true),
    unchanged,
    gainMap: planned.keepsGainMap
      ? await applyToMap(source, before.gainMap, { step, options })
      : undefined,
  };
  return planned.measured ? reopen(source, next) : next;
}

/** Changes a gain map as the picture. Where the picture gets a background the map gets no gain. */
async function applyToMap(
  source: Source,
  gainMap: MapProgress | undefined,
  { step, options }: ChosenStep,
): Promise<MapProgress | undefined> {
  if (!gainMap) return undefined;
  const dark = { step, options: { ...options, background: 'black' } };
  const own = { ...source, profiled: false };
  return { ...gainMap, progress: await applyStep(own, gainMap.progress, dark, { alpha: false }) };
}

/** The facts after steps, and their estimated work, before any pixel is decoded. */
export interface StepsPlan {
  readonly after: Facts;
  /** Bytes that the steps buffer. */
  readonly held: number;
  readonly milliseconds: number;
  readonly warnings: readonly Warning[];
}

/** @throws Failure with a file error code, for an image that a step cannot change */
export function planSteps(
  input: ImageInput,
  facts: Facts,
  steps: readonly ChosenStep[],
  context: StepContext,
): StepsPlan {
  let after = facts;
  let held = 0;
  let milliseconds = 0;
  let place = -1;
  const warnings: Warning[] = [];
  for (const { step, options } of steps) {
    const before = after;
    const planned = step.plan(before, options as never, context);
    after = planned.after;
    checkPixelCount(input, after);
    const pixels = before.width * before.height * before.frames;
    // Raw pixels of both sides of a new pipeline.
    const copied = planned.from > place && before.frames === 1 ? 0 : before.deep ? 16 : 8;
    if (place >= 0) held += pixels * copied;
    held += pixels * (planned.held ?? 0);
    milliseconds += (pixels * (planned.microseconds ?? 0)) / 1000;
    place = planned.fresh ? -1 : planned.measured ? PLACE.LAST : planned.to;
    warnings.push(...(planned.warnings ?? []));
  }
  return { after, held, milliseconds, warnings };
}

/** A PNG of raw pixels with the density of the input, which they do not have. Other formats are written without. */
function dense<Output extends EncodingResult>(
  encoded: Output,
  { metadata: { density } }: Header,
  { decoded }: Pick<Progress, 'decoded'>,
): Output {
  const { image } = encoded;
  if (decoded || density === undefined || image.format !== 'png') return encoded;
  return {
    ...encoded,
    image: { ...image, bytes: pngWithDensity(image.bytes, density) },
  };
}

/** Encodes the result of steps. */
export async function encodeResult(
  source: Source,
  progress: Progress,
  to: OutputFormat,
  encoding: EncodingOptions,
  exact = false,
): Promise<EncodingResult> {
  const { colours, facts, place } = progress;
  // sharp flattens before it changes colours, so that the background would be changed too.
  const ordered = !(colours && facts.hasAlpha && !FORMATS[to].alpha) && place !== PLACE.LAST;
  const last = ordered ? progress : await reopen(source, progress);
  const { input, header } = source;
  if (encoding.profile === undefined) return encodePixels(source, last, to, encoding, exact);
  if (facts.frames > 1 || !FORMATS[to].metadata) {
    const message = `${to.toUpperCase()} holds no profile for this image: profile was ignored`;
    const { warnings, ...plain } = await encodePixels(source, last, to, encoding, exact);
    return { ...plain, warnings: [...warnings, { code: 'profile_ignored', message }] };
  }
  return convertColours(input, header, last.image, to, encoding, async (conversion) => {
    const own = {
      facts: { ...last.facts, grey: false },
      image: conversion.open(),
      unchanged: false,
    };
    const opened = { ...last, ...own };
    const encoded = await encodePixels(source, opened, to, encoding, exact, conversion);
    return { ...encoded, warnings: [...encoded.warnings, ...conversion.warnings] };
  });
}

async function encodePixels(
  source: Source,
  last: Progress,
  to: OutputFormat,
  encoding: EncodingOptions,
  exact: boolean,
  conversion?: Conversion,
): Promise<EncodingResult> {
  const { input, header } = source;
  const { facts, unchanged } = last;
  const target = { to, facts, unchanged, exact, conversion };
  const finish = await gainMapFor(source, last, to === 'jpeg' && !conversion);
  if (!isSearched(encoding)) {
    return finish(dense(await encode(input, header, last.image, target, encoding), header, last));
  }
  const { targetSize } = encoding;
  const rest = { ...encoding, targetSize: targetSize && Math.max(1, targetSize - finish.bytes) };
  // Pixels of an animation are decoded again for each encoding, because raw ones have no metadata.
  const fixed = facts.frames > 1 || conversion ? last : await reopen(source, last);
  const image = () => fixed.image.clone();
  return finish(dense(await encodeToTarget(input, header, image, target, rest), header, fixed));
}

export interface StepsOptions {
  readonly steps: readonly ChosenStep[];
  readonly format: (header: Header) => OutputFormat;
  readonly encoding: EncodingOptions;
  /** Whether lossless WebP keeps colours below full transparency too. */
  readonly exact?: boolean;
}

/** The output, and as `data` the encodings that were tried for it. */
export type StepsResult = Pick<EncodingResult, 'image' | 'warnings'> & { readonly data?: Search };

/** Decodes an input, applies steps and encodes the result. */
export async function runSteps(
  input: ImageInput,
  { steps: chosen, format, encoding, exact }: StepsOptions,
): Promise<StepsResult> {
  const header = await readHeader(input);
  const to = format(header);
  const selection = await selectFrames(input, header, to, encoding);
  const loading: Warning[] = [];
  const source = { input, header, profiled: selection.profiled, warnings: loading };
  const steps: ChosenStep[] = [];
  for (const one of chosen) {
    const { options, warnings } = await loadStep(source, one);
    steps.push({ ...one, options });
    loading.push(...warnings);
  }
  const facts = factsOf(header, selection.frames);
  const context = { alpha: FORMATS[to].alpha };
  const plan = planSteps(input, facts, steps, context);
  checkOutputSize(input, to, plan.after);
  const held = plan.held / (facts.width * facts.height * facts.frames);
  const work = estimateOutput(input, header, { to, facts: plan.after, held }, encoding);
  input.admit({ ...work, milliseconds: work.milliseconds + plan.milliseconds });
  const image = await openPicture(input, header, selection);
  let progress = beginProgress(image, facts, await openGainMap(source, facts));
  for (const step of steps) progress = await applyStep(source, progress, step, context);
  const {
    image: output,
    warnings,
    search,
  } = await encodeResult(source, progress, to, encoding, exact);
  return {
    image: output,
    ...(search && { data: search }),
    warnings: [
      ...header.warnings,
      ...selection.warnings,
      ...loading,
      ...plan.warnings,
      ...warnings,
    ],
  };
}
