import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Trial } from '../cases.ts';
import { median } from '../race.ts';
import { Server } from './server.ts';
import { type Bench, fixed, goalOf, seed, spread } from './trial.ts';

interface Start {
  /** Time from spawn to a response of /readyz. */
  readonly milliseconds: number;
  readonly cpuMilliseconds: number;
}

/** Start time of the daemon until it reports readiness. */
export async function ready(bench: Bench): Promise<Trial> {
  const { settings, folder, log } = bench;
  const tasks = settings.quick ? 1000 : 10_000;
  const { data } = await seed(bench, 'stored', tasks);
  const fresh = join(folder, 'fresh');
  const empty: Start[] = [];
  const stored: Start[] = [];
  // The first round warms up and is not counted.
  for (let round = 0; round <= settings.rounds; round++) {
    rmSync(fresh, { recursive: true, force: true });
    const starts = [await start(bench, fresh), await start(bench, data)] as const;
    log(`  ${starts.map(({ milliseconds }) => fixed(milliseconds, 0)).join(' ms, ')} ms`);
    if (round === 0) continue;
    empty.push(starts[0]);
    stored.push(starts[1]);
  }
  const row = (name: string, starts: readonly Start[]) => [
    name,
    spread(walls(starts), 0),
    fixed(median(starts.map(({ cpuMilliseconds }) => cpuMilliseconds)), 0),
  ];
  return {
    section: {
      title: 'ready: oriel serve',
      text: 'From the start of the process until GET /readyz responds with 200.',
      table: {
        headings: ['data directory', 'wall ms', 'CPU ms'],
        rows: [row('empty', empty), row(`${tasks} tasks`, stored)],
      },
    },
    goals: [goalOf('ready', 'with an empty store ≤ 500 ms', walls(empty), 500, 'lower', 0)],
    faults: [],
    raw: { empty, stored },
  };
}

function walls(starts: readonly Start[]): number[] {
  return starts.map(({ milliseconds }) => milliseconds);
}

async function start({ folder }: Bench, data: string): Promise<Start> {
  const daemon = await Server.oriel(join(folder, 'daemon'), data);
  const cpuMilliseconds = daemon.cpu() * 1000;
  await daemon.stop();
  return { milliseconds: daemon.readyAfter, cpuMilliseconds };
}
