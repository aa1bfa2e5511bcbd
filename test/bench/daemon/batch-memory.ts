import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { median } from '../race.ts';
import { photographs } from './batch.ts';
import { convert } from './batch-client.ts';
import {
  type Bench,
  curl,
  fixed,
  goalOf,
  KEYS,
  notMeasured,
  seed,
  type Trial,
  withDaemon,
} from './trial.ts';

const MEGABYTE = 1024 * 1024;
/** Of `batch.memory`: less than what the batches give, so that it can be seen to bound them. */
const MEMORY = 16;
const AT_ONCE = 4;
/** Bytes a second of a slow reader, beyond what sockets swallow at once. */
const PACE = 4 * MEGABYTE;

const TITLE = 'batch-memory: one batch, several, slow readers';
const GOAL = `${AT_ONCE} slow batches' peak beyond one's ≤ batch.memory`;

/** The daemon's largest resident set, always of a daemon that has worked before. */
export async function batchMemory(bench: Bench): Promise<Trial> {
  if (curl.file === undefined) return notMeasured('batch-memory', TITLE, curl, GOAL);
  const { settings, folder, log } = bench;
  const { files } = await photographs(bench);
  const { data } = await seed(bench, 'data', 0);
  const config = { batch: { memory: `${MEMORY}MB`, concurrency: AT_ONCE } };
  const kinds = [
    { name: 'one batch', batches: 1 },
    { name: `${AT_ONCE} batches`, batches: AT_ONCE },
    { name: `${AT_ONCE} batches, slow readers`, batches: AT_ONCE, pace: PACE },
  ];
  const peaks = kinds.map((): number[] => []);
  let bytes = 0;
  const rounds = Math.ceil(settings.rounds * 0.4);
  for (let round = 0; round < rounds; round++) {
    for (const [at, { name, batches, pace }] of kinds.entries()) {
      // Each in a daemon of its own: memory that the system was not given back would count again.
      const peak = await withDaemon(
        bench,
        data,
        async (daemon) => {
          const send = (number: number) => {
            const output = join(folder, `${number}.zip`);
            const key = KEYS[number % KEYS.length]!;
            return convert(daemon, { key, files, output, ...(pace !== undefined && { pace }) });
          };
          const answers = await Promise.all(Array.from({ length: batches }, (_, n) => send(n)));
          bytes = answers[0]!.bytes;
          return daemon.peak();
        },
        config,
      );
      log(`  ${name}: ${fixed(peak / MEGABYTE, 0)} MB`);
      peaks[at]!.push(peak / MEGABYTE);
    }
  }
  const [one, , slow] = peaks as [number[], number[], number[]];
  const beyond = slow.map((peak, round) => peak - one[round]!);
  return {
    section: {
      title: TITLE,
      text:
        `${files.length} photographs of 12 megapixels a batch, ${fixed(bytes / MEGABYTE, 0)} MB of WebP each; ` +
        `batch.memory ${MEMORY} MB, batch.concurrency ${AT_ONCE}, ${availableParallelism()} threads; a slow ` +
        `reader takes ${PACE / MEGABYTE} MB a second.`,
      table: {
        headings: ['load', 'peak MB', 'beyond one batch, MB'],
        rows: kinds.map(({ name }, at) => [
          name,
          fixed(median(peaks[at]!), 0),
          fixed(median(peaks[at]!.map((peak, round) => peak - one[round]!)), 0),
        ]),
      },
    },
    goals: [goalOf('batch-memory', `${GOAL} (MB)`, beyond, MEMORY, 'lower', 0)],
    faults: [],
    raw: Object.fromEntries(kinds.map(({ name }, at) => [name, peaks[at]])),
  };
}
