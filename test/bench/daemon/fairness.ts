import { existsSync, rmSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixed, spread } from '../series.ts';
import { goalOf, type Trial, tableOf } from '../trial.ts';
import { photographs } from './batch.ts';
import { convert } from './batch-client.ts';
import { type Bench, KEYS, seed, withDaemon } from './trial.ts';

export const FAIRNESS = {
  title: 'fairness: one small file beside twenty large ones',
  goal: "small batch ≤ 2.00 × one large file's time",
};

/** Small batches while one large one is processed. */
const SMALL = 2;

/** Duration of one account's small batch while another's large one is processed. */
export async function fairness(bench: Bench): Promise<Trial> {
  const { settings, corpus, folder, log } = bench;
  const large = await photographs(bench);
  const small = await corpus.one();
  const { data } = await seed(bench, 'data', 0);
  /** Seconds, by round. */
  const units: number[] = [];
  const alone: number[] = [];
  const beside: number[][] = [];
  await withDaemon(bench, data, async (daemon) => {
    const send = async (account: number, files: readonly string[], name: string) => {
      const request = { key: KEYS[account]!, files, output: join(folder, name) };
      return (await convert(daemon, request)).seconds;
    };
    const sendLarge = () => send(0, large.files, 'large.zip');
    const sendSmall = () => send(1, small.files, 'small.zip');
    await sendLarge();
    for (let round = 0; round < settings.rounds; round++) {
      alone.push(await sendSmall());
      rmSync(join(folder, 'large.zip'), { force: true });
      let isWorking = true;
      const ended = sendLarge().finally(() => {
        isWorking = false;
      });
      await firstBytes(join(folder, 'large.zip'), () => isWorking);
      const times: number[] = [];
      // Few, so that all threads are busy with large files during each of them.
      for (let time = 0; time < SMALL && isWorking; time++) times.push(await sendSmall());
      // Duration of one large file while all threads are busy.
      units.push(((await ended) * availableParallelism()) / large.files.length);
      beside.push(times);
      log(`  ${spread(times)} s beside, ${fixed(units.at(-1))} s a large file`);
    }
  });
  const inUnits = beside.flatMap((times, round) => times.map((time) => time / units[round]!));
  if (inUnits.length === 0) throw new Error('no small batch ended while a large one was worked on');
  return {
    title: FAIRNESS.title,
    text:
      `A JPEG of 640x480 to WebP, ${SMALL} times in a row by one account while another's ` +
      `${large.files.length} photographs of 12 megapixels are worked on.`,
    ...tableOf(
      [
        { name: 'alone', seconds: alone, shares: [] },
        { name: 'beside the large one', seconds: beside.flat(), shares: inUnits },
      ],
      [
        ['small batch', ({ name }) => name],
        ['s', ({ seconds }) => spread(seconds, 3)],
        ["÷ one large file's time", ({ shares }) => spread(shares)],
      ],
    ),
    goals: [goalOf(FAIRNESS.goal, inUnits, 2)],
    raw: { units, alone, beside },
  };
}

/** Waits until a download has begun, so that its batch is being processed. */
async function firstBytes(file: string, isComing: () => boolean): Promise<void> {
  while (isComing() && !(existsSync(file) && statSync(file).size > 0)) await sleep(10);
}
