import { Failure } from '../failure.ts';
import { DEFAULT_LIMITS } from '../images/limits.ts';
import type { Classifications } from '../operations/classify.ts';
import type { ImagePool, JobContext } from '../operations/pool.ts';
import type { Classification } from '../safety/classify.ts';

/** Characters that are classified in this thread, in at most 3 ms; longer texts go to the pool. */
const MAX_LENGTH_IN_THREAD = 2000;

/**
 * Loads the rules and compiles them in slices, after the start: loading them with the other modules
 * would double the time of a start. A prompt that arrives earlier waits for them.
 */
export async function preparePromptRules(): Promise<void> {
  const { prepareLexicon } = await import('../safety/lexicon.ts');
  await Promise.all([loadRules(), prepareLexicon()]);
}

type Rules = typeof import('../safety/check-prompt.ts');

let rules: Rules | undefined;

/** Cached, since importing a loaded module again still takes microseconds. */
async function loadRules(): Promise<Rules> {
  rules ??= await import('../safety/check-prompt.ts');
  return rules;
}

/**
 * Rejects a prompt that violates the rules.
 *
 * @param param path of the prompt in the request
 * @throws Failure content_policy; service_error where a long prompt could not be classified
 */
export async function screenPrompt(
  pool: ImagePool,
  prompt: string,
  param: string,
  context?: JobContext,
): Promise<void> {
  const { checkPrompt, promptRefusal } = rules ?? (await loadRules());
  if (prompt.length <= MAX_LENGTH_IN_THREAD) {
    checkPrompt(prompt, param);
    return;
  }
  const [classification] = await classifyInPool(pool, [prompt], context);
  if (classification!.categories['sexual/minors']) throw promptRefusal(param);
}

/**
 * Classifies texts one by one.
 *
 * @throws Failure service_error where long texts could not be classified
 */
export async function classifyTexts(
  pool: ImagePool,
  texts: readonly string[],
  context?: JobContext,
): Promise<readonly Classification[]> {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > MAX_LENGTH_IN_THREAD) return classifyInPool(pool, texts, context);
  const { classify } = await import('../safety/classify.ts');
  return texts.map(classify);
}

async function classifyInPool(
  pool: ImagePool,
  texts: readonly string[],
  context?: JobContext,
): Promise<readonly Classification[]> {
  const result = await pool.run(
    {
      operation: 'judge',
      options: { texts },
      source: { bytes: new Uint8Array() },
      limits: DEFAULT_LIMITS,
    },
    context,
  );
  if (result.ok) return (result.data as Classifications).classifications;
  throw new Failure('service_error', `The text could not be classified: ${result.error.message}`, {
    code: 'text_not_judged',
  });
}
