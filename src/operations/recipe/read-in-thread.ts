import { Failure } from '../../failure.ts';
import type { TextJobs } from '../../threads/text-threads.ts';
import { ThreadLostError } from '../../threads/threads.ts';
import type { ReadOptions } from './read-recipe.ts';
import type { Recipe } from './recipe.ts';

/** The worst recipes within the limits take 0.3 s. */
const DEADLINE_MS = 5000;

/** `readRecipe` in a thread: the event loop would wait while YAML is parsed. @throws Failure with code `invalid_recipe` */
export async function readRecipeInThread(
  threads: TextJobs,
  source: string,
  options: ReadOptions,
): Promise<Recipe> {
  const reading = await threads
    .run('readRecipe', { source, ...options }, DEADLINE_MS)
    .catch((error: unknown) => {
      if (!(error instanceof ThreadLostError)) throw error;
      const message = `${options.origin}: could not be read${error.isTimeout ? ' in time' : `: ${error.message}`}`;
      throw new Failure('invalid_request', message, { code: 'invalid_recipe', param: 'recipe' });
    });
  if ('recipe' in reading) return reading.recipe;
  const { message, code, param } = reading.refusal;
  throw new Failure('invalid_request', message, {
    ...(code === 'invalid_recipe' && { code }),
    ...(param !== null && { param }),
  });
}
