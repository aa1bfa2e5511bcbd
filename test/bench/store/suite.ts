import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measure } from '../measure.ts';
import { median } from '../race.ts';
import {
  chosenCases,
  type GoalResult,
  type Report,
  type Section,
  type Settings,
  type Suite,
} from '../suite.ts';
import type { StoreFigures } from './contenders/work.ts';

const CASES = ['create', 'alone', 'open'];

/** The built driver, from the compiled place test/bench/.out/store. */
const DRIVER = new URL('../../../.modules/src/store/drivers/open.js', import.meta.url).href;
const contender = (name: string) =>
  fileURLToPath(new URL(`contenders/${name}.js`, import.meta.url));

/** The task store: durable writes, compared with a minimal durable log. */
export const store: Suite = {
  summary: 'durable writes and starts of the task store, against bare appends to a file',
  cases: CASES,
  run,
};

/** Measurements of one contender, by round. */
interface Standing {
  readonly name: string;
  readonly settings: string;
  readonly rounds: StoreFigures[];
}

interface Bench {
  readonly folder: string;
  readonly few: string;
  readonly many: string;
  readonly fewCount: number;
  readonly manyCount: number;
  readonly settings: Settings;
  readonly log: (line: string) => void;
}

async function run(settings: Settings, log: (line: string) => void): Promise<Report> {
  const folder = join(settings.scratch, `store-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const bench: Bench = {
    folder,
    few: join(folder, 'few'),
    many: join(folder, 'many'),
    fewCount: 1000,
    manyCount: settings.quick ? 10_000 : 100_000,
    settings,
    log,
  };
  const chosen = chosenCases(CASES, settings.only);
  const sections: Section[] = [];
  const goals: GoalResult[] = [];
  const raw: Record<string, readonly Standing[]> = {};
  try {
    await work(bench, ['fill', bench.few, `${bench.fewCount}`]);
    if (chosen.some((id) => id !== 'alone')) {
      log(`filling a store with ${bench.manyCount} tasks`);
      await work(bench, ['fill', bench.many, `${bench.manyCount}`]);
    }
    for (const id of chosen) {
      log(id);
      const trial = await { create, alone, open }[id as 'create' | 'alone' | 'open'](bench);
      sections.push(trial.section);
      goals.push(...trial.goals);
      raw[id] = trial.standings;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { versions: {}, sections, goals, faults: [], raw };
}

/** Runs a script. @returns the figures of its last line; none if it only prepares data */
async function script(bench: Bench, args: readonly string[]): Promise<StoreFigures | undefined> {
  const place = join(bench.folder, 'run');
  mkdirSync(place, { recursive: true });
  await measure({ file: process.execPath, args }, place);
  const said = readFileSync(join(place, 'stdout'), 'utf8').trim();
  return said === '' ? undefined : (JSON.parse(said) as StoreFigures);
}

function work(bench: Bench, [what, ...rest]: readonly string[]): Promise<StoreFigures | undefined> {
  return script(bench, [contender('store'), DRIVER, what!, ...rest]);
}

/** Runs on a fresh copy, so that rounds are independent. */
async function onCopy(
  bench: Bench,
  of: string,
  what: string,
  count: number,
): Promise<StoreFigures> {
  const copy = join(bench.folder, 'copy');
  rmSync(copy, { recursive: true, force: true });
  cpSync(of, copy, { recursive: true });
  return (await work(bench, [what, copy, `${count}`]))!;
}

async function append(
  bench: Bench,
  width: number,
  length: number,
  count: number,
): Promise<StoreFigures> {
  const command = appendCommand(width, join(bench.folder, 'appended'), length, count);
  return (await script(bench, command.args))!;
}

/** Arguments of the script that appends lines to a file concurrently and prints its figures. */
export function appendCommand(
  width: number,
  file: string,
  length: number,
  count: number,
): { file: string; args: string[] } {
  const args = [contender('append'), `${width}`, file, `${length}`, `${count}`];
  return { file: process.execPath, args };
}

interface Trial {
  readonly section: Section;
  readonly goals: readonly GoalResult[];
  readonly standings: readonly Standing[];
}

async function create(bench: Bench): Promise<Trial> {
  const count = bench.settings.quick ? 5000 : 20_000;
  const few: Standing = { name: 'oriel, few', settings: `${bench.fewCount} stored`, rounds: [] };
  const many: Standing = { name: 'oriel, many', settings: `${bench.manyCount} stored`, rounds: [] };
  const limit: Standing = { name: 'limit', settings: 'append + fdatasync', rounds: [] };
  for (let round = 0; round < bench.settings.rounds; round += 1) {
    const own = await onCopy(bench, bench.few, 'create', count);
    few.rounds.push(own);
    // Lines of the length that the store writes for one of many concurrent tasks.
    limit.rounds.push(await append(bench, 64, own.bytes, count));
    many.rounds.push(await onCopy(bench, bench.many, 'create', count));
    tellRound(bench, [limit, few, many]);
  }
  return {
    standings: [limit, few, many],
    section: rates(
      'Durable creations, 64 in flight',
      `${count} tasks with their reservations, each acknowledged when it is on disk; the limit appends lines of the same length in groups.`,
      [limit, few, many],
      count,
    ),
    goals: [
      goal('create', 'rate ≥ 0.50 × limit', ratiosOf(limit, few), 0.5, 'higher'),
      goal('create', 'with many stored ≥ 0.80 × with few', ratiosOf(few, many), 0.8, 'higher'),
    ],
  };
}

async function alone(bench: Bench): Promise<Trial> {
  const count = bench.settings.quick ? 1000 : 3000;
  const own: Standing = { name: 'oriel', settings: `${bench.fewCount} stored`, rounds: [] };
  const limit: Standing = { name: 'limit', settings: 'one write + one fsync', rounds: [] };
  for (let round = 0; round < bench.settings.rounds; round += 1) {
    const measured = await onCopy(bench, bench.few, 'alone', count);
    own.rounds.push(measured);
    limit.rounds.push(await append(bench, 1, measured.bytes, count));
    tellRound(bench, [limit, own]);
  }
  return {
    standings: [limit, own],
    section: rates(
      'One durable creation at a time',
      `${count} tasks with their reservations, one after the other; the limit writes lines of the same length.`,
      [limit, own],
      count,
    ),
    goals: [goal('alone', 'time ≤ 1.30 × limit', ratiosOf(own, limit), 1.3, 'lower')],
  };
}

async function open(bench: Bench): Promise<Trial> {
  const own: Standing = { name: 'oriel', settings: `${bench.manyCount} stored`, rounds: [] };
  for (let round = 0; round < bench.settings.rounds; round += 1) {
    own.rounds.push(await onCopy(bench, bench.many, 'open', 0));
    tellRound(bench, [own]);
  }
  const seconds = own.rounds.map((round) => round.seconds);
  return {
    standings: [own],
    section: {
      title: 'Opening a store',
      text: `${bench.manyCount} completed tasks, each with three lines in the ledger.`,
      table: {
        headings: ['contender', 'seconds', 'range', 'ran with'],
        rows: [[own.name, fixed(median(seconds)), range(seconds), own.settings]],
      },
    },
    goals: [goal('open', 'seconds ≤ 2.00', seconds, 2, 'lower')],
  };
}

/** Ratios of two rates, by round. */
function ratiosOf(base: Standing, other: Standing): number[] {
  return base.rounds.map(({ seconds }, round) => seconds / other.rounds[round]!.seconds);
}

function rates(
  title: string,
  text: string,
  standings: readonly Standing[],
  count: number,
): Section {
  const [limit] = standings;
  return {
    title,
    text,
    table: {
      headings: ['contender', 'per second', '÷ limit', 'range', 'bytes each', 'ran with'],
      rows: standings.map((standing) => {
        const ratios = ratiosOf(limit!, standing);
        return [
          standing.name,
          fixed(median(standing.rounds.map(({ seconds }) => count / seconds)), 0),
          fixed(median(ratios)),
          range(ratios),
          fixed(median(standing.rounds.map(({ bytes }) => bytes)), 0),
          standing.settings,
        ];
      }),
    },
  };
}

function goal(
  id: string,
  name: string,
  values: readonly number[],
  bound: number,
  better: 'lower' | 'higher',
): GoalResult {
  const typical = median(values);
  // Rounded as printed, so that the table is consistent.
  const rounded = typical === undefined ? undefined : Number(typical.toFixed(2));
  const best = better === 'lower' ? Math.min(...values) : Math.max(...values);
  const met =
    rounded === undefined ? undefined : better === 'lower' ? rounded <= bound : rounded >= bound;
  return { case: id, goal: name, measured: fixed(typical), atBest: fixed(best), met };
}

function tellRound(bench: Bench, standings: readonly Standing[]): void {
  const said = standings.map(
    ({ name, rounds }) => `${name} ${rounds.at(-1)!.seconds.toFixed(3)} s`,
  );
  bench.log(`  ${said.join(', ')}`);
}

function range(values: readonly number[]): string {
  return `${fixed(Math.min(...values))}–${fixed(Math.max(...values))}`;
}

function fixed(value: number | undefined, digits = 2): string {
  return value === undefined ? '' : value.toFixed(digits);
}
