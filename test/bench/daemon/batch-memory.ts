import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixed, median, Series } from '../series.ts';
import { goalOf, type Trial, tableOf } from '../trial.ts';
import { photographs } from './batch.ts';
import { type BatchRequest, convert, dawdle } from './batch-client.ts';
import { METRICS_TOKEN, type Server } from './server.ts';
import { type Bench, KEYS, seed, withDaemon } from './trial.ts';

const MEGABYTE = 1024 * 1024;
const THREADS = availableParallelism();
/** `batch.memory`, in MB: far less than the outputs of the batches, so that the limit is reached. */
const MEMORY = 16;
const AT_ONCE = 4;
const CONFIG = { batch: { memory: `${MEMORY}MB`, concurrency: AT_ONCE } };

export const BATCH_MEMORY = {
  title: 'batch-memory: one batch, several, slow readers',
  goal: `${AT_ONCE} batches ≤ 1.25 × one`,
};

/** The daemon's largest resident set under loads of different concurrency. */
export async function batchMemory(bench: Bench): Promise<Trial> {
  const { settings, folder, log } = bench;
  const { files } = await photographs(bench);
  const { data } = await seed(bench, 'data', 0);
  const several = Array.from({ length: AT_ONCE }, (_, number): BatchRequest => {
    return { key: KEYS[number % KEYS.length]!, files, output: join(folder, `${number}.zip`) };
  });
  const one = new Series<'peak'>('one batch');
  const four = new Series<'peak'>(`${AT_ONCE} batches`);
  const slow = new Series<'peak'>(`${AT_ONCE} batches to PNG, slow readers`);
  const all = [one, four, slow];
  const loads = new Map<Series<'peak'>, (daemon: Server) => Promise<unknown>>([
    [one, (daemon) => convert(daemon, several[0]!)],
    [four, (daemon) => Promise.all(several.map((request) => convert(daemon, request)))],
    [slow, (daemon) => untilIdle(daemon, several)],
  ]);
  for (let round = 0; round < Math.ceil(settings.rounds * 0.4); round++) {
    for (const [series, put] of loads) {
      // Each in a new daemon, because memory that is not returned to the system would count again.
      const work = async (daemon: Server) => {
        await put(daemon);
        return daemon.peak() / MEGABYTE;
      };
      const peak = await withDaemon(bench, data, work, CONFIG);
      log(`  ${series.name}: ${fixed(peak, 0)} MB`);
      series.add({ peak });
    }
  }
  const bounds = one.values('peak').map((peak) => peak + MEMORY);
  const slowRatios = slow.values('peak').map((peak, round) => peak / bounds[round]!);
  return {
    title: BATCH_MEMORY.title,
    text:
      `${files.length} photographs of 12 megapixels a batch, with ${THREADS} threads, batch.memory ${MEMORY} MB ` +
      `and batch.concurrency ${AT_ONCE}. Slow readers ask for PNG and take nothing of it; they are watched ` +
      'until no thread has anything to do.',
    ...tableOf(all, [
      ['load', ({ name }) => name],
      ['peak MB', (series) => fixed(series.median('peak'), 0)],
      ['beyond one batch, MB', (series) => fixed(median(series.beyond(one, 'peak')), 0)],
    ]),
    goals: [
      goalOf(BATCH_MEMORY.goal, four.over(one, 'peak'), 1.25),
      goalOf(`${AT_ONCE} slow readers ≤ 1.25 × (one + batch.memory)`, slowRatios, 1.25),
    ],
    raw: Object.fromEntries(all.map((series) => [series.name, series.values('peak')])),
  };
}

/** Keeps slow readers connected until the daemon makes no more progress for them. */
async function untilIdle(daemon: Server, requests: readonly BatchRequest[]): Promise<void> {
  const enough = new AbortController();
  const all = Promise.all(requests.map((request) => dawdle(daemon, request, enough.signal)));
  try {
    while ((await figure(daemon, 'oriel_batches_running')) < requests.length) await sleep(50);
    let idle = 0;
    while (idle < 5) {
      idle = (await figure(daemon, 'oriel_pool_jobs_running')) === 0 ? idle + 1 : 0;
      await sleep(100);
    }
  } finally {
    enough.abort();
  }
  await all;
}

/** One metric of /metrics. */
async function figure({ url }: Server, name: string): Promise<number> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
  if (value === undefined) throw new Error(`/metrics says nothing of ${name}`);
  return Number(value);
}
