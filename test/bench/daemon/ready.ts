import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fixed, Series, spread } from '../series.ts';
import { goalOf, type Trial, tableOf } from '../trial.ts';
import { Server } from './server.ts';
import { type Bench, seed } from './trial.ts';

/** Start time of the daemon until it reports readiness. */
export async function ready(bench: Bench): Promise<Trial> {
  const { settings, folder, log } = bench;
  const tasks = settings.quick ? 1000 : 10_000;
  const { data } = await seed(bench, 'stored', tasks);
  const fresh = join(folder, 'fresh');
  const empty = new Series<'wall' | 'cpu'>('empty');
  const stored = new Series<'wall' | 'cpu'>(`${tasks} tasks`);
  const start = async (place: string) => {
    const daemon = await Server.oriel(join(folder, 'daemon'), place);
    const cpu = daemon.cpu() * 1000;
    await daemon.stop();
    return { wall: daemon.readyAfter, cpu };
  };
  // The first round warms up and is not counted.
  for (let round = 0; round <= settings.rounds; round++) {
    rmSync(fresh, { recursive: true, force: true });
    const starts = [await start(fresh), await start(data)] as const;
    log(`  ${starts.map(({ wall }) => fixed(wall, 0)).join(' ms, ')} ms`);
    if (round === 0) continue;
    empty.add(starts[0]);
    stored.add(starts[1]);
  }
  return {
    title: 'ready: oriel serve',
    text: 'From the start of the process until GET /readyz responds with 200.',
    ...tableOf(
      [empty, stored],
      [
        ['data directory', ({ name }) => name],
        ['wall ms', (series) => spread(series.values('wall'), 0)],
        ['CPU ms', (series) => fixed(series.median('cpu'), 0)],
      ],
    ),
    goals: [goalOf('with an empty store ≤ 500 ms', empty.values('wall'), 500, 0)],
    raw: { empty: empty.rounds, stored: stored.rounds },
  };
}
