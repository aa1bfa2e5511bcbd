import { mkdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Command, type Figures, Interruption, measure } from './measure.ts';

/** Empty folders for one run's outputs. */
export interface Run {
  /** Empty folder for the output files. */
  folder: string;
  /** File with its standard output. */
  stdout: string;
}

export interface Contender {
  name: string;
  /** Role: `subject` and `limit` run in all rounds, peers in some. */
  role: 'subject' | 'limit' | 'peer';
  /** Version, for the table. */
  settings: string;
  /** Reason why it cannot run here: `not installed (apt-get install webp)`. */
  absent?: string | undefined;
  /** Whether its outputs must have the size of the limit's: same encoder, same settings. */
  sameEncoder?: boolean;
  command(run: Run): Command;
}

/** Observations of a check on a contender's outputs. */
export type Observation = Record<string, number>;

/**
 * Checks the outputs of the warm-up. `limit` is the observation of the limit, which is checked first.
 *
 * @throws if the contender did not do the work, which makes its time meaningless
 */
export type Check = (
  run: Run,
  contender: Contender,
  limit: Observation | undefined,
) => Promise<Observation>;

export interface Standing {
  contender: Contender;
  /** Measurements by round; `undefined` for a round without it. */
  rounds: (Figures | undefined)[];
  observation: Observation;
  /** Reason for missing figures. */
  failure: string | undefined;
}

/**
 * Measures contenders against each other: a warm-up each, whose outputs are checked, then A B C A B C.
 * A machine that slows down for a while slows all of a round, so that ratios within a round stay comparable.
 */
export async function race(
  contenders: readonly Contender[],
  { rounds, retries }: { rounds: number; retries: number },
  folder: string,
  check: Check,
  log: (line: string) => void,
): Promise<Standing[]> {
  const standings: Standing[] = contenders.map((contender) => ({
    contender,
    rounds: [],
    observation: {},
    failure: contender.absent,
  }));
  const limit = standings.find(({ contender }) => contender.role === 'limit');
  if (limit === undefined) throw new Error('a race needs a limit to compare with');

  for (const standing of [limit, ...standings.filter((other) => other !== limit)]) {
    if (standing.failure !== undefined) continue;
    const seen = standing === limit ? undefined : limit.observation;
    await attempt(standing, folder, log, async (run) => {
      standing.observation = await check(run, standing.contender, seen);
    });
  }
  const peerRounds = Math.ceil(rounds * 0.4);
  for (let round = 0; round < rounds; round++) {
    for (const standing of standings) {
      const sitsOut = standing.contender.role === 'peer' && round >= peerRounds;
      const runs = standing.failure === undefined && !sitsOut;
      standing.rounds[round] = runs ? await quietest(standing, retries, folder, log) : undefined;
    }
  }
  return standings;
}

/** Runs a contender until other processes used little CPU meanwhile, or the retries are used up. */
async function quietest(
  standing: Standing,
  retries: number,
  folder: string,
  log: (line: string) => void,
): Promise<Figures | undefined> {
  let best: Figures | undefined;
  for (let run = 0; run <= retries; run++) {
    const figures = await attempt(standing, folder, log);
    if (figures === undefined) return undefined;
    if (best === undefined || share(figures) < share(best)) best = figures;
    if (share(best) <= 0.1) break;
  }
  return best;
}

async function attempt(
  standing: Standing,
  folder: string,
  log: (line: string) => void,
  look: (run: Run) => Promise<void> = async () => {},
): Promise<Figures | undefined> {
  const { contender } = standing;
  const place = join(folder, contender.name.replaceAll(/\W+/g, '-'));
  const run: Run = { folder: join(place, 'out'), stdout: join(place, 'stdout') };
  rmSync(place, { recursive: true, force: true });
  mkdirSync(run.folder, { recursive: true });
  try {
    const figures = await measure(contender.command(run), place);
    log(`  ${contender.name}: ${figures.wall.toFixed(3)} s`);
    await look(run);
    return figures;
  } catch (error) {
    if (error instanceof Interruption) throw error;
    standing.failure = error instanceof Error ? error.message : String(error);
    log(`  ${contender.name}: ${standing.failure}`);
    return undefined;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

export type Measure = keyof Figures;

export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return undefined;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)];
  return (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Quantile of the values: 0.99 for p99. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** Share of the machine that other processes had during these runs. */
export function disturbance(standings: readonly Standing[]): number {
  const figures = standings.flatMap(({ rounds }) => rounds.flatMap((round) => round ?? []));
  const others = figures.reduce((sum, round) => sum + round.others, 0);
  const wall = figures.reduce((sum, round) => sum + round.wall, 0);
  return wall === 0 ? 0 : share({ others, wall });
}

function share({ others, wall }: { others: number; wall: number }): number {
  return others / (wall * availableParallelism());
}

/** Median of a figure over the rounds. */
export function typical(standing: Standing, name: Measure): number | undefined {
  return median(standing.rounds.flatMap((figures) => figures?.[name] ?? []));
}

/** Ratio of two contenders' least figures, which have the least noise. */
export function bestRatio(standing: Standing, to: Standing, name: Measure): number | undefined {
  const [own, other] = [standing, to].map(({ rounds }) => {
    const values = rounds.flatMap((figures) => figures?.[name] ?? []);
    return values.length === 0 ? undefined : Math.min(...values);
  });
  return own === undefined || other === undefined || other === 0 ? undefined : own / other;
}

/** Ratios of a figure to another contender's in the same round. */
export function ratios(standing: Standing, to: Standing, name: Measure): number[] {
  return standing.rounds.flatMap((figures, round) => {
    const own = figures?.[name];
    const other = to.rounds[round]?.[name];
    return own === undefined || other === undefined || other === 0 ? [] : [own / other];
  });
}
