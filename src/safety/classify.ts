import type { TermClass } from './terms.ts';
import { verdictOf } from './verdict.ts';

/** Result of classifying one text, in the shape of the moderation interface. */
export interface Classification {
  readonly flagged: boolean;
  readonly categories: Record<string, boolean>;
  readonly scores: Record<string, number>;
}

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
export function classify(text: string): Classification {
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
