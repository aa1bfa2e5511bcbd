import * as v from 'valibot';
import { field } from '../schema/fields.ts';
import { defineOperation } from './operation.ts';
import { PRESETS, type Recipe, stepsOf } from './recipe/recipe.ts';
import { runRecipe } from './recipe/run-recipe.ts';
import { STEPS } from './steps.ts';

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
  cost: 150,
  options: v.strictObject({
    recipe: field(v.pipe(v.string(), v.nonEmpty()), 'the recipe in YAML, or the name of a preset', {
      expects: 'a recipe or the name of a preset',
    }),
    set: v.optional(
      field(v.array(v.string()), 'a variable of the recipe', {
        expects: 'NAME=VALUE',
      }),
    ),
  }),
  details: () => ['outputs'],
  examples: [
    'run web *.jpg --out web',
    'run srcset --set quality=70 *.jpg --out pictures',
    'run thumbnails --set size=200 --out thumbnails *.jpg',
  ],
  sample: { recipe: 'web' },
  async prepare({ recipe, set = [] }, { origin = 'recipe', planOnly = false } = {}) {
    // Loaded here: threads get the recipe checked.
    const { findRecipe } = await import('./recipe/presets.ts');
    return { ...findRecipe(recipe, { origin, set }), ...(planOnly && { planOnly }) };
  },
  images: (recipe) =>
    stepsOf(recipe as Recipe).flatMap(
      ({ name, options }) => STEPS.get(name)!.images?.(options as never) ?? [],
    ),
  variables: (recipe) =>
    stepsOf(recipe as Recipe).flatMap(
      ({ name, options }) => STEPS.get(name)!.variables?.(options as never) ?? [],
    ),
  run: (input, recipe) => runRecipe(input, recipe as unknown as Recipe),
});
