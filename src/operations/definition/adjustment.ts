import type * as v from 'valibot';
import type { Facts } from '../../images/decoding/header.ts';
import type { Pixels } from '../../images/decoding/pixels.ts';
import { applyCurves, type Curve, changePixels } from './change-pixels.ts';
import { type OptionsOf, PLACE, type PlannedStep, type Source, type Step } from './step.ts';
import { stepOperation } from './step-operation.ts';

/** Places as those of a planned step; the first is the last unless it is given. */
type NativeChange = Pick<PlannedStep, 'apply' | 'colours' | 'to' | 'whole'> &
  Partial<Pick<PlannedStep, 'from'>>;

/** A step of which fields, help and one function are all that is declared. */
interface Adjustment<Entries extends v.ObjectEntries, Options = OptionsOf<Entries>>
  extends Partial<Omit<Step<Entries>, 'plan'>>,
    Partial<Pick<Parameters<typeof stepOperation>[0], 'cost' | 'examples' | 'sample'>> {
  /** CPU microseconds for a pixel. */
  microseconds?(options: Options): number;
  /** Facts of the result that differ. */
  after?(facts: Facts, options: Options): Partial<Facts>;
  /** A change in sharp's pipeline, with its place there. */
  native?(options: Options, facts: Facts): NativeChange | undefined;
  /** A curve of all colours. */
  curve?(sample: number, options: Options): number;
  /** Curves that depend on the pixels of all frames, or differ between red, green and blue. */
  curves?(options: Options, pixels: Pixels): readonly Curve[];
  /** Changes the pixels of one frame. */
  pixels?(pixels: Pixels, options: Options, source: Source): Pixels | Promise<Pixels>;
}

/** The operation of a declared step. */
export function adjustment<const Entries extends v.ObjectEntries>(
  name: string,
  summary: string,
  {
    microseconds,
    after: differences,
    native,
    curve,
    curves,
    pixels,
    ...record
  }: Adjustment<Entries>,
) {
  const plan: Step<Entries>['plan'] = (facts, options) => {
    const after = { ...facts, ...differences?.(facts, options) };
    const time = microseconds?.(options) ?? 0.05;
    const shared = { after, held: facts.deep ? 16 : 8, microseconds: time };
    const own = native?.(options, facts);
    if (own) {
      // With transparency, sharp's other changes before it would work on premultiplied colours.
      return { ...shared, ...own, from: facts.hasAlpha ? PLACE.FIRST : (own.from ?? own.to) };
    }
    const change = (read: Pixels, source: Source) => {
      if (pixels) return pixels(read, options, source);
      return applyCurves(read, curves?.(options, read) ?? [(one) => curve!(one, options)]);
    };
    return {
      ...{ ...shared, from: PLACE.LAST + 1, to: PLACE.LAST, fresh: true, whole: !pixels },
      apply: (frame, source) =>
        changePixels(source, frame, facts, after, (read) => change(read, source)),
    };
  };
  const usual = { cost: 60, fields: {}, examples: [`${name} --out ${name} *.jpg`] };
  const operation = { ...usual, ...record, name, summary, plan };
  return stepOperation(operation as Parameters<typeof stepOperation<Entries>>[0]);
}
