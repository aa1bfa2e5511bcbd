import type { Table } from './table.ts';

/** Options of a run. */
export interface Settings {
  /** Counted rounds of Oriel and its limit, after one warm-up. */
  rounds: number;
  /** Retries of a run that other processes disturbed. */
  retries: number;
  /** Small corpus and few rounds, for a smoke test. */
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

/** A goal of Oriel, and its measurement. */
export interface GoalResult {
  case: string;
  goal: string;
  measured: string;
  /** The figure of the best runs alone, as an estimate for an idle machine. */
  atBest: string;
  /** Whether the goal was met; `undefined` without a measurement. */
  met: boolean | undefined;
}

export interface Section {
  title: string;
  /** Description of the work, in a sentence or two. */
  text: string;
  table: Table;
}

export interface Report {
  /** Versions of the contenders, by name. */
  versions: Record<string, string>;
  sections: readonly Section[];
  goals: readonly GoalResult[];
  /** Errors that make the figures incomplete or incomparable; each fails the run. */
  faults: readonly string[];
  /** Every figure, for `--json`. */
  raw: unknown;
}

/** One subject of measurement. The report has the same form for all suites. */
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
