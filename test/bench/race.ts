import { mkdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Command, type Figures, Interruption, measure } from './measure.ts';
import { Series } from './series.ts';
import type { Log, Settings } from './trial.ts';

/** Empty folders for one run's outputs. */
export interface Run {
  /** Empty folder for the output files. */
  readonly folder: string;
  /** File with its standard output. */
  readonly stdout: string;
}

export interface Contender {
  readonly name: string;
  /** Role: `subject` and `limit` run in all rounds, peers in some. */
  readonly role: 'subject' | 'limit' | 'peer';
  /** Version, for the table. */
  readonly settings: string;
  /** Reason why it cannot run here: `not installed (apt-get install webp)`. */
  readonly absent?: string | undefined;
  /** Whether its outputs must have the size of the limit's: same encoder, same settings. */
  readonly sameEncoder?: boolean;
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

export type Measure = keyof Figures;

/** Measurements of a contender by round. */
export class Standing extends Series<Measure> {
  readonly contender: Contender;
  observation: Observation = {};
  /** Reason for missing figures. */
  failure: string | undefined;

  constructor(contender: Contender) {
    super(contender.name, contender.settings);
    this.contender = contender;
    this.failure = contender.absent;
  }
}

/**
 * Measures contenders against each other: a warm-up each, whose outputs are checked, then A B C A B C.
 * A machine that slows down for a while slows all of a round, so that ratios within a round stay comparable.
 */
export async function race(
  contenders: readonly Contender[],
  { rounds, retries }: Pick<Settings, 'rounds' | 'retries'>,
  folder: string,
  check: Check,
  log: Log,
): Promise<Standing[]> {
  const standings = contenders.map((contender) => new Standing(contender));
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
      if (sitsOut || standing.failure !== undefined) continue;
      const figures = await quietest(standing, retries, folder, log);
      if (figures !== undefined) standing.add(figures, 1, round);
    }
  }
  return standings;
}

/** Runs a contender until other processes used little CPU meanwhile, or the retries are used up. */
async function quietest(
  standing: Standing,
  retries: number,
  folder: string,
  log: Log,
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
  log: Log,
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

/** Share of the machine that other processes had during these runs. */
export function disturbance(standings: readonly Standing[]): number {
  const sum = (name: Measure) =>
    standings.flatMap((standing) => standing.values(name)).reduce((all, value) => all + value, 0);
  return sum('wall') === 0 ? 0 : share({ others: sum('others'), wall: sum('wall') });
}

function share({ others, wall }: Pick<Figures, 'others' | 'wall'>): number {
  return others / (wall * availableParallelism());
}
