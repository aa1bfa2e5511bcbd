import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { looking, raceLookups } from '../daemon/lookup.ts';
import { Server } from '../daemon/server.ts';
import { fixed, median, Series, spread } from '../series.ts';
import { type Bench, type Trial, tableOf } from '../trial.ts';
import { configOf, queueTasks, startOriel, withOriel, withProvider } from './field.ts';

const MEGABYTE = 1024 * 1024;
/** Milliseconds until an idle daemon has released memory. */
const REST = 1000;
const POLL = 'poll: GET /v1/tasks/{id}';

/** Number of queued tasks. */
const countOf = ({ settings }: Bench): number => (settings.quick ? 1000 : 10_000);

/** Polling of a queued task, as its client does repeatedly. */
export const poll = looking(POLL, (bench) =>
  withProvider(bench, (provider) =>
    withOriel(bench, 'oriel', configOf(provider, 1), async (daemon) => {
      const task = await queueTasks(daemon, countOf(bench));
      const subject = `The last of ${countOf(bench)} queued tasks`;
      return raceLookups(bench, daemon, task, POLL, subject);
    }),
  ),
);

/** Memory growth of a daemon with queued tasks. */
export async function memory(bench: Bench): Promise<Trial> {
  const count = countOf(bench);
  const series = new Series<'before' | 'peak' | 'after'>('oriel');
  await withProvider(bench, async (provider) => {
    for (let round = 0; round < Math.ceil(bench.settings.rounds * 0.4); round += 1) {
      await withOriel(bench, `oriel-${round}`, configOf(provider, 1), async (daemon) => {
        // The first tasks allocate memory that is kept in any case.
        await queueTasks(daemon, 100);
        await sleep(REST);
        const before = daemon.resident() / MEGABYTE;
        await queueTasks(daemon, count);
        const peak = daemon.peak() / MEGABYTE;
        await sleep(REST);
        const after = daemon.resident() / MEGABYTE;
        series.add({ before, peak, after });
        bench.log(`  ${fixed(before, 0)} MB before, ${fixed(after, 0)} MB after`);
      });
    }
  });
  const before = series.values('before');
  const grown = series.values('after').map((size, round) => size - before[round]!);
  const kilobytes = grown.map((size) => (size * 1024) / count);
  return {
    title: 'memory: queued tasks',
    text: `${count} tasks are created, 64 concurrently; their provider accepts one at a time and never completes it.`,
    headings: ['resident', 'MB'],
    rows: [
      ['before', spread(before, 0)],
      ['at its peak meanwhile', spread(series.values('peak'), 0)],
      ['afterwards', spread(series.values('after'), 0)],
      ['more than before', spread(grown, 0)],
      ['KB for each task', spread(kilobytes, 1)],
    ],
    raw: { count, rounds: series.rounds },
  };
}

/** Start time of a daemon after a kill, with all tasks still open. */
export async function restart(bench: Bench): Promise<Trial> {
  const { settings, folder, log } = bench;
  const count = countOf(bench);
  const copy = join(folder, 'copy');
  const empty = new Series<'ready'>('nothing');
  const open = new Series<'ready'>(`${count} tasks`);
  await withProvider(bench, async (provider) => {
    const config = configOf(provider, 1);
    const start = async (data: string) => {
      // Each start gets a fresh copy of the state after the crash.
      rmSync(copy, { recursive: true, force: true });
      cpSync(data, copy, { recursive: true });
      const daemon = await Server.oriel(join(folder, 'daemon'), copy, config);
      await daemon.stop('SIGKILL');
      return daemon.readyAfter;
    };
    const none = await startOriel(bench, 'none', config);
    const many = await startOriel(bench, 'many', config);
    await queueTasks(many.daemon, count);
    for (const { daemon } of [none, many]) await daemon.stop('SIGKILL');
    // The first round warms up and is not counted.
    for (let round = 0; round <= settings.rounds; round += 1) {
      const starts = [await start(none.data), await start(many.data)] as const;
      log(`  ${starts.map((milliseconds) => fixed(milliseconds, 0)).join(' ms, ')} ms`);
      if (round === 0) continue;
      empty.add({ ready: starts[0] });
      open.add({ ready: starts[1] });
    }
  });
  return {
    title: 'restart: oriel serve after kill -9',
    text: 'From the start of the process until GET /readyz responds with 200.',
    ...tableOf(
      [empty, open],
      [
        ['what was open', ({ name }) => name],
        ['ms', (series) => spread(series.values('ready'), 0)],
        [
          'beyond nothing, ms',
          (series) => (series === open ? fixed(median(open.beyond(empty, 'ready')), 0) : ''),
        ],
      ],
    ),
    raw: { count, empty: empty.rounds, open: open.rounds },
  };
}
