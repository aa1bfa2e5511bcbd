import * as v from 'valibot';
import { readHeader, type Size } from '../../images/decoding/header.ts';
import { readDisplayed } from '../../images/decoding/true-colours.ts';
import { fileFailure } from '../../images/file-error.ts';
import type { ImageInput } from '../../images/input.ts';
import {
  type Difference,
  difference,
  differencePicture,
} from '../../images/similarity/difference.ts';
import { field, number, optional, withDefault } from '../../schema/fields.ts';
import { defineSet } from '../batch/set.ts';
import type { ThreadOperation } from '../definition/operation.ts';

interface CompareOptions {
  /** Path of the image that the file is compared with, or its name among those of the job. */
  readonly reference: string;
  readonly isNamed?: boolean;
  /** Scales the file to the size of the reference. */
  readonly resize: boolean;
  /** Measures SSIM without the reduction of large pictures. */
  readonly fullSize: boolean;
  /** Makes an image of the differences. */
  readonly diff: boolean;
  readonly minSsim?: number;
  readonly minPsnr?: number;
}

/** The `data` of one comparison. */
export interface Comparison extends Difference {
  readonly reference: string;
  readonly width: number;
  readonly height: number;
  /** Whether it reaches the minima; only where there are some. */
  readonly passed?: boolean;
}

/** Measures how much an image differs from another one. */
export const compare: ThreadOperation<CompareOptions> = {
  name: 'compare',
  async run(input, options) {
    const { reference: path, resize, fullSize, minSsim, minPsnr } = options;
    const open = options.isNamed ? input.withNamed : input.withFile;
    const reference = await open(path, (other) => readSamples(other));
    const { width, height } = reference.samples;
    const own = await readSamples(input, resize ? { width, height } : undefined);
    if (own.samples.width !== width || own.samples.height !== height) {
      const message = `is ${own.samples.width}x${own.samples.height}, but ${path} is ${width}x${height}; resize scales it`;
      throw fileFailure('size_mismatch', message);
    }
    const measured = difference(reference.samples, own.samples, fullSize ? 1 : undefined);
    const { ssim, psnr, differing } = measured;
    const checked = minSsim !== undefined || minPsnr !== undefined;
    const passed = ssim >= (minSsim ?? -1) && (psnr === null || psnr >= (minPsnr ?? 0));
    const data: Comparison = {
      reference: path,
      width,
      height,
      // Rounded down, so that no difference is reported as none.
      ssim: Math.floor(ssim * 1e6) / 1e6,
      psnr: psnr === null ? null : Number(psnr.toFixed(2)),
      differing,
      ...(checked && { passed }),
    };
    const warnings = [...reference.warnings, ...own.warnings];
    if (!options.diff) return { data, warnings };
    const { data: pixels, ...raw } = differencePicture(reference.samples, own.samples);
    const bytes = await input.sharp(pixels, { raw }).png({ palette: false }).toBuffer();
    return { data, warnings, image: { bytes, format: 'png', width, height } };
  },
};

async function readSamples(input: ImageInput, size?: Size) {
  const header = await readHeader(input);
  const samples = await readDisplayed(input, header, size);
  const warnings = [...header.warnings];
  if (header.storedPages > 1) {
    const message = `only the first of ${header.storedPages} frames or pages was compared`;
    warnings.push({ code: 'frames_not_compared', message });
  }
  return { samples, warnings };
}

export const compareFields = {
  minSsim: optional(number(0, 1), 'lowest SSIM that passes; the command exits with 1 below it'),
  minPsnr: optional(number(0, 1000), 'lowest PSNR that passes, in decibels, in the same way'),
  resize: withDefault(v.boolean(), false, 'scale images to the size of the reference'),
  fullSize: withDefault(v.boolean(), false, 'measure SSIM without reducing large images'),
};

export const compareSet = defineSet({
  name: compare.name,
  summary: 'Measure how much images differ from a reference: SSIM, PSNR',
  endpoint: 'batch-compare-images',
  gives: 'data',
  cost: 100,
  options: v.strictObject({
    reference: field(v.string(), 'the image that the others are compared with'),
    ...compareFields,
  }),
  images: (options) => [(options as CompareOptions).reference],
  prepare: async (options) => ({ ...options, isNamed: true, diff: false }),
  set: { each: compare.name, adds: {}, finish: async () => ({}) },
});
