import type { Hit, Hits } from './hits.ts';
import { nearby } from './nearby.ts';
import { negatedWords } from './negation.ts';
import type { Person } from './people.ts';
import { EXPLICIT, type TermClass } from './terms.ts';
import type { Word } from './words.ts';

/** Something that no minor may be shown with. */
export interface Violation {
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

const DOING: ReadonlySet<TermClass> = new Set<TermClass>(['exposure', 'emphasis']);
const AREAS: ReadonlySet<TermClass> = new Set<TermClass>(['area', 'soft']);

/** The violations of a prompt that neither a negation nor a context takes back. */
export function violationsOf(
  words: readonly Word[],
  hits: Hits,
  people: readonly Person[],
): Violation[] {
  const negated = negatedWords(words, hits);
  const violations: Violation[] = [];
  for (const hit of hits.ofAny(EXPLICIT)) {
    if (negated.has(hit.start)) continue;
    const { sentence } = words[hit.start]!;
    const has = (context: TermClass) => hits.isInSentence(context, sentence);
    if (hit.termClass === 'nudity') {
      if (isArt(words, hit, hits, people)) continue;
      if (has('birth') && isOfNewborn(words, hit, hits, people)) continue;
    }
    if (hit.termClass === 'private') {
      const isShown = has('exposure') || has('emphasis');
      const isTaught = has('lesson') || has('medical');
      if (isTaught && !isShown) continue;
    }
    violations.push({ start: hit.start, end: hit.end, isOfBody: false, termClass: hit.termClass });
  }
  return violations.concat(exposures(words, hits, negated));
}

/** Areas of the body that are bared or dwelt on. */
function exposures(words: readonly Word[], hits: Hits, negated: ReadonlySet<number>): Violation[] {
  const isStanding = ({ start }: Hit) => !negated.has(start);
  const violations: Violation[] = [];
  const doing = hits.ofAny(DOING).filter(isStanding);
  if (doing.length === 0) return violations;
  let first = 0;
  for (const area of hits.ofAny(AREAS).filter(isStanding)) {
    const { termClass, start, end } = area;
    const { sentence } = words[start]!;
    const has = (context: TermClass) => hits.isInSentence(context, sentence);
    const isCare = has('care');
    const isTreated = isCare || has('medical');
    if (termClass === 'soft' && isTreated) continue;
    // A breast is bared to feed a baby.
    if (isCare && has('newborn')) continue;
    const isBoyAtPlay = has('activity') && !has('girl');
    if (termClass === 'soft' && isBoyAtPlay) continue;
    while (first < doing.length && start - doing[first]!.end > REACH.emphasisBefore) first++;
    for (let index = first; index < doing.length; index++) {
      const act = doing[index]!;
      if (act.start - end > REACH.unspaced) break;
      if (act.termClass === 'emphasis' && (termClass === 'soft' || isTreated)) continue;
      if (!reaches(words, act, area)) continue;
      violations.push({
        start: Math.min(start, act.start),
        end: Math.max(end, act.end),
        isOfBody: true,
        termClass,
      });
      break;
    }
  }
  return violations;
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
  if (area.grammar === 'unspaced') return gap <= REACH.unspaced;
  if (act.termClass === 'emphasis') {
    return gap <= (isBefore ? REACH.emphasisBefore : REACH.emphasisAfter);
  }
  if (gap > REACH.exposure) return false;
  // In English what comes after describes what follows it: `a chest with exposed hinges`.
  if (isBefore || act.grammar !== 'english') return true;
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
  hits: Hits,
  people: readonly Person[],
): boolean {
  const { sentence } = words[nudity.start]!;
  const newborns = new Set(
    nearby(hits.of('newborn'), nudity.start, BIRTH_REACH).map(({ start }) => start),
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
  hits: Hits,
  people: readonly Person[],
): boolean {
  const { sentence } = words[nudity.start]!;
  return nearby(hits.of('art'), nudity.start, ART_REACH + 1).some((art) => {
    if (words[art.start]!.sentence !== sentence) return false;
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
      return !nearby(hits.of('apart'), from, ART_REACH + 1).some(
        (apart) => apart.start >= from && apart.start <= to,
      );
    });
  });
}
