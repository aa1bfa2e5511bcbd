import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench as CaseBench, Trial } from '../cases.ts';
import type { Corpus } from '../images/corpus.ts';
import { measure } from '../measure.ts';
import { findProgram } from '../peers.ts';
import { median } from '../race.ts';
import type { GoalResult } from '../suite.ts';
import { Server } from './server.ts';

/** The keys of two accounts; the first has the tasks. */
export const KEYS = ['oriel_bench_key_of_the_first_account', 'oriel_bench_key_of_the_second_one'];

/** Inputs of a case of this suite. */
export interface Bench extends CaseBench {
  readonly corpus: Corpus;
}

export const wrk = findProgram('wrk', 'wrk');
export const curl = findProgram('curl', 'curl');

/** Runs one of the scripts in contenders/. @returns its standard output */
export async function script(
  { folder }: Pick<Bench, 'folder'>,
  name: string,
  args: readonly string[],
): Promise<string> {
  const place = join(folder, 'script');
  mkdirSync(place, { recursive: true });
  await measure({ file: process.execPath, args: [contender(name), ...args] }, place);
  return readFileSync(join(place, 'stdout'), 'utf8');
}

/** The path of a script in contenders/. */
export function contender(name: string): string {
  return fileURLToPath(new URL(`contenders/${name}.js`, import.meta.url));
}

/** The URL of a built file of Oriel, relative to the compiled test/bench/.out/daemon. */
export function built(file: string): string {
  return new URL(`../../../.modules/src/${file}`, import.meta.url).href;
}

/**
 * A new data directory with the accounts of KEYS and some finished tasks.
 *
 * @param driver module that opens the store
 * @returns the last task's id
 */
export async function seed(
  bench: Pick<Bench, 'folder'>,
  name: string,
  tasks: number,
  driver = built('store/drivers/open.js'),
): Promise<{ data: string; task: string }> {
  const data = join(bench.folder, name);
  mkdirSync(data, { recursive: true });
  const store = join(data, 'store');
  return { data, task: await script(bench, 'seed', [driver, store, `${tasks}`, ...KEYS]) };
}

/** Runs work with a daemon on a data directory. */
export async function withDaemon<Value>(
  bench: Pick<Bench, 'folder'>,
  data: string,
  work: (daemon: Server) => Promise<Value>,
  config: object = {},
): Promise<Value> {
  const daemon = await Server.oriel(join(bench.folder, 'daemon'), data, config);
  try {
    return await work(daemon);
  } finally {
    await daemon.stop();
  }
}

/** A goal for the rounds' figures: their median counts, the best one is in the report. */
export function goalOf(
  id: string,
  goal: string,
  figures: readonly number[],
  bound: number,
  better: 'lower' | 'higher',
  digits = 2,
): GoalResult {
  const measured = median(figures);
  const best = better === 'lower' ? Math.min(...figures) : Math.max(...figures);
  // Rounded as printed, so that the table is consistent.
  const rounded = measured === undefined ? undefined : Number(measured.toFixed(digits));
  return {
    case: id,
    goal,
    measured: fixed(measured, digits),
    atBest: figures.length === 0 ? '' : fixed(best, digits),
    met:
      rounded === undefined ? undefined : better === 'lower' ? rounded <= bound : rounded >= bound,
  };
}

/** A case without figures, because a program is not installed. */
export function notMeasured(
  id: string,
  title: string,
  program: { name: string; from: string },
  goal: string,
): Trial {
  const reason = `${program.name} is not installed (apt-get install ${program.from})`;
  return {
    section: {
      title,
      text: `Not measured: ${reason}.`,
      table: { headings: ['contender', 'note'], rows: [['oriel', reason]] },
    },
    goals: [{ case: id, goal, measured: '', atBest: '', met: undefined }],
    faults: [],
    raw: { absent: program.name },
  };
}

export function fixed(value: number | undefined, digits = 2): string {
  return value === undefined ? '' : value.toFixed(digits);
}

/** `0.91 (0.88–0.95)` */
export function spread(values: readonly number[], digits = 2): string {
  if (values.length === 0) return '';
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return `${fixed(median(values), digits)} (${fixed(least, digits)}–${fixed(most, digits)})`;
}
