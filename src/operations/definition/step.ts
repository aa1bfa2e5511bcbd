import * as v from 'valibot';
import type { Facts, Header } from '../../images/decoding/header.ts';
import type { ImageInput, Sharp } from '../../images/input.ts';
import type { Warning } from '../../images/output.ts';
import { type Fault, type ObjectSchema, rule } from '../../schema/fields.ts';
import type { Variable } from './operation.ts';

/**
 * Places in the order in which sharp 0.35 applies changes within one pipeline, whatever the order of the
 * calls (pipeline.cc). `FIRST` also follows nothing, and nothing follows `LAST`.
 */
export const PLACE = {
  FIRST: 0,
  EXTRACT: 1,
  FLATTEN: 2,
  GREYSCALE: 3,
  RESIZE: 4,
  CUT: 5,
  EXTEND: 6,
  MEDIAN: 7,
  BLUR: 8,
  MODULATE: 9,
  SHARPEN: 10,
  COMPOSITE: 11,
  LAST: 12,
} as const;

/** The image that steps change. */
export interface Source {
  readonly input: ImageInput;
  readonly header: Header;
  /** Whether pixels keep the input's colours, because the output keeps its colour profile. */
  readonly profiled: boolean;
  /** Steps add what they find in the pixels. */
  readonly warnings: Warning[];
}

/** One step over an image whose facts are known, before any pixel is decoded. */
export interface PlannedStep {
  /** The facts of the result; with `measured`, the largest possible. */
  readonly after: Facts;
  /** Places of the first and the last change in sharp's order. */
  readonly from: number;
  readonly to: number;
  /** Applies the changes to the pipeline of one frame. */
  apply(frame: Sharp, source: Source): Sharp | Promise<Sharp>;
  /** Whether `apply` may change an animation as a whole that no step has changed before; a fresh one always. */
  readonly whole?: boolean;
  /** Whether `apply` reads the pixels, and begins a new pipeline. */
  readonly fresh?: boolean;
  /** Whether the pixels decide the size of the result. */
  readonly measured?: boolean;
  /** Whether it changes colours, so that transparency must be flattened after it. */
  readonly colours?: boolean;
  /** Whether it changes places alone, and therefore a gain map alike. */
  readonly keepsGainMap?: boolean;
  /** Whether the result may have the pixels of the input. */
  readonly unchanged?: boolean;
  /** Bytes per pixel that it buffers, and CPU microseconds per pixel of the image before it. */
  readonly held?: number;
  readonly microseconds?: number;
  readonly warnings?: readonly Warning[];
}

/** The place of a step that paints: pixels that are grey take no colour in the same pipeline. */
export function placeOfPaint(before: Facts, after: Facts, place: number): number {
  return before.grey && !after.grey ? PLACE.FIRST : place;
}

/** Conditions under which a step is planned. */
export interface StepContext {
  /** Whether an output holds transparency. */
  readonly alpha: boolean;
}

/** A change of pixels: a command together with an encoding, and one step of a recipe. */
export interface Step<Entries extends v.ObjectEntries = v.ObjectEntries> {
  readonly name: string;
  readonly summary: string;
  /** The options, without those of the encoding. */
  readonly fields: Entries;
  /** Checks several options together, as `rule` does. */
  readonly check?: (options: OptionsOf<Entries>) => Fault | readonly Fault[] | null;
  /** Names of further images that the options refer to. */
  images?(options: OptionsOf<Entries>): readonly string[];
  /** Properties of inputs beside their bytes on which the result depends. */
  variables?(options: OptionsOf<Entries>): readonly Variable[];
  /**
   * Opens what the options name, such as another image or a font, before the step is planned.
   *
   * @returns the options for `plan`
   * @throws Failure with a file error code
   */
  load?(source: Source, options: OptionsOf<Entries>): Promise<LoadedOptions>;
  /** @throws Failure with a file error code, for an image that it cannot change */
  plan(facts: Facts, options: OptionsOf<Entries>, context: StepContext): PlannedStep;
}

export interface LoadedOptions {
  readonly options: object;
  readonly warnings: readonly Warning[];
}

export type OptionsOf<Entries extends v.ObjectEntries> = v.InferOutput<
  v.StrictObjectSchema<Entries, undefined>
>;

/** A step whose options were checked. */
export interface ChosenStep {
  readonly step: Step;
  readonly options: object;
}

/** The schema of a step's options in a recipe. */
export function stepSchema({ fields, check }: Step): ObjectSchema {
  const object = v.strictObject(fields);
  return (check ? v.pipe(object, rule(check as never)) : object) as ObjectSchema;
}

/** Loads what steps need beside their options. @throws Failure with a file error code */
export async function loadStep(
  source: Source,
  { step, options }: ChosenStep,
): Promise<LoadedOptions> {
  return step.load ? step.load(source, options as never) : { options, warnings: [] };
}
