import type { Hit, Hits } from './hits.ts';
import { nearby, negatedWords } from './negation.ts';
import type { Person } from './people.ts';
import { EXPLICIT, type TermClass } from './terms.ts';
import type { Word } from './words.ts';

/** What the rules know of one reading of a prompt. */
export interface Reading {
  readonly words: readonly Word[];
  readonly hits: Hits;
  readonly people: readonly Person[];
}

/** Content that a prompt must not combine with a minor. */
export interface Violation {
  readonly start: number;
  readonly end: number;
  /** Whether it shows the body of one person, so that the rules need to know whose. */
  readonly isOfBody: boolean;
}

/** Most words between an exposure and the exposed area; more where each character is a word. */
const REACH = { exposure: 2, emphasisBefore: 6, emphasisAfter: 3, unspaced: 6 } as const;
/** Most words between a work of art and nudity that belongs to it. */
const ART_REACH = 4;
/** Most words between nudity and a newborn. */
const BIRTH_REACH = 40;
/** Most words of a part between commas that counts as a tag. */
const TAG_WORDS = 3;

const EXPOSING: ReadonlySet<TermClass> = new Set<TermClass>(['exposure', 'emphasis']);
const AREAS: ReadonlySet<TermClass> = new Set<TermClass>(['area', 'soft']);

/** The violations of a prompt that neither a negation nor a context excuses. */
export function violationsOf(reading: Reading): Violation[] {
  const { words, hits } = reading;
  const negated = negatedWords(words, hits);
  const violations: Violation[] = [];
  for (const hit of hits.ofAny(EXPLICIT)) {
    if (negated.has(hit.start)) continue;
    const { sentence } = words[hit.start]!;
    const has = (context: TermClass) => hits.isInSentence(context, sentence);
    if (hit.termClass === 'nudity') {
      if (isArt(reading, hit)) continue;
      if (has('birth') && isOfNewborn(reading, hit)) continue;
    }
    if (hit.termClass === 'private') {
      const isShown = has('exposure') || has('emphasis');
      const isTaught = has('lesson') || has('medical');
      if (isTaught && !isShown) continue;
    }
    violations.push({ start: hit.start, end: hit.end, isOfBody: false });
  }
  return violations.concat(exposures(words, hits, negated));
}

/** Areas of the body that are bared or emphasised. */
function exposures(words: readonly Word[], hits: Hits, negated: ReadonlySet<number>): Violation[] {
  const isAffirmed = ({ start }: Hit) => !negated.has(start);
  const violations: Violation[] = [];
  const acts = hits.ofAny(EXPOSING).filter(isAffirmed);
  if (acts.length === 0) return violations;
  let first = 0;
  for (const area of hits.ofAny(AREAS).filter(isAffirmed)) {
    const { termClass, start, end } = area;
    const { sentence } = words[start]!;
    const has = (context: TermClass) => hits.isInSentence(context, sentence);
    const isCare = has('care');
    const isTreated = isCare || has('medical');
    if (termClass === 'soft' && isTreated) continue;
    // Breastfeeding.
    if (isCare && has('newborn')) continue;
    const isBoyAtPlay = has('activity') && !has('girl');
    if (termClass === 'soft' && isBoyAtPlay) continue;
    while (first < acts.length && start - acts[first]!.end > REACH.emphasisBefore) first++;
    for (let index = first; index < acts.length; index++) {
      const act = acts[index]!;
      if (act.start - end > REACH.unspaced) break;
      if (act.termClass === 'emphasis' && (termClass === 'soft' || isTreated)) continue;
      if (!reaches(words, act, area)) continue;
      violations.push({
        start: Math.min(start, act.start),
        end: Math.max(end, act.end),
        isOfBody: true,
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
  // In English an exposure describes the word after it: `a chest with exposed hinges`.
  if (isBefore || act.grammar !== 'english') return true;
  return words[act.end]?.segment !== one.segment;
}

function isTag(words: readonly Word[], at: number): boolean {
  const { segment } = words[at]!;
  return words[at - TAG_WORDS]?.segment !== segment || words[at + TAG_WORDS]?.segment !== segment;
}

/** Whether every minor of the sentence is a newborn. */
function isOfNewborn({ words, hits, people }: Reading, nudity: Hit): boolean {
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

/** Whether the nudity is that of a statue or painting that shows no minor. */
function isArt({ words, hits, people }: Reading, nudity: Hit): boolean {
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
