import type * as v from 'valibot';
import { Failure } from '../../failure.ts';
import type { ImageInput } from '../../images/input.ts';
import { isProgramFormat } from '../../images/program-formats.ts';
import { type Scan, scanImage } from '../../images/scan/scan.ts';
import { parseFields } from '../../schema/fields.ts';
import type { ThreadOperation } from '../definition/operation.ts';
import { type Comparison, compare } from './compare.ts';
import { optimize } from './optimize.ts';

interface InspectOptions {
  /** Kinds of metadata to look for. */
  readonly forbid: readonly string[];
  /** Path of a former version, with which the picture is compared at its size. */
  readonly reference?: string;
  /** Whether to measure what optimising without loss would save. */
  readonly savings: boolean;
}

/** The `data` of one inspection. */
export interface Inspection extends Scan {
  readonly ssim?: number;
  /** Why the picture cannot be compared. */
  readonly incomparable?: string;
  /** Bytes after optimising. */
  readonly optimized?: number;
}

/** Reads what `oriel check` has rules about; decodes pixels only to compare and to optimise. */
export const inspect: ThreadOperation<InspectOptions> = {
  name: 'inspect',
  async run(input, { forbid, reference, savings }) {
    const scan = await scanImage(input, forbid);
    const compared = reference === undefined ? {} : await comparison(input, reference);
    const isMeasured = savings && scan.width !== undefined && !isProgramFormat(scan.format);
    const optimized = isMeasured ? await optimizedSize(input) : null;
    return { data: { ...scan, ...compared, ...(optimized !== null && { optimized }) } };
  },
};

async function comparison(input: ImageInput, reference: string) {
  try {
    const options = { reference, resize: true, fullSize: false, diff: false };
    const { ssim } = (await compare.run(input, options)).data as Comparison;
    return { ssim };
  } catch (error) {
    if (error instanceof Failure) return { incomparable: error.message };
    throw error;
  }
}

async function optimizedSize(input: ImageInput): Promise<number | null> {
  const options = parseFields(optimize.options, {}) as v.InferOutput<typeof optimize.options>;
  try {
    return (await optimize.run(input, options)).image?.bytes.byteLength ?? null;
  } catch (error) {
    // The image can be too large to decode, which its headers do not need.
    if (error instanceof Failure) return null;
    throw error;
  }
}
