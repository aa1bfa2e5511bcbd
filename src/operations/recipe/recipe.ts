import type { EncodingOptions } from '../../images/encoding/options.ts';
import type { OutputFormat } from '../../images/formats.ts';
import type { Conditions } from './conditions.ts';

/** Recipes that come with Oriel, as files in config/recipes. */
export const PRESETS = ['web', 'thumbnails', 'srcset', 'favicon', 'archive'] as const;

/** One step of a recipe with its checked options. Structured-cloneable. */
export interface RecipeStep {
  readonly name: string;
  readonly options: object;
  readonly when?: Conditions | undefined;
}

/** All steps of a recipe, those of its outputs too. */
export function stepsOf({ steps, outputs }: Recipe): RecipeStep[] {
  return [...steps, ...outputs.flatMap((output) => output.steps)];
}

/** Outputs that share steps and options: one for each width and format. */
export interface RecipeOutput {
  /** Template of the file names. */
  readonly name: string;
  readonly when?: Conditions | undefined;
  readonly steps: readonly RecipeStep[];
  /** Empty where the outputs keep the width that the image has. */
  readonly widths: readonly number[];
  /** Empty where the output keeps the format of the input. */
  readonly formats: readonly OutputFormat[];
  readonly encoding: EncodingOptions;
}

/** A checked recipe. */
export interface Recipe {
  readonly description?: string | undefined;
  readonly steps: readonly RecipeStep[];
  readonly outputs: readonly RecipeOutput[];
  /** Whether only the plan is wanted. */
  readonly planOnly?: boolean;
}
