import { Failure } from '../failure.ts';
import { DEFAULT_LIMITS } from '../images/limits.ts';
import type { Classifications } from '../operations/classify.ts';
import type { ImagePool, JobContext } from '../operations/pool.ts';
import type { Classification } from '../safety/classify.ts';

/** Characters, which take 3 ms at worst; while a thread judges more, others are served. */
const LONG = 2000;

/**
 * Loads and compiles the rules bit by bit. Who needs them earlier gets them, too, but waits: they are not
 * loaded with everything else because a start would take twice as long.
 */
export async function preparePromptRules(): Promise<void> {
  const { prepareLexicon } = await import('../safety/lexicon.ts');
  await Promise.all([loadGate(), prepareLexicon()]);
}

type Gate = typeof import('../safety/check-prompt.ts');

let gate: Gate | undefined;

/** Kept, since even what is loaded already takes microseconds to be imported again. */
async function loadGate(): Promise<Gate> {
  gate ??= await import('../safety/check-prompt.ts');
  return gate;
}

/**
 * Lets a prompt pass, or not.
 *
 * @param param where it stands in the request
 * @throws Failure content_policy; service_error where a long one could not be judged
 */
export async function admitPrompt(
  pool: ImagePool,
  prompt: string,
  param: string,
  context?: JobContext,
): Promise<void> {
  const { checkPrompt, promptRefusal } = gate ?? (await loadGate());
  if (prompt.length <= LONG) {
    checkPrompt(prompt, param);
    return;
  }
  const [classification] = await classifyInThread(pool, [prompt], context);
  if (classification!.categories['sexual/minors']) throw promptRefusal(param);
}

/**
 * What the rules say of texts, one by one.
 *
 * @throws Failure service_error where long ones could not be judged
 */
export async function classifyTexts(
  pool: ImagePool,
  texts: readonly string[],
  context?: JobContext,
): Promise<readonly Classification[]> {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > LONG) return classifyInThread(pool, texts, context);
  const { classify } = await import('../safety/classify.ts');
  return texts.map(classify);
}

async function classifyInThread(
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
  throw new Failure('service_error', `The text could not be judged: ${result.error.message}`, {
    code: 'text_not_judged',
  });
}
