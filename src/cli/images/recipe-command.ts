import { PRESETS } from '../../operations/recipe/recipe.ts';
import type { CommandDefinition } from '../command/command.ts';

/** Looks at recipes, which `oriel run` runs. */
export const recipeCommand: CommandDefinition = {
  name: 'recipe',
  summary: 'Check recipes, show the presets and the JSON Schema',
  subcommands: [
    {
      name: 'check',
      summary: 'Name every fault of a recipe, or say that it is good',
      positionals: [
        { name: 'recipe', description: 'a file, or a preset', required: true, path: true },
      ],
      async run({ positionals: [file] }) {
        const { runRecipeCheck } = await import('./recipe-run.ts');
        return runRecipeCheck(file as string);
      },
    },
    {
      name: 'show',
      summary: 'Print a preset, or list all of them',
      positionals: [{ name: 'name', description: PRESETS.join(', '), choices: PRESETS }],
      async run({ positionals: [name] }) {
        const { runRecipeShow } = await import('./recipe-run.ts');
        return runRecipeShow(name as string | undefined);
      },
    },
    {
      name: 'schema',
      summary: 'Print the JSON Schema that editors check a recipe with',
      async run() {
        const { runRecipeSchema } = await import('./recipe-run.ts');
        return runRecipeSchema();
      },
    },
  ],
};
