import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fixed, median, range, Series } from '../series.ts';
import {
  type Bench,
  built,
  figuresOf,
  goalOf,
  runScript,
  suiteOf,
  type Trial,
  tableOf,
} from '../trial.ts';
import type { StoreFigures } from './contenders/work.ts';

type Contender = Series<keyof StoreFigures>;

const DRIVER = built('store/drivers/open.js');
const FEW = 1000;

/** The task store: durable writes, compared with a minimal durable log. */
export const store = suiteOf(
  'store',
  'durable writes and starts of the task store, against bare appends to a file',
  { create, alone, open },
  () => ({}),
);

const manyIn = ({ settings }: Bench): number => (settings.quick ? 10_000 : 100_000);

/** Runs on a fresh copy of a store with a number of tasks, so that rounds are independent. */
async function onCopy(
  bench: Bench,
  stored: number,
  work: string,
  count: number,
): Promise<StoreFigures> {
  const filled = join(bench.folder, `${stored}`);
  if (!existsSync(filled)) {
    if (stored > FEW) bench.log(`  filling a store with ${stored} tasks`);
    await runScript(bench, 'store/contenders/store', [DRIVER, 'fill', filled, stored]);
  }
  const copy = join(bench.folder, 'copy');
  rmSync(copy, { recursive: true, force: true });
  cpSync(filled, copy, { recursive: true });
  return figuresOf(bench, 'store/contenders/store', [DRIVER, work, copy, count]);
}

/** Appends lines to a file, some of them concurrently. */
function append(bench: Bench, width: number, length: number, count: number): Promise<StoreFigures> {
  const args = [width, join(bench.folder, 'appended'), length, count];
  return figuresOf(bench, 'store/contenders/append', args);
}

async function create(bench: Bench): Promise<Trial> {
  const count = bench.settings.quick ? 5000 : 20_000;
  const stored = manyIn(bench);
  const few: Contender = new Series('oriel, few', `${FEW} stored`);
  const many: Contender = new Series('oriel, many', `${stored} stored`);
  const limit: Contender = new Series('limit', 'append + fdatasync');
  for (let round = 0; round < bench.settings.rounds; round += 1) {
    const own = await onCopy(bench, FEW, 'create', count);
    few.add({ ...own });
    // Lines of the length that the store writes for one of many concurrent tasks.
    limit.add({ ...(await append(bench, 64, own.bytes, count)) });
    many.add({ ...(await onCopy(bench, stored, 'create', count)) });
    logRound(bench, [limit, few, many]);
  }
  return {
    title: 'Durable creations, 64 in flight',
    text: `${count} tasks with their reservations, each acknowledged when it is on disk; the limit appends lines of the same length in groups.`,
    ...ratesOf([limit, few, many], count),
    goals: [
      goalOf('rate ≥ 0.50 × limit', limit.over(few, 'seconds'), 0.5),
      goalOf('with many stored ≥ 0.80 × with few', few.over(many, 'seconds'), 0.8),
    ],
  };
}

async function alone(bench: Bench): Promise<Trial> {
  const count = bench.settings.quick ? 1000 : 3000;
  const own: Contender = new Series('oriel', `${FEW} stored`);
  const limit: Contender = new Series('limit', 'one write + one fsync');
  for (let round = 0; round < bench.settings.rounds; round += 1) {
    const measured = await onCopy(bench, FEW, 'alone', count);
    own.add({ ...measured });
    limit.add({ ...(await append(bench, 1, measured.bytes, count)) });
    logRound(bench, [limit, own]);
  }
  return {
    title: 'One durable creation at a time',
    text: `${count} tasks with their reservations, one after the other; the limit writes lines of the same length.`,
    ...ratesOf([limit, own], count),
    goals: [goalOf('time ≤ 1.30 × limit', own.over(limit, 'seconds'), 1.3)],
  };
}

async function open(bench: Bench): Promise<Trial> {
  const stored = manyIn(bench);
  const own: Contender = new Series('oriel', `${stored} stored`);
  for (let round = 0; round < bench.settings.rounds; round += 1) {
    own.add({ ...(await onCopy(bench, stored, 'open', 0)) });
    logRound(bench, [own]);
  }
  return {
    title: 'Opening a store',
    text: `${stored} completed tasks, each with three lines in the ledger.`,
    ...tableOf(
      [own],
      [
        ['contender', ({ name }) => name],
        ['seconds', (series) => fixed(series.median('seconds'))],
        ['range', (series) => range(series.values('seconds'))],
        ['ran with', ({ settings }) => settings],
      ],
    ),
    goals: [goalOf('seconds ≤ 2.00', own.values('seconds'), 2)],
    raw: [own],
  };
}

/** Rates beside that of the first contender. */
function ratesOf(contenders: readonly Contender[], count: number) {
  const limit = contenders[0]!;
  const rate = (series: Contender) => median(series.values('seconds').map((one) => count / one));
  const table = tableOf(contenders, [
    ['contender', ({ name }) => name],
    ['per second', (series) => fixed(rate(series), 0)],
    ['÷ limit', (series) => fixed(median(limit.over(series, 'seconds')))],
    ['range', (series) => range(limit.over(series, 'seconds'))],
    ['bytes each', (series) => fixed(series.median('bytes'), 0)],
    ['ran with', ({ settings }) => settings],
  ]);
  return { ...table, raw: contenders };
}

function logRound({ log }: Bench, contenders: readonly Contender[]): void {
  const said = contenders.map(
    (series) => `${series.name} ${fixed(series.values('seconds').at(-1), 3)} s`,
  );
  log(`  ${said.join(', ')}`);
}
