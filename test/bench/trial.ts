import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Interruption, measure } from './measure.ts';
import { type Program, programVersion } from './peers.ts';
import { fixed, median } from './series.ts';
import type { Table } from './table.ts';

/** Options of a run. */
export interface Settings {
  /** Counted rounds of Oriel and its limit, after one warm-up. */
  readonly rounds: number;
  /** Retries of a run that other processes disturbed. */
  readonly retries: number;
  /** Small corpus and few rounds, for a smoke test. */
  readonly quick: boolean;
  /** Ids of the cases to run; `undefined` for all. An id takes those that continue it along. */
  readonly only: readonly string[] | undefined;
  /** Names of the contenders to run beside the limit; `undefined` for all. */
  readonly contenders: readonly string[] | undefined;
  /** Names of the contenders to leave out. */
  readonly without: readonly string[];
  /** The folder for installed peers, generated inputs and outputs. Kept between runs. */
  readonly scratch: string;
}

export type Log = (line: string) => void;

/** Inputs of a case. */
export interface Bench {
  readonly settings: Settings;
  /** An empty folder of this run. */
  readonly folder: string;
  readonly log: Log;
}

/** A goal of Oriel, and its measurement. */
interface Goal {
  readonly goal: string;
  readonly measured: string;
  /** The figure of the best runs alone, as an estimate for an idle machine. */
  readonly atBest: string;
  /** Whether the goal was met; `undefined` without a measurement. */
  readonly met: boolean | undefined;
}

/** Result of a case. */
export interface Trial extends Table {
  readonly title: string;
  /** Description of the work, in a sentence or two. */
  readonly text: string;
  readonly goals?: readonly Goal[];
  /** Errors that make its figures incomplete or incomparable; each fails the run. */
  readonly faults?: readonly string[];
  /** Every figure, for `--json`. */
  readonly raw?: unknown;
}

export interface Report {
  /** Versions of the contenders, by name. */
  readonly versions: Record<string, string>;
  readonly sections: readonly { title: string; text: string; table: Table }[];
  readonly goals: readonly (Goal & { readonly case: string })[];
  readonly faults: readonly string[];
  readonly raw: unknown;
}

/** One subject of measurement. The report has the same form for all suites. */
export interface Suite {
  readonly summary: string;
  /** Ids of the cases, for `--only`. */
  readonly cases: readonly string[];
  run(settings: Settings, log: Log): Promise<Report>;
}

export function chosenCases(cases: readonly string[], only: Settings['only']): string[] {
  return cases.filter(
    (id) => only === undefined || only.some((name) => id === name || id.startsWith(`${name}-`)),
  );
}

/** A suite whose cases run one after the other, each in a folder of its own. */
export function suiteOf(
  name: string,
  summary: string,
  cases: Readonly<Record<string, (bench: Bench) => Promise<Trial>>>,
  versions: () => Record<string, string>,
): Suite {
  const run = async (settings: Settings, log: Log): Promise<Report> => {
    const trials = new Map<string, Trial>();
    const faults: string[] = [];
    const runs = join(settings.scratch, `${name}-${process.pid}`);
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
    return { versions: versions(), ...reportOf(trials, faults) };
  };
  return { summary, cases: Object.keys(cases), run };
}

export function reportOf(
  trials: ReadonlyMap<string, Trial>,
  faults: readonly string[] = [],
): Omit<Report, 'versions'> {
  const all = [...trials];
  return {
    sections: all.map(([, { title, text, headings, rows }]) => {
      return { title, text, table: { headings, rows } };
    }),
    goals: all.flatMap(([id, { goals = [] }]) => goals.map((goal) => ({ case: id, ...goal }))),
    faults: [...faults, ...all.flatMap((trial) => trial[1].faults ?? [])],
    raw: Object.fromEntries(all.map(([id, { raw }]) => [id, raw])),
  };
}

/**
 * A goal for the rounds' figures: their median counts, the best one is in the report.
 *
 * @param goal the goal in words, in which `≤` or `≥` stands before the bound
 */
export function goalOf(
  goal: string,
  figures: readonly number[],
  bound: number,
  digits = 2,
  best?: number,
): Goal {
  const isUpper = goal.includes('≤');
  const extreme = isUpper ? Math.min(...figures) : Math.max(...figures);
  const measured = median(figures);
  // Rounded as printed, so that the table is consistent.
  const rounded = Number(measured?.toFixed(digits));
  return {
    goal,
    measured: fixed(measured, digits),
    atBest: measured === undefined ? '' : fixed(best ?? extreme, digits),
    met: measured === undefined ? undefined : isUpper ? rounded <= bound : rounded >= bound,
  };
}

/** A table with a row for each item. */
export function tableOf<Item>(
  items: readonly Item[],
  columns: readonly (readonly [heading: string, cell: (item: Item) => string])[],
): Table {
  return {
    headings: columns.map(([heading]) => heading),
    rows: items.map((item) => columns.map(([, cell]) => cell(item))),
  };
}

/** Reason why a program is not measured; `undefined` if it is installed. */
export function missing({ file, from }: Program): string | undefined {
  return file === undefined ? `not installed (apt-get install ${from})` : undefined;
}

/** A case that needs programs; without them it has no figures, and the report names their packages. */
export function needing(
  programs: readonly Program[],
  title: string,
  goal: string,
  work: (bench: Bench) => Promise<Trial>,
): (bench: Bench) => Promise<Trial> {
  return async (bench) => {
    const absent = programs.find(({ file }) => file === undefined);
    if (absent === undefined) return work(bench);
    const reason = `${absent.name} is ${missing(absent)}`;
    return {
      title,
      text: `Not measured: ${reason}.`,
      ...tableOf(
        [reason],
        [
          ['contender', () => 'oriel'],
          ['note', (note) => note],
        ],
      ),
      goals: [goalOf(goal, [], 0)],
      raw: { absent: absent.name },
    };
  };
}

export function versionsOf(
  programs: Readonly<Record<string, readonly [Program, flag: string]>>,
): Record<string, string> {
  const versions = Object.entries(programs).map(([name, [program, flag]]) => {
    return [name, programVersion(program, [flag])] as const;
  });
  return Object.fromEntries(versions);
}

/** The path of a compiled script: `gateway/contenders/full`. */
export function scriptFile(name: string): string {
  return fileURLToPath(new URL(`${name}.js`, import.meta.url));
}

/** The URL of a built file of Oriel, from the compiled place test/bench/.out. */
export function built(file: string): string {
  return new URL(`../../.modules/src/${file}`, import.meta.url).href;
}

/** Runs one of the scripts to its end. @returns its standard output */
export async function runScript(
  { folder }: Pick<Bench, 'folder'>,
  name: string,
  args: readonly (string | number)[],
): Promise<string> {
  const place = join(folder, 'script');
  mkdirSync(place, { recursive: true });
  const all = [scriptFile(name), ...args.map(String)];
  await measure({ file: process.execPath, args: all }, place);
  return readFileSync(join(place, 'stdout'), 'utf8');
}

/** Runs a script that prints JSON. */
export async function figuresOf<Printed>(...run: Parameters<typeof runScript>): Promise<Printed> {
  return JSON.parse(await runScript(...run)) as Printed;
}
