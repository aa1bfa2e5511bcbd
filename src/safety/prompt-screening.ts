import { setTimeout } from 'node:timers/promises';
import { codedFailure } from '../failure.ts';
import type { TextJobs } from '../threads/text-threads.ts';
import { type JobContext, ThreadLostError } from '../threads/threads.ts';
import type { Classification } from './classify.ts';

/** Characters that are classified in this thread, in at most 3 ms; longer texts go to threads. */
const MAX_LENGTH_IN_THREAD = 2000;

/** Milliseconds before terms are compiled: the first seconds of a daemon belong to its first requests. */
const COMPILE_DELAY_MS = 3000;

type Rules = typeof import('./classify.ts') & typeof import('./lexicon.ts');

let loading: Promise<Rules> | undefined;
let rules: Rules | undefined;

/**
 * Loads the rules at once, since later the process may have no free file descriptor, and compiles their
 * terms later or for the first prompt. A start that waited for them would take 0.2 s longer.
 */
export async function preparePromptRules(delayMs = COMPILE_DELAY_MS): Promise<void> {
  await loadRules();
  await setTimeout(delayMs, undefined, { ref: false });
  await compiledRules();
}

function loadRules(): Promise<Rules> {
  loading ??= Promise.all([import('./classify.ts'), import('./lexicon.ts')]).then(
    ([classify, lexicon]) => ({ ...classify, ...lexicon }),
  );
  return loading;
}

async function compiledRules(): Promise<Rules> {
  const loaded = await loadRules();
  await loaded.prepareLexicon();
  rules = loaded;
  return rules;
}

/**
 * Rejects a prompt that violates the rules.
 *
 * @param param path of the prompt in the request
 * @throws Failure content_policy; service_error where a long prompt could not be classified
 */
export async function screenPrompt(
  threads: TextJobs,
  prompt: string,
  param: string,
  context?: JobContext,
): Promise<void> {
  const { checkPrompt, promptRefusal } = rules ?? (await compiledRules());
  if (prompt.length <= MAX_LENGTH_IN_THREAD) {
    checkPrompt(prompt, param);
    return;
  }
  const [classification] = await classifyInThreads(threads, [prompt], context);
  if (classification!.categories['sexual/minors']) throw promptRefusal(param);
}

/**
 * Classifies texts one by one.
 *
 * @throws Failure service_error where long texts could not be classified
 */
export async function classifyTexts(
  threads: TextJobs,
  texts: readonly string[],
  context?: JobContext,
): Promise<readonly Classification[]> {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > MAX_LENGTH_IN_THREAD) return classifyInThreads(threads, texts, context);
  const { classify } = rules ?? (await compiledRules());
  return texts.map(classify);
}

/** Milliseconds to classify the texts of a request. */
const DEADLINE_MS = 60_000;

async function classifyInThreads(
  threads: TextJobs,
  texts: readonly string[],
  context?: JobContext,
): Promise<readonly Classification[]> {
  try {
    return await threads.run('classify', texts, DEADLINE_MS, context);
  } catch (error) {
    if (!(error instanceof ThreadLostError)) throw error;
    throw codedFailure('text_not_judged', `The text could not be classified: ${error.message}`);
  }
}
