/**
 * The entry of a thread for long texts. Each function imports what it needs when it is called, since most
 * threads run only one of them.
 */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';
import { Failure } from '../src/failure.ts';
import type { ReadOptions } from '../src/operations/recipe/read-recipe.ts';
import type { Recipe } from '../src/operations/recipe/recipe.ts';
import type { Classification } from '../src/safety/classify.ts';

try {
  // On few processors, the event loop gets three times as much of them as this thread. Only Linux has its file.
  setPriority(Number(basename(readlinkSync('/proc/thread-self'))), 5);
} catch {
  // The system has no priorities of threads.
}

/** One classification for each text, by the rules that check prompts. */
export async function classify(texts: readonly string[]): Promise<readonly Classification[]> {
  const rules = await import('../src/safety/classify.ts');
  return texts.map(rules.classify);
}

/** Counts tokens of OpenAI's encoding o200k_base. */
export async function countTokens(texts: readonly string[]): Promise<number> {
  const counter = await import('../src/threads/count-tokens.ts');
  return counter.countTokens(texts);
}

/** A recipe, or what `readRecipe` threw: the fields of a Failure, since threads pass plain values. */
export type Reading =
  | { readonly recipe: Recipe }
  | { readonly refusal: Pick<Failure, 'message' | 'code' | 'param'> };

export async function readRecipe({
  source,
  ...options
}: ReadOptions & { readonly source: string }): Promise<Reading> {
  const reader = await import('../src/operations/recipe/read-recipe.ts');
  try {
    return { recipe: reader.readRecipe(source, options) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { message, code, param } = error;
    return { refusal: { message, code, param } };
  }
}
