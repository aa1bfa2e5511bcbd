import type { TermClass } from './terms.ts';
import { verdictOf } from './verdict.ts';

export interface Judgement {
  readonly flagged: boolean;
  readonly categories: Record<string, boolean>;
  readonly scores: Record<string, number>;
}

/** The categories of the moderation interface that the rules can tell, by the terms that do. */
const TOLD: Readonly<Record<string, TermClass | null>> = {
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

const SURE = 0.99;
const UNLIKELY = 0.0001;

/** What a moderation model would answer, as far as plain rules can tell. */
export function judge(text: string): Judgement {
  const { isOfMinor, isSexual, classes } = verdictOf(text);
  const categories: Record<string, boolean> = {};
  for (const [category, termClass] of Object.entries(TOLD)) {
    categories[category] = termClass !== null && classes.has(termClass);
  }
  categories['sexual'] = isSexual || isOfMinor;
  categories['sexual/minors'] = isOfMinor;
  categories['violence'] ||= categories['violence/graphic'] ?? false;
  const scores = Object.fromEntries(
    Object.entries(categories).map(([category, isTold]) => [category, isTold ? SURE : UNLIKELY]),
  );
  return { flagged: Object.values(categories).includes(true), categories, scores };
}
