import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Trial } from '../cases.ts';
import { Server } from '../daemon/server.ts';
import { fixed, spread } from '../daemon/trial.ts';
import { median } from '../race.ts';
import { configOf, queueTasks, startOriel, withProvider } from './field.ts';

const MEGABYTE = 1024 * 1024;
/** Milliseconds until an idle daemon has released memory. */
const REST = 1000;

/** Number of queued tasks. */
function countOf({ settings }: Bench): number {
  return settings.quick ? 1000 : 10_000;
}

/** Memory growth of a daemon with queued tasks. */
export async function memory(bench: Bench): Promise<Trial> {
  const count = countOf(bench);
  const before: number[] = [];
  const after: number[] = [];
  const peaks: number[] = [];
  await withProvider(bench, async (provider) => {
    for (let round = 0; round < Math.ceil(bench.settings.rounds * 0.4); round += 1) {
      const { daemon } = await startOriel(bench, `oriel-${round}`, configOf(provider, 1));
      try {
        // The first tasks allocate memory that is kept in any case.
        await queueTasks(daemon, 100);
        await sleep(REST);
        before.push(daemon.resident() / MEGABYTE);
        await queueTasks(daemon, count);
        peaks.push(daemon.peak() / MEGABYTE);
        await sleep(REST);
        after.push(daemon.resident() / MEGABYTE);
        bench.log(`  ${fixed(before.at(-1), 0)} MB before, ${fixed(after.at(-1), 0)} MB after`);
      } finally {
        await daemon.kill();
      }
    }
  });
  const grown = after.map((size, round) => size - before[round]!);
  return {
    section: {
      title: 'memory: queued tasks',
      text: `${count} tasks are created, 64 concurrently; their provider accepts one at a time and never completes it.`,
      table: {
        headings: ['resident', 'MB'],
        rows: [
          ['before', spread(before, 0)],
          ['at its peak meanwhile', spread(peaks, 0)],
          ['afterwards', spread(after, 0)],
          ['more than before', spread(grown, 0)],
          [
            'KB for each task',
            spread(
              grown.map((size) => (size * 1024) / count),
              1,
            ),
          ],
        ],
      },
    },
    goals: [],
    faults: [],
    raw: { count, before, peaks, after },
  };
}

/** Start time of a daemon after a kill, with all tasks still open. */
export async function restart(bench: Bench): Promise<Trial> {
  const { settings, folder, log } = bench;
  const count = countOf(bench);
  const copy = join(folder, 'copy');
  const empty: number[] = [];
  const open: number[] = [];
  await withProvider(bench, async (provider) => {
    const config = configOf(provider, 1);
    const start = async (data: string) => {
      // Each start gets a fresh copy of the state after the crash.
      rmSync(copy, { recursive: true, force: true });
      cpSync(data, copy, { recursive: true });
      const daemon = await Server.oriel(join(folder, 'daemon'), copy, config);
      await daemon.kill();
      return daemon.readyAfter;
    };
    const [none, many] = [
      await startOriel(bench, 'none', config),
      await startOriel(bench, 'many', config),
    ];
    await queueTasks(many.daemon, count);
    await none.daemon.kill();
    await many.daemon.kill();
    // The first round warms up and is not counted.
    for (let round = 0; round <= settings.rounds; round += 1) {
      const starts = [await start(none.data), await start(many.data)] as const;
      log(`  ${starts.map((milliseconds) => fixed(milliseconds, 0)).join(' ms, ')} ms`);
      if (round === 0) continue;
      empty.push(starts[0]);
      open.push(starts[1]);
    }
  });
  const more = open.map((milliseconds, round) => milliseconds - empty[round]!);
  return {
    section: {
      title: 'restart: oriel serve after kill -9',
      text: 'From the start of the process until GET /readyz responds with 200.',
      table: {
        headings: ['what was open', 'ms', 'beyond nothing, ms'],
        rows: [
          ['nothing', spread(empty, 0), ''],
          [`${count} tasks`, spread(open, 0), fixed(median(more), 0)],
        ],
      },
    },
    goals: [],
    faults: [],
    raw: { count, empty, open },
  };
}
