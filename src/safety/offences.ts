import type { Hit } from './lexicon.ts';
import { nearby } from './nearby.ts';
import { negatedWords } from './negation.ts';
import type { Person } from './people.ts';
import { EXPLICIT, type TermClass } from './terms.ts';
import type { Word } from './words.ts';

/** Something that no minor may be shown with. */
export interface Offence {
  readonly start: number;
  readonly end: number;
  /** Whether it shows the body of one person, so that it matters whose. */
  readonly isOfBody: boolean;
  readonly termClass: TermClass;
}

/** Words between an exposure and what it exposes. Where each character is a word, a few more. */
const REACH = { exposure: 2, emphasisBefore: 6, emphasisAfter: 3, unspaced: 6 } as const;
/** Words between a work of art and the nudity that is its own. */
const ART_REACH = 4;
/** Words around nudity in which a newborn may be named. */
const BIRTH_REACH = 40;
/** A part between commas that is short enough to be a tag. */
const TAG = 3;
const UNSPACED = new Set(['zh', 'ja']);

/** Whether a term may be an offence, by itself or with others. */
export function isOffensive({ termClass }: Hit): boolean {
  return EXPLICIT.has(termClass) || termClass === 'area' || termClass === 'soft';
}

/** The offences of a prompt that neither a negation nor a context takes back, in order. */
export function offencesOf(
  words: readonly Word[],
  hits: readonly Hit[],
  people: readonly Person[],
): Offence[] {
  const negated = negatedWords(words, hits);
  const contexts = contextsOf(words, hits);
  const standing = hits.filter(({ start }) => !negated.has(start));
  const offences: Offence[] = [];
  for (const hit of standing) {
    if (!EXPLICIT.has(hit.termClass)) continue;
    const sentence = words[hit.start]!.sentence;
    if (hit.termClass === 'nudity') {
      if (isArt(words, hit, hits, people)) continue;
      if (contexts.has(`birth ${sentence}`) && isOfNewborn(words, hit, hits, people)) continue;
    }
    if (hit.termClass === 'private') {
      const isShown = contexts.has(`exposure ${sentence}`) || contexts.has(`emphasis ${sentence}`);
      const isTaught = contexts.has(`lesson ${sentence}`) || contexts.has(`medical ${sentence}`);
      if (isTaught && !isShown) continue;
    }
    offences.push({ start: hit.start, end: hit.end, isOfBody: false, termClass: hit.termClass });
  }
  offences.push(...exposures(words, standing, contexts));
  return offences.sort((one, other) => one.start - other.start);
}

/** Which contexts each sentence has. */
function contextsOf(words: readonly Word[], hits: readonly Hit[]): Set<string> {
  return new Set(hits.map(({ termClass, start }) => `${termClass} ${words[start]!.sentence}`));
}

/** Areas of the body that are bared or dwelt on. */
function exposures(
  words: readonly Word[],
  hits: readonly Hit[],
  contexts: ReadonlySet<string>,
): Offence[] {
  const offences: Offence[] = [];
  const doing = hits.filter(
    ({ termClass }) => termClass === 'exposure' || termClass === 'emphasis',
  );
  if (doing.length === 0) return offences;
  let first = 0;
  for (const area of hits) {
    const { termClass, start, end } = area;
    if (termClass !== 'area' && termClass !== 'soft') continue;
    const { sentence } = words[start]!;
    const isCare = contexts.has(`care ${sentence}`);
    const isTreated = isCare || contexts.has(`medical ${sentence}`);
    if (termClass === 'soft' && isTreated) continue;
    // A breast is bared to feed a baby.
    if (isCare && contexts.has(`newborn ${sentence}`)) continue;
    const isBoyAtPlay = contexts.has(`activity ${sentence}`) && !contexts.has(`girl ${sentence}`);
    if (termClass === 'soft' && isBoyAtPlay) continue;
    while (first < doing.length && start - doing[first]!.end > REACH.emphasisBefore) first++;
    for (let index = first; index < doing.length; index++) {
      const act = doing[index]!;
      if (act.start - end > REACH.unspaced) break;
      if (act.termClass === 'emphasis' && (termClass === 'soft' || isTreated)) continue;
      if (!reaches(words, act, area)) continue;
      offences.push({
        start: Math.min(start, act.start),
        end: Math.max(end, act.end),
        isOfBody: true,
        termClass,
      });
      break;
    }
  }
  return offences;
}

function reaches(words: readonly Word[], act: Hit, area: Hit): boolean {
  const isBefore = act.end <= area.start;
  const gap = isBefore ? area.start - act.end : act.start - area.end;
  const one = words[act.start]!;
  const other = words[area.start]!;
  if (one.sentence !== other.sentence) return false;
  if (one.segment !== other.segment) {
    return gap <= 1 && isTag(words, act.start) && isTag(words, area.start);
  }
  if (UNSPACED.has(area.language)) return gap <= REACH.unspaced;
  if (act.termClass === 'emphasis') {
    return gap <= (isBefore ? REACH.emphasisBefore : REACH.emphasisAfter);
  }
  if (gap > REACH.exposure) return false;
  // In English what comes after describes what follows it: `a chest with exposed hinges`.
  if (isBefore || act.language !== 'en') return true;
  return words[act.end]?.segment !== one.segment;
}

function isTag(words: readonly Word[], at: number): boolean {
  const { segment } = words[at]!;
  return words[at - TAG]?.segment !== segment || words[at + TAG]?.segment !== segment;
}

/** Whether every minor of the sentence is a newborn. */
function isOfNewborn(
  words: readonly Word[],
  nudity: Hit,
  hits: readonly Hit[],
  people: readonly Person[],
): boolean {
  const { sentence } = words[nudity.start]!;
  const newborns = new Set(
    nearby(hits, nudity.start, BIRTH_REACH)
      .filter(({ termClass }) => termClass === 'newborn')
      .map(({ start }) => start),
  );
  return (
    newborns.size > 0 &&
    nearby(people, nudity.start, BIRTH_REACH).every(
      ({ start, isMinor }) =>
        !isMinor || newborns.has(start) || words[start]!.sentence !== sentence,
    )
  );
}

/** Whether nudity is a statue's or a painting's, and neither is of a minor. */
function isArt(
  words: readonly Word[],
  nudity: Hit,
  hits: readonly Hit[],
  people: readonly Person[],
): boolean {
  const { sentence } = words[nudity.start]!;
  return nearby(hits, nudity.start, ART_REACH + 1).some((art) => {
    if (art.termClass !== 'art' || words[art.start]!.sentence !== sentence) return false;
    const start = Math.min(art.start, nudity.start);
    const end = Math.max(art.end, nudity.end);
    if (end - start > ART_REACH + 2) return false;
    return !nearby(people, end, ART_REACH + 1).some((person) => {
      if (!person.isMinor || person.end <= start - 2 || person.start > end + ART_REACH)
        return false;
      if (person.start < end && person.end > start) return true;
      const from = person.start >= end ? end : person.end;
      const to = person.start >= end ? person.start : start;
      if (words[from - 1]!.sentence !== words[to]!.sentence) return false;
      return !nearby(hits, from, ART_REACH + 1).some(
        (hit) => hit.termClass === 'apart' && hit.start >= from && hit.start <= to,
      );
    });
  });
}
