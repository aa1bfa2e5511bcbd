import type { Table } from './table.ts';

/** What the person who starts a benchmark may choose. */
export interface Settings {
  /** Counted rounds of Oriel and its limit, after one warm-up. */
  rounds: number;
  /** How often a run that other processes disturbed is done again. */
  retries: number;
  /** A small corpus and few rounds, to see that everything runs. */
  quick: boolean;
  /** Ids of the cases to run; `undefined` for all. An id takes those that continue it along. */
  only: readonly string[] | undefined;
  /** Names of the contenders to run beside the limit; `undefined` for all. */
  contenders: readonly string[] | undefined;
  /** Names of the contenders to leave out. */
  without: readonly string[];
  /** The folder for installed peers, generated inputs and outputs. Kept between runs. */
  scratch: string;
}

/** A bound that Oriel sets itself, and where it stands. */
export interface GoalResult {
  case: string;
  goal: string;
  measured: string;
  /** The same from the best runs alone: how it might look on a quiet machine. */
  atBest: string;
  /** `undefined` where nothing was measured. */
  met: boolean | undefined;
}

export interface Section {
  title: string;
  /** What was done to what, in a sentence or two. */
  text: string;
  table: Table;
}

export interface Report {
  /** Versions of what took part, by name. */
  versions: Record<string, string>;
  sections: readonly Section[];
  goals: readonly GoalResult[];
  /** What makes the figures incomplete or incomparable; any of it fails the run. */
  faults: readonly string[];
  /** Every figure, for `--json`. */
  raw: unknown;
}

/** One subject of measurement. A suite says how it measures; the report is the same for all. */
export interface Suite {
  summary: string;
  /** Ids of the cases, for `--only`. */
  cases: readonly string[];
  run(settings: Settings, log: (line: string) => void): Promise<Report>;
}

export function chosenCases(cases: readonly string[], only: Settings['only']): string[] {
  return cases.filter(
    (id) => only === undefined || only.some((name) => id === name || id.startsWith(`${name}-`)),
  );
}
