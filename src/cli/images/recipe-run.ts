import { printable } from '../../operations/batch/filename.ts';
import { findRecipe, presetSource } from '../../operations/recipe/presets.ts';
import { PRESETS } from '../../operations/recipe/recipe.ts';
import { recipeJsonSchema } from '../../operations/recipe/schema.ts';
import { counted } from '../../words.ts';
import { type CommandInput, usageFailure } from '../command/command.ts';
import { readText } from '../files/text-argument.ts';
import { print } from '../terminal/terminal.ts';

/** Checks a recipe. */
export async function runRecipeCheck({ positionals }: CommandInput): Promise<number> {
  const file = String(positionals[0]);
  const text = PRESETS.some((name) => name === file) ? file : readText(file, PRESETS);
  const { steps, outputs } = await findRecipe(text, { origin: file, set: [] });
  const contents = `${counted(steps.length, 'step')}, ${counted(outputs.length, 'output')}`;
  await print(`${printable(file)}: good: ${contents}\n`);
  return 0;
}

/** Prints a preset, or the names of all of them. */
export async function runRecipeShow({ positionals: [name] }: CommandInput): Promise<number> {
  if (name === undefined) {
    for (const preset of PRESETS) {
      const { description = '' } = await findRecipe(preset, { origin: preset, set: [] });
      await print(`${preset.padEnd(12)}${description}\n`);
    }
    return 0;
  }
  const source = presetSource(String(name));
  if (source === null) {
    throw usageFailure(`<name>: expected one of ${PRESETS.join(', ')}, received ${name}`);
  }
  await print(source);
  return 0;
}

/** Prints the JSON Schema of recipes. */
export async function runRecipeSchema(): Promise<number> {
  await print(`${JSON.stringify(recipeJsonSchema(), null, 2)}\n`);
  return 0;
}
