import { Failure } from '../../failure.ts';
import { DEFAULT_LIMITS } from '../../images/limits.ts';
import type { ThreadOperation } from '../operation.ts';
import type { ImagePool } from '../pool.ts';
import type { ReadOptions } from './read-recipe.ts';
import type { Recipe } from './recipe.ts';

export interface ReadRecipeOptions extends ReadOptions {
  readonly source: string;
}

/** A recipe, or what `readRecipe` threw: the fields of a Failure, since threads pass plain values. */
type Reading =
  | { readonly recipe: Recipe }
  | { readonly refusal: Pick<Failure, 'message' | 'code' | 'param'> };

/** The worst recipes within the limits take 0.3 s. */
const DEADLINE_MS = 5000;

/** Reads a recipe in a thread: the event loop would wait while YAML is parsed. */
export const readRecipeInThread: ThreadOperation<ReadRecipeOptions> = {
  name: 'read-recipe',
  async run(_input, { source, ...options }) {
    // Imported here, so that threads load the parser only for this operation.
    const { readRecipe } = await import('./read-recipe.ts');
    try {
      return { data: { recipe: readRecipe(source, options) } satisfies Reading };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { message, code, param } = error;
      return { data: { refusal: { message, code, param } } satisfies Reading };
    }
  },
};

/** `readRecipe` in a thread of a pool. @throws Failure with code `invalid_recipe` */
export async function readRecipeInPool(
  pool: ImagePool,
  source: string,
  options: ReadOptions,
): Promise<Recipe> {
  const result = await pool.run({
    operation: readRecipeInThread.name,
    options: { source, ...options } satisfies ReadRecipeOptions,
    source: { bytes: new Uint8Array() },
    limits: { ...DEFAULT_LIMITS, deadline: DEADLINE_MS },
  });
  if (!result.ok) {
    const message = `${options.origin}: could not be read: ${result.error.message}`;
    throw new Failure('invalid_request', message, { code: 'invalid_recipe', param: 'recipe' });
  }
  const reading = result.data as Reading;
  if ('recipe' in reading) return reading.recipe;
  const { message, code, param } = reading.refusal;
  throw new Failure('invalid_request', message, {
    ...(code === 'invalid_recipe' && { code }),
    ...(param !== null && { param }),
  });
}
