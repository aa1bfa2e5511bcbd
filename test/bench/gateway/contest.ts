import type { Server } from '../daemon/server.ts';
import { Interruption } from '../measure.ts';
import { type Figures, Series } from '../series.ts';
import type { Bench, Settings, Trial } from '../trial.ts';
import type { Contender } from './field.ts';

/** Figures of a contender by load, for example a number of connections. */
export class Standing<Name extends string> extends Series<Name> {
  readonly contender: Contender;
  /** Reason for missing figures. */
  failure: string | undefined;

  constructor(contender: Contender) {
    super(contender.name, contender.settings);
    this.contender = contender;
    this.failure = contender.absent;
  }

  /** Version, or the reason for missing figures. */
  get note(): string {
    return this.failure?.split('\n', 1).join('').slice(0, 120) ?? this.settings;
  }
}

/** Settings of a comparison. */
export interface Contest<Name extends string> {
  readonly contenders: readonly Contender[];
  /** Concurrent requests or streams. */
  readonly loads: readonly number[];
  /** Figure for the progress lines. */
  readonly progress: Name;
  /** @throws if the contender responds wrongly, which makes its speed meaningless */
  check(server: Server, contender: Contender): Promise<void>;
  /** @param round 0 warms up and is not counted */
  measure(
    server: Server,
    contender: Contender,
    load: number,
    round: number,
  ): Promise<Figures<Name>>;
}

/**
 * Starts all contenders and checks them, then measures A B C A B C for each load. A machine that slows
 * down for a while slows all of a round, so that ratios within a round stay comparable.
 */
export async function contest<Name extends string>(
  { settings: { rounds }, log }: Bench,
  { contenders, loads, progress, check, measure }: Contest<Name>,
): Promise<Standing<Name>[]> {
  const standings = contenders.map((contender) => new Standing<Name>(contender));
  const servers = new Map<Standing<Name>, Server>();
  const attempt = async (standing: Standing<Name>, work: () => Promise<void>) => {
    if (standing.failure !== undefined) return;
    try {
      await work();
    } catch (error) {
      if (error instanceof Interruption) throw error;
      standing.failure = error instanceof Error ? error.message : String(error);
      log(`  ${standing.name}: ${standing.failure}`);
    }
  };
  try {
    for (const standing of standings) {
      await attempt(standing, async () => {
        const server = await standing.contender.start();
        servers.set(standing, server);
        await check(server, standing.contender);
      });
    }
    const peerRounds = Math.ceil(rounds * 0.4);
    for (let round = 0; round <= rounds; round += 1) {
      for (const load of loads) {
        for (const standing of standings) {
          const { contender, name } = standing;
          if (contender.role === 'peer' && round > peerRounds) continue;
          await attempt(standing, async () => {
            const figures = await measure(servers.get(standing)!, contender, load, round);
            if (round === 0) return;
            standing.add(figures, load, round - 1);
            log(`  ${load} at once, ${name}: ${progress} ${figures[progress]?.toFixed(2)}`);
          });
        }
      }
    }
  } finally {
    for (const server of servers.values()) await server.stop();
  }
  return standings;
}

/** The standings of a trial: contenders that are not installed are marked in the table, failed ones fail the run. */
export function outcomeOf(
  id: string,
  standings: readonly Standing<string>[],
): Pick<Trial, 'faults' | 'raw'> {
  const failed = standings.filter(({ contender, failure }) => !contender.absent && failure);
  return {
    faults: failed.map(({ name, failure }) => `${id}: ${name}: ${failure}`),
    raw: standings.map(({ name, rounds }) => ({ name, rounds })),
  };
}

/** Each standing at each load, for the rows of a table. */
export function atLoads<Name extends string>(
  standings: readonly Standing<Name>[],
  loads: readonly number[],
): { readonly standing: Standing<Name>; readonly load: number }[] {
  return loads.flatMap((load) => standings.map((standing) => ({ standing, load })));
}

export function named<Name extends string>(
  standings: readonly Standing<Name>[],
  name: string,
): Standing<Name> | undefined {
  return standings.find((standing) => standing.name === name);
}

/** The chosen contenders, and those that they are compared with. */
export function takesPart(
  { contenders, without }: Settings,
  all: readonly Contender[],
): Contender[] {
  return all.filter(
    ({ name, role }) =>
      role === 'limit' ||
      (!without.includes(name) && (contenders === undefined || contenders.includes(name))),
  );
}
