import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Inputs } from '../images/corpus.ts';
import { measure } from '../measure.ts';
import { fixed, Series, spread } from '../series.ts';
import { goalOf, type Trial, tableOf } from '../trial.ts';
import { convert, QUALITY } from './batch-client.ts';
import { ORIEL, type Server } from './server.ts';
import { type Bench, KEYS, seed, withDaemon } from './trial.ts';

export const BATCH = {
  title: 'batch: photographs to WebP',
  goal: 'throughput over HTTP ≥ 0.92 × command line',
};

/** The photographs of one request: twenty are the maximum, and have less than 100 MB. */
export function photographs({ corpus, settings }: Bench): Promise<Inputs> {
  return settings.quick ? corpus.photos(2, 2) : corpus.photos(10, 2);
}

/** A batch over HTTP, compared with the command line on the same files. */
export async function batch(bench: Bench): Promise<Trial> {
  const { settings, folder, log } = bench;
  const { files } = await photographs(bench);
  const { data } = await seed(bench, 'data', 0);
  const http = new Series<'wall' | 'cpu'>('oriel over HTTP');
  const commandLine = new Series<'wall' | 'cpu'>('command line');
  await withDaemon(bench, data, async (daemon) => {
    // The first round warms up and is not counted.
    for (let round = 0; round <= settings.rounds; round++) {
      const own = await overHttp(folder, daemon, files);
      const limit = await convertHere(folder, files, join(folder, 'out'));
      const ratio = own.bytes / bytesIn(join(folder, 'out'));
      if (ratio < 1 || ratio > 1.02) {
        throw new Error(`the ZIP has ${fixed(ratio, 3)} of the command line's bytes: other images`);
      }
      log(`  ${fixed(own.wall)} s over HTTP, ${fixed(limit.wall)} s on the command line`);
      if (round === 0) continue;
      http.add(own);
      commandLine.add(limit);
    }
  });
  const speeds = commandLine.over(http, 'wall');
  const compared = (series: typeof http, ratios: readonly number[]) =>
    series === commandLine ? '1.00' : spread(ratios);
  return {
    title: BATCH.title,
    text:
      `${files.length} photographs of 12 megapixels in one request by curl to a daemon that is ` +
      'warm, from the first byte sent to the last of the ZIP; the command line from its start to its end.',
    ...tableOf(
      [commandLine, http],
      [
        ['contender', ({ name }) => name],
        ['wall s', (series) => fixed(series.median('wall'))],
        ['CPU s', (series) => fixed(series.median('cpu'))],
        ['throughput ÷ command line', (series) => compared(series, speeds)],
        ['CPU ÷ command line', (series) => compared(series, http.over(commandLine, 'cpu'))],
      ],
    ),
    goals: [goalOf(BATCH.goal, speeds, 0.92)],
    raw: { http: http.rounds, commandLine: commandLine.rounds },
  };
}

async function overHttp(folder: string, daemon: Server, files: readonly string[]) {
  const before = daemon.cpu();
  const output = join(folder, 'batch.zip');
  const { seconds, bytes } = await convert(daemon, { key: KEYS[0]!, files, output });
  return { wall: seconds, cpu: daemon.cpu() - before, bytes };
}

function bytesIn(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

/** Converts files on the command line, into a new folder. */
export function convertHere(folder: string, files: readonly string[], out: string) {
  rmSync(out, { recursive: true, force: true });
  const place = join(folder, 'command-line');
  mkdirSync(place, { recursive: true });
  const options = ['--format', 'webp', '--quality', QUALITY, '--out', out, '--quiet'];
  return measure({ file: process.execPath, args: [ORIEL, 'convert', ...options, ...files] }, place);
}
