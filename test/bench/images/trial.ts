import type { Check, Contender, Measure, Standing } from '../race.ts';
import { bestRatio, median, ratios } from '../race.ts';
import type { Corpus } from './corpus.ts';
import type { Programs } from './programs.ts';
import type { Scripts } from './scripts.ts';

/** Inputs and contenders of a case. */
export interface Bench {
  corpus: Corpus;
  scripts: Scripts;
  programs: Programs;
  quick: boolean;
}

/** Observation of a check, as a column of the table. */
export interface Column {
  key: string;
  heading: string;
  format(value: number): string;
}

/** Standings of the cases that have run, by case. */
export type Standings = ReadonlyMap<string, readonly Standing[]>;

/** A goal for a measurement, over one or several cases. */
export interface Goal {
  goal: string;
  measured(standings: Standings): number | undefined;
  /** The figure of the best runs alone, if it differs. */
  atBest?(standings: Standings): number | undefined;
  bound: number;
  better: 'lower' | 'higher';
}

/** A case, ready to run. */
export interface Trial {
  title: string;
  text: string;
  contenders: readonly Contender[];
  check: Check;
  columns?: readonly Column[];
  goals: readonly Goal[];
  /** Multiple of the chosen rounds: cases of milliseconds need more of them. */
  repeat?: number;
}

/** The standing of one role in a case, if it ran. */
export function find(
  standings: Standings,
  id: string,
  role: Contender['role'],
): Standing | undefined {
  return standings.get(id)?.find(({ contender }) => contender.role === role);
}

/** Oriel's figure over the limit's: the median of the rounds. */
export function figureRatio(
  standings: Standings,
  id: string,
  measure: Measure,
): number | undefined {
  const subject = find(standings, id, 'subject');
  const limit = find(standings, id, 'limit');
  return subject && limit && median(ratios(subject, limit, measure));
}

/** Oriel's least figure over the limit's least. */
export function bestFigureRatio(
  standings: Standings,
  id: string,
  measure: Measure,
): number | undefined {
  const subject = find(standings, id, 'subject');
  const limit = find(standings, id, 'limit');
  return subject && limit && bestRatio(subject, limit, measure);
}

/** Oriel's observation over the limit's. */
export function observedRatio(standings: Standings, id: string, key: string): number | undefined {
  const own = find(standings, id, 'subject')?.observation[key];
  const limit = find(standings, id, 'limit')?.observation[key];
  return own === undefined || limit === undefined ? undefined : own / limit;
}

/** Goal: Oriel's figure is at most `bound` of the limit's. */
export function ratioGoal(
  id: string,
  measure: Measure,
  bound: number,
  name: string = measure,
): Goal {
  return {
    goal: `${name} ≤ ${bound.toFixed(2)} × limit`,
    measured: (standings) => figureRatio(standings, id, measure),
    atBest: (standings) => bestFigureRatio(standings, id, measure),
    bound,
    better: 'lower',
  };
}
