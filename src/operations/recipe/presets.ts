import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Failure } from '../../failure.ts';
import type { TextJobs } from '../../threads/text-threads.ts';
import { ThreadLostError } from '../../threads/threads.ts';
import { invalidRecipe, type ReadOptions, readRecipe } from './read-recipe.ts';
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

/** The worst recipes within the limits take 0.3 s. */
const DEADLINE_MS = 5000;

/** `readRecipe` in a thread: the event loop would wait while YAML is parsed. @throws Failure with code `invalid_recipe` */
async function readRecipeInThread(
  threads: TextJobs,
  source: string,
  options: ReadOptions,
): Promise<Recipe> {
  const reading = await threads
    .run('readRecipe', { source, ...options }, DEADLINE_MS)
    .catch((error: unknown) => {
      if (!(error instanceof ThreadLostError)) throw error;
      const message = `${options.origin}: could not be read${error.isTimeout ? ' in time' : `: ${error.message}`}`;
      throw invalidRecipe(message);
    });
  if ('recipe' in reading) return reading.recipe;
  const { message, code, param } = reading.refusal;
  throw new Failure('invalid_request', message, {
    ...(code === 'invalid_recipe' && { code }),
    ...(param !== null && { param }),
  });
}
