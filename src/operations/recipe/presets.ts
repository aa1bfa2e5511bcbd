import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type ReadOptions, readRecipe } from './read-recipe.ts';
import { PRESETS, type Recipe } from './recipe.ts';

/** The text of a preset; null where none has this name. */
export function presetSource(name: string): string | null {
  if (!PRESETS.some((preset) => preset === name)) return null;
  const file = createRequire(import.meta.url).resolve(`#config/recipes/${name}.yaml`);
  return readFileSync(file, 'utf8');
}

/**
 * Reads a recipe, or the preset that a text names.
 *
 * @throws Failure with code `invalid_recipe`
 */
export function findRecipe(text: string, options: ReadOptions): Recipe {
  const source = presetSource(text.trim());
  return source === null
    ? readRecipe(text, options)
    : readRecipe(source, { ...options, origin: text.trim() });
}
