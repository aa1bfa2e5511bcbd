import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Interruption } from './measure.ts';
import { chosenCases, type GoalResult, type Report, type Section, type Settings } from './suite.ts';

/** Inputs of a case. */
export interface Bench {
  readonly settings: Settings;
  /** An empty folder of this run. */
  readonly folder: string;
  readonly log: (line: string) => void;
}

/** Result of a case. */
export interface Trial {
  readonly section: Section;
  readonly goals: readonly GoalResult[];
  /** Errors that make its figures incomplete. */
  readonly faults: readonly string[];
  readonly raw: unknown;
}

/** Runs the chosen cases of a suite one after the other, each in a folder of its own. */
export async function runCases(
  suite: string,
  cases: Readonly<Record<string, (bench: Bench) => Promise<Trial>>>,
  settings: Settings,
  log: (line: string) => void,
): Promise<Omit<Report, 'versions'>> {
  const trials = new Map<string, Trial>();
  const faults: string[] = [];
  const runs = join(settings.scratch, `${suite}-${process.pid}`);
  try {
    for (const id of chosenCases(Object.keys(cases), settings.only)) {
      log(id);
      const folder = join(runs, id);
      mkdirSync(folder, { recursive: true });
      try {
        trials.set(id, await cases[id]!({ settings, folder, log }));
      } catch (error) {
        // The other cases go on; the report names the failed one.
        if (error instanceof Interruption) throw error;
        faults.push(`${id}: ${error instanceof Error ? error.message : String(error)}`);
        log(`  ${faults.at(-1)}`);
      }
    }
  } finally {
    rmSync(runs, { recursive: true, force: true });
  }
  const all = [...trials.values()];
  return {
    sections: all.map(({ section }) => section),
    goals: all.flatMap(({ goals }) => goals),
    faults: [...faults, ...all.flatMap((trial) => trial.faults)],
    raw: Object.fromEntries([...trials].map(([id, { raw }]) => [id, raw])),
  };
}
