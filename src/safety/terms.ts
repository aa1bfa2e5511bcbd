/**
 * What a term can mean to the rules:
 *
 * - `neutral`: a phrase that means none of what its words mean alone: `mole rat`, `chest of drawers`
 * - `minor`: somebody under 18, whatever else is said; `youth`: the same unless an adult age is said
 * - `girl`: a minor or a pronoun that is female
 * - `grown`: says that a youth beside it is an adult; `adult`: a person who is one
 * - `young`: makes a minor of whoever it stands before, unless that is an `adult`
 * - `thing`: what has an age without being a person: an animal, a drink
 * - `pronoun`: somebody of an earlier sentence
 * - `private`: parts of the body that are never shown; `area`: those never shown bare or dwelt on;
 *   `soft`: those that only lack of clothing makes sensitive, and underwear
 * - `exposure`, `emphasis`: what is done to an area
 * - `nudity`, `suggestive`, `sexual`: explicit by themselves
 * - `negation` stands before what it negates, `absence` after it; `filler` may stand between
 * - `either`: binds a list of negated things
 * - `medical`, `care`, `newborn`, `birth`, `art`, `lesson`, `activity`: contexts, the last one being
 *   sports and play in which boys wear little
 * - `apart`: words that begin another clause or another person: `and`, `while`, `beside`
 * - `evidence`: function words which show that a prompt is in a language
 * - the rest: what the moderation model tells besides
 */
export const TERM_CLASSES = [
  ...([
    'neutral',
    'minor',
    'youth',
    'girl',
    'grown',
    'young',
    'adult',
    'thing',
    'pronoun',
  ] as const),
  ...(['private', 'area', 'soft', 'exposure', 'emphasis'] as const),
  ...(['nudity', 'suggestive', 'sexual'] as const),
  ...(['negation', 'absence', 'filler', 'either'] as const),
  ...(['medical', 'care', 'newborn', 'birth', 'art', 'lesson', 'activity', 'apart'] as const),
  'evidence',
  ...(['violence', 'gore', 'self-harm', 'hate', 'harassment', 'illicit'] as const),
] as const;

export type TermClass = (typeof TERM_CLASSES)[number];

/** The classes whose terms are explicit without any other. */
export const EXPLICIT: ReadonlySet<TermClass> = new Set<TermClass>([
  ...(['nudity', 'suggestive', 'sexual', 'private'] as const),
]);

/** Whether terms of a class may be a violation, by themselves or with others. */
export function canViolate(termClass: TermClass): boolean {
  return EXPLICIT.has(termClass) || termClass === 'area' || termClass === 'soft';
}

/**
 * One language's terms, separated by commas. A term is one or several words; a word that ends with
 * `*` stands for all that begin with it. A term that begins with `~` is also a common word of other
 * languages and counts only where the prompt shows this one. Terms are written as people write them
 * and normalised as prompts are.
 */
export interface Language {
  readonly code: string;
  readonly terms: Readonly<Partial<Record<TermClass, string>>>;
}
