import { codedFailure, type Failure } from '../failure.ts';
import type { TermClass } from './terms.ts';
import { isRefused, verdictOf } from './verdict.ts';

/** Result of classifying one text, in the shape of the moderation interface. */
export type Classification = Readonly<ReturnType<typeof classify>>;

/** Categories of the moderation interface, and the terms that set them; null for categories set in code or never. */
const TERM_CLASS_OF: Readonly<Record<string, TermClass | null>> = {
  harassment: 'harassment',
  'harassment/threatening': null,
  hate: 'hate',
  'hate/threatening': null,
  illicit: 'illicit',
  'illicit/violent': null,
  'self-harm': 'self-harm',
  'self-harm/intent': null,
  'self-harm/instructions': null,
  sexual: null,
  'sexual/minors': null,
  violence: 'violence',
  'violence/graphic': 'gore',
};

/** Scores: the rules know no degrees between. */
const FLAGGED_SCORE = 0.99;
const UNFLAGGED_SCORE = 0.0001;

/** Classifies a text as a moderation model would, by the rules for prompts. */
export function classify(text: string) {
  const { isOfMinor, isSexual, classes } = verdictOf(text);
  const categories: Record<string, boolean> = {};
  for (const [category, termClass] of Object.entries(TERM_CLASS_OF)) {
    categories[category] = termClass !== null && classes.has(termClass);
  }
  categories['sexual'] = isSexual || isOfMinor;
  categories['sexual/minors'] = isOfMinor;
  categories['violence'] ||= categories['violence/graphic'] ?? false;
  const scores = Object.fromEntries(
    Object.entries(categories).map(([category, isFlagged]) => [
      category,
      isFlagged ? FLAGGED_SCORE : UNFLAGGED_SCORE,
    ]),
  );
  return { flagged: Object.values(categories).includes(true), categories, scores };
}

/**
 * Refuses a prompt that shows a minor with nudity, sexual content, or bared or emphasised sensitive
 * areas of the body.
 *
 * @throws Failure content_policy
 */
export function checkPrompt(prompt: string, param: string): void {
  if (isRefused(prompt)) throw promptRefusal(param);
}

/** The failure for a refused prompt. Its message does not repeat the prompt. */
export function promptRefusal(param: string): Failure {
  return codedFailure(
    'content_policy',
    `${param} was refused: content that shows minors in a sexual or exposing way cannot be made.`,
    { param },
  );
}
