import { join } from 'node:path';
import { fixed, median, spread } from '../series.ts';
import { built, figuresOf, goalOf, type Trial } from '../trial.ts';
import { convertHere, photographs } from './batch.ts';
import { convert } from './batch-client.ts';
import { type Bench, KEYS, seed, withDaemon } from './trial.ts';

export const ZIP = {
  title: 'zip: what streaming it adds',
  goal: 'CPU that the ZIP adds to the batch ≤ 3 %',
};
/** Runs over all images in one process. */
const REPETITIONS = 10;

/** The CPU time of the ZIP alone, from encoded images, as a share of a whole batch. */
export async function zip(bench: Bench): Promise<Trial> {
  const { settings, folder, log } = bench;
  const { files } = await photographs(bench);
  const out = join(folder, 'out');
  await convertHere(folder, files, out);
  const { data } = await seed(bench, 'data', 0);
  const output = join(folder, 'batch.zip');
  const whole = await withDaemon(bench, data, async (daemon) => {
    await convert(daemon, { key: KEYS[0]!, files, output });
    const before = daemon.cpu();
    await convert(daemon, { key: KEYS[0]!, files, output });
    return (daemon.cpu() - before) * 1000;
  });
  const costs: { zipped: number; bare: number }[] = [];
  for (let round = 0; round < settings.rounds; round++) {
    const args = [built('operations/batch/zip.js'), out, REPETITIONS];
    const run = await figuresOf<[number, number]>(bench, 'daemon/contenders/zip', args);
    const [zipped, bare] = run;
    log(`  ${fixed(zipped, 1)} ms in a ZIP, ${fixed(bare, 1)} ms bare`);
    costs.push({ zipped, bare });
  }
  const shares = costs.map(({ zipped, bare }) => (100 * (zipped - bare)) / whole);
  return {
    title: ZIP.title,
    text: `${files.length} encoded photographs hashed and sent, in a ZIP and bare.`,
    headings: ['contender', 'CPU ms', 'share of the batch, %'],
    rows: [
      ['the whole batch', fixed(whole, 0), '100'],
      ['bare', fixed(median(costs.map(({ bare }) => bare)), 1), ''],
      ['in a ZIP', fixed(median(costs.map(({ zipped }) => zipped)), 1), spread(shares)],
    ],
    goals: [goalOf(ZIP.goal, shares, 3)],
    raw: { whole, costs },
  };
}
