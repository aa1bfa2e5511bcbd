import type { Check, Contender, Measure, Standing } from '../race.ts';
import { median } from '../series.ts';
import type { Corpus, Inputs } from './corpus.ts';
import type { Scripts } from './scripts.ts';

/** Inputs and contenders of a case. */
export interface Bench {
  readonly corpus: Corpus;
  readonly scripts: Scripts;
  readonly quick: boolean;
}

/** Observation of a check, as a column of the table. */
export interface Column {
  readonly key: string;
  readonly heading: string;
  format(value: number): string;
}

/** Standings of the cases that have run, by case. */
export type Standings = ReadonlyMap<string, readonly Standing[]>;

/** A goal for a measurement, over one or several cases. */
export interface ImageGoal {
  /** The goal in words, in which `≤` or `≥` stands before the bound. */
  readonly goal: string;
  measured(standings: Standings): number | undefined;
  /** The figure of the best runs alone, if it differs. */
  atBest?(standings: Standings): number | undefined;
  readonly bound: number;
}

/** A case, ready to run. */
export interface ImageCase {
  readonly title: string;
  readonly text: string;
  readonly contenders: readonly Contender[];
  readonly check: Check;
  readonly columns?: readonly Column[];
  readonly goals: readonly ImageGoal[];
  /** Multiple of the chosen rounds: cases of milliseconds need more of them. */
  readonly repeat?: number;
}

/** Cases by id, each prepared only when it is run. */
export type ImageCases = Record<string, (bench: Bench) => Promise<ImageCase>>;

/** The inputs of a contender. */
export type Files = Pick<Inputs, 'files' | 'list'>;

/** The standing of one role in a case, if it ran. */
export function find(
  standings: Standings,
  id: string,
  role: Contender['role'],
): Standing | undefined {
  return standings.get(id)?.find(({ contender }) => contender.role === role);
}

/** A number of Oriel and of the limit in a case, one divided by the other. */
export function ratioOf(
  standings: Standings,
  id: string,
  figure: (standing: Standing) => number | undefined,
): number | undefined {
  const [own, limit] = (['subject', 'limit'] as const).map((role) => {
    const standing = find(standings, id, role);
    return standing && figure(standing);
  });
  return own === undefined || limit === undefined ? undefined : own / limit;
}

/** Oriel's figure over the limit's: the median of the rounds. */
export function figureRatio(
  standings: Standings,
  id: string,
  measure: Measure,
): number | undefined {
  const own = find(standings, id, 'subject');
  return own && median(own.over(find(standings, id, 'limit'), measure));
}

/** A contender's least figure, which has the least noise. */
export function least(standing: Standing, measure: Measure): number | undefined {
  const values = standing.values(measure);
  return values.length === 0 ? undefined : Math.min(...values);
}

/** Goal: Oriel's figure is at most `bound` of the limit's. */
export function ratioGoal(
  id: string,
  measure: Measure,
  bound: number,
  name: string = measure,
): ImageGoal {
  return {
    goal: `${name} ≤ ${bound.toFixed(2)} × limit`,
    measured: (standings) => figureRatio(standings, id, measure),
    atBest: (standings) => ratioOf(standings, id, (standing) => least(standing, measure)),
    bound,
  };
}
