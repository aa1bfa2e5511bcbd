import * as v from 'valibot';
import { profileFiles } from '../../images/encoding/profile.ts';
import { field, optional } from '../../schema/fields.ts';
import { defineOperation } from '../definition/operation.ts';
import { STEP_OPERATIONS, STEPS } from '../steps/steps.ts';
import { ENCODING_COST } from '../tools/convert.ts';
import { PRESETS, type Recipe, stepsOf } from './recipe.ts';
import { runRecipe } from './run-recipe.ts';

const STEP_COSTS = new Map(STEP_OPERATIONS.map(({ name, cost }) => [name, cost]));

/** Share of the pixels that outputs of given widths, or behind a resize, have on average. */
const REDUCED = 0.1;

/** A format is known where the recipe names it; else most inputs are JPEG. */
function recipeCost({ steps, outputs }: Recipe): number {
  let cost = 0;
  for (const output of outputs) {
    const all = [...steps, ...output.steps];
    for (const { name } of all) cost += Number(STEP_COSTS.get(name)) / outputs.length;
    const isReduced = output.widths.length > 0 || all.some(({ name }) => name === 'resize');
    const formats = output.formats.length > 0 ? output.formats : (['jpeg'] as const);
    const each = formats.reduce((sum, format) => sum + ENCODING_COST[format], 0);
    cost += each * Math.max(1, output.widths.length) * (isReduced ? REDUCED : 1);
  }
  return cost;
}

export const run = defineOperation({
  name: 'run',
  summary: 'Run a recipe: several steps and several outputs in one pass',
  gives: 'image',
  several: true,
  document: {
    option: 'recipe',
    description: `a file in YAML, or one of ${PRESETS.join(', ')}`,
    names: PRESETS,
  },
  endpoint: 'batch-run',
  cost: recipeCost,
  options: v.strictObject({
    recipe: field(v.pipe(v.string(), v.nonEmpty()), 'the recipe in YAML, or the name of a preset', {
      expects: 'a recipe or the name of a preset',
    }),
    set: optional(v.array(v.string()), 'a variable of the recipe', {
      expects: 'NAME=VALUE',
    }),
  }),
  details: () => ['outputs'],
  examples: [
    'run web *.jpg --out web',
    'run srcset --set quality=70 *.jpg --out pictures',
    'run thumbnails --set size=200 --out thumbnails *.jpg',
  ],
  sample: { recipe: 'web' },
  async prepare({ recipe, set = [] }, { origin = 'recipe', planOnly = false, threads } = {}) {
    // Loaded here: threads get the recipe checked.
    const { findRecipe } = await import('./presets.ts');
    const found = await findRecipe(recipe, { origin, set }, threads);
    return { ...found, ...(planOnly && { planOnly }) };
  },
  images: (recipe) => [
    ...stepsOf(recipe as Recipe).flatMap(
      ({ name, options }) => STEPS.get(name)!.images?.(options as never) ?? [],
    ),
    ...(recipe as Recipe).outputs.flatMap(({ encoding }) => profileFiles(encoding)),
  ],
  variables: (recipe) =>
    stepsOf(recipe as Recipe).flatMap(
      ({ name, options }) => STEPS.get(name)!.variables?.(options as never) ?? [],
    ),
  run: (input, recipe) => runRecipe(input, recipe as unknown as Recipe),
});
