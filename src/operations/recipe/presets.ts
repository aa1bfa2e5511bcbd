import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { TextJobs } from '../../threads/text-threads.ts';
import { readRecipeInThread } from './read-in-thread.ts';
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
 * @param threads read it; else the calling thread does
 * @throws Failure with code `invalid_recipe`
 */
export async function findRecipe(
  text: string,
  options: ReadOptions,
  threads?: TextJobs,
): Promise<Recipe> {
  const preset = presetSource(text.trim());
  const source = preset ?? text;
  const named = preset === null ? options : { ...options, origin: text.trim() };
  return threads ? readRecipeInThread(threads, source, named) : readRecipe(source, named);
}
