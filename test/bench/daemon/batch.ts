import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Trial } from '../cases.ts';
import type { Inputs } from '../images/corpus.ts';
import { measure } from '../measure.ts';
import { median } from '../race.ts';
import { type Answer, convert, QUALITY } from './batch-client.ts';
import { ORIEL, type Server } from './server.ts';
import {
  type Bench,
  curl,
  fixed,
  goalOf,
  KEYS,
  notMeasured,
  seed,
  spread,
  withDaemon,
} from './trial.ts';

const TITLE = 'batch: photographs to WebP';
const GOAL = 'throughput over HTTP ≥ 0.92 × command line';

/** The photographs of one request: twenty are the maximum, and have less than 100 MB. */
export function photographs({ corpus, settings }: Bench): Promise<Inputs> {
  return settings.quick ? corpus.photos(2, 2) : corpus.photos(10, 2);
}

interface Cost {
  readonly wall: number;
  readonly cpu: number;
}

/** A batch over HTTP, compared with the command line on the same files. */
export async function batch(bench: Bench): Promise<Trial> {
  if (curl.file === undefined) return notMeasured('batch', TITLE, curl, GOAL);
  const { settings, log } = bench;
  const inputs = await photographs(bench);
  const { data } = await seed(bench, 'data', 0);
  const http: Cost[] = [];
  const commandLine: Cost[] = [];
  await withDaemon(bench, data, async (daemon) => {
    // The first round warms up and is not counted.
    for (let round = 0; round <= settings.rounds; round++) {
      const own = await overHttp(bench, daemon, inputs);
      const limit = await onCommandLine(bench, inputs);
      const ratio = own.bytes / limit.bytes;
      if (ratio < 1 || ratio > 1.02) {
        throw new Error(`the ZIP has ${fixed(ratio, 3)} of the command line's bytes: other images`);
      }
      log(`  ${fixed(own.wall)} s over HTTP, ${fixed(limit.wall)} s on the command line`);
      if (round === 0) continue;
      http.push(own);
      commandLine.push(limit);
    }
  });
  const speeds = http.map(({ wall }, round) => commandLine[round]!.wall / wall);
  const work = http.map(({ cpu }, round) => cpu / commandLine[round]!.cpu);
  const row = (name: string, costs: readonly Cost[], ratios: readonly string[]) => [
    name,
    fixed(median(costs.map(({ wall }) => wall))),
    fixed(median(costs.map(({ cpu }) => cpu))),
    ...ratios,
  ];
  return {
    section: {
      title: TITLE,
      text:
        `${inputs.files.length} photographs of 12 megapixels in one request by curl to a daemon that is ` +
        'warm, from the first byte sent to the last of the ZIP; the command line from its start to its end.',
      table: {
        headings: [
          'contender',
          'wall s',
          'CPU s',
          'throughput ÷ command line',
          'CPU ÷ command line',
        ],
        rows: [
          row('command line', commandLine, ['1.00', '1.00']),
          row('oriel over HTTP', http, [spread(speeds), spread(work)]),
        ],
      },
    },
    goals: [goalOf('batch', GOAL, speeds, 0.92, 'higher')],
    faults: [],
    raw: { http, commandLine },
  };
}

async function overHttp(
  { folder }: Bench,
  daemon: Server,
  { files }: Inputs,
): Promise<Cost & Pick<Answer, 'bytes'>> {
  const before = daemon.cpu();
  const output = join(folder, 'batch.zip');
  const { seconds, bytes } = await convert(daemon, { key: KEYS[0]!, files, output });
  return { wall: seconds, cpu: daemon.cpu() - before, bytes };
}

async function onCommandLine(
  { folder }: Bench,
  { files }: Inputs,
): Promise<Cost & { bytes: number }> {
  const out = join(folder, 'out');
  const { wall, cpu } = await convertHere(folder, files, out);
  const bytes = readdirSync(out).reduce((sum, name) => sum + statSync(join(out, name)).size, 0);
  return { wall, cpu, bytes };
}

/** Converts files on the command line, into a new folder. */
export async function convertHere(
  folder: string,
  files: readonly string[],
  out: string,
): Promise<Cost> {
  rmSync(out, { recursive: true, force: true });
  const place = join(folder, 'command-line');
  mkdirSync(place, { recursive: true });
  const options = ['--format', 'webp', '--quality', QUALITY, '--out', out, '--quiet'];
  return measure({ file: process.execPath, args: [ORIEL, 'convert', ...options, ...files] }, place);
}
