import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Trial } from '../cases.ts';
import { median } from '../race.ts';
import { photographs } from './batch.ts';
import { type BatchRequest, convert, dawdle } from './batch-client.ts';
import { METRICS_TOKEN, type Server } from './server.ts';
import { type Bench, curl, fixed, goalOf, KEYS, notMeasured, seed, withDaemon } from './trial.ts';

const MEGABYTE = 1024 * 1024;
const THREADS = availableParallelism();
/** `batch.memory`, in MB: far less than the outputs of the batches, so that the limit is reached. */
const MEMORY = 16;
const AT_ONCE = 4;
const CONFIG = { batch: { memory: `${MEMORY}MB`, concurrency: AT_ONCE } };

const TITLE = 'batch-memory: one batch, several, slow readers';
const GOALS = [
  `${AT_ONCE} batches ≤ 1.25 × one`,
  `${AT_ONCE} slow readers ≤ 1.25 × (one + batch.memory)`,
] as const;

/** Load on a new daemon whose memory is measured. */
interface Load {
  readonly name: string;
  put(daemon: Server): Promise<unknown>;
}

/** The daemon's largest resident set under loads of different concurrency. */
export async function batchMemory(bench: Bench): Promise<Trial> {
  if (curl.file === undefined) return notMeasured('batch-memory', TITLE, curl, GOALS[0]);
  const { settings, folder, log } = bench;
  const { files } = await photographs(bench);
  const { data } = await seed(bench, 'data', 0);
  const request = (number: number): BatchRequest => {
    return { key: KEYS[number % KEYS.length]!, files, output: join(folder, `${number}.zip`) };
  };
  const several = Array.from({ length: AT_ONCE }, (_, number) => request(number));
  const loads: Load[] = [
    { name: 'one batch', put: (daemon) => convert(daemon, request(0)) },
    {
      name: `${AT_ONCE} batches`,
      put: (daemon) => Promise.all(several.map((one) => convert(daemon, one))),
    },
    {
      name: `${AT_ONCE} batches to PNG, slow readers`,
      put: (daemon) => untilIdle(daemon, several),
    },
  ];
  const peaks = loads.map((): number[] => []);
  for (let round = 0; round < Math.ceil(settings.rounds * 0.4); round++) {
    for (const [at, { name, put }] of loads.entries()) {
      // Each in a new daemon, because memory that is not returned to the system would count again.
      const work = async (daemon: Server) => {
        await put(daemon);
        return daemon.peak() / MEGABYTE;
      };
      const peak = await withDaemon(bench, data, work, CONFIG);
      log(`  ${name}: ${fixed(peak, 0)} MB`);
      peaks[at]!.push(peak);
    }
  }
  const [one, four, slow] = peaks as [number[], number[], number[]];
  const bounds = one.map((peak) => peak + MEMORY);
  return {
    section: {
      title: TITLE,
      text:
        `${files.length} photographs of 12 megapixels a batch, with ${THREADS} threads, batch.memory ${MEMORY} MB ` +
        `and batch.concurrency ${AT_ONCE}. Slow readers ask for PNG and take nothing of it; they are watched ` +
        'until no thread has anything to do.',
      table: {
        headings: ['load', 'peak MB', 'beyond one batch, MB'],
        rows: loads.map(({ name }, at) => [
          name,
          fixed(median(peaks[at]!), 0),
          fixed(median(peaks[at]!.map((peak, round) => peak - one[round]!)), 0),
        ]),
      },
    },
    goals: [
      goalOf('batch-memory', GOALS[0], quotients(four, one), 1.25, 'lower'),
      goalOf('batch-memory', GOALS[1], quotients(slow, bounds), 1.25, 'lower'),
    ],
    faults: [],
    raw: Object.fromEntries(loads.map(({ name }, at) => [name, peaks[at]])),
  };
}

function quotients(values: readonly number[], by: readonly number[]): number[] {
  return values.map((value, at) => value / by[at]!);
}

/** Keeps slow readers connected until the daemon makes no more progress for them. */
async function untilIdle(daemon: Server, requests: readonly BatchRequest[]): Promise<void> {
  const enough = new AbortController();
  const readers = requests.map((request) => dawdle(daemon, request, enough.signal));
  const all = Promise.all(readers);
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
