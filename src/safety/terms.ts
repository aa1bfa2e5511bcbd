/**
 * Classes of terms. The files in config/safety list the terms of each class:
 *
 * - `neutral`: a phrase whose words mean something else alone: `mole rat`, `chest of drawers`
 * - `minor`: a person under 18, whatever age is stated; `youth`: the same unless an adult age is stated
 * - `girl`: a female minor or pronoun
 * - `grown`: states that a youth beside it is an adult; `adult`: an adult person
 * - `young`: makes the person after it a minor, unless that is an `adult`
 * - `thing`: something with an age that is no person: an animal, a drink
 * - `pronoun`: refers to a person of an earlier sentence
 * - `private`: parts of the body that must not be shown; `area`: parts that must not be shown bare or
 *   emphasised; `soft`: parts that are sensitive only without clothing, and underwear
 * - `exposure`, `emphasis`: bares or emphasises an area
 * - `nudity`, `suggestive`, `sexual`: explicit by themselves
 * - `negation` stands before the negated term, `absence` after it; `filler` may stand between
 * - `either`: joins a list of negated terms
 * - `medical`, `care`, `newborn`, `birth`, `art`, `lesson`, `activity`: contexts; `activity` is sports
 *   and play in which boys wear little
 * - `apart`: begins another clause or another person: `and`, `while`, `beside`
 * - `evidence`: function words that show the language of a prompt
 * - the others: further categories of the moderation model
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

/** Classes whose terms are explicit by themselves. */
export const EXPLICIT: ReadonlySet<TermClass> = new Set<TermClass>([
  ...(['nudity', 'suggestive', 'sexual', 'private'] as const),
]);

/** Whether terms of a class can be a violation, by themselves or with others. */
export function canViolate(termClass: TermClass): boolean {
  return EXPLICIT.has(termClass) || termClass === 'area' || termClass === 'soft';
}
