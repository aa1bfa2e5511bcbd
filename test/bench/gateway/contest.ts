import type { Bench } from '../cases.ts';
import type { Server } from '../daemon/server.ts';
import { Interruption } from '../measure.ts';
import { median } from '../race.ts';
import type { Settings } from '../suite.ts';
import type { Contender } from './field.ts';

/** Figures by name, without those that could not be measured. */
export type Figures<Name extends string> = Readonly<Partial<Record<Name, number>>>;

export interface Standing<Name extends string> {
  readonly contender: Contender;
  /** Figures by load, then by round; `undefined` for a round without it. */
  readonly rounds: Map<number, (Figures<Name> | undefined)[]>;
  /** Reason for missing figures. */
  failure: string | undefined;
}

/** Settings of a comparison. */
export interface Contest<Name extends string> {
  readonly contenders: readonly Contender[];
  /** Concurrent requests or streams. */
  readonly loads: readonly number[];
  readonly rounds: number;
  /** Figures for the progress lines. */
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
  { log }: Bench,
  { contenders, loads, rounds, progress, check, measure }: Contest<Name>,
): Promise<Standing<Name>[]> {
  const standings = contenders.map((contender): Standing<Name> => {
    const rounds: Standing<Name>['rounds'] = new Map();
    for (const load of loads) rounds.set(load, []);
    return { contender, rounds, failure: contender.absent };
  });
  const servers = new Map<Contender, Server>();
  const attempt = async (standing: Standing<Name>, work: () => Promise<void>) => {
    if (standing.failure !== undefined) return;
    try {
      await work();
    } catch (error) {
      if (error instanceof Interruption) throw error;
      standing.failure = error instanceof Error ? error.message : String(error);
      log(`  ${standing.contender.name}: ${standing.failure}`);
    }
  };
  try {
    for (const standing of standings) {
      const { contender } = standing;
      await attempt(standing, async () => {
        const server = await contender.start();
        servers.set(contender, server);
        await check(server, contender);
      });
    }
    const peerRounds = Math.ceil(rounds * 0.4);
    for (let round = 0; round <= rounds; round += 1) {
      for (const load of loads) {
        for (const standing of standings) {
          const { contender } = standing;
          if (contender.role === 'peer' && round > peerRounds) continue;
          await attempt(standing, async () => {
            const figures = await measure(servers.get(contender)!, contender, load, round);
            if (round === 0) return;
            standing.rounds.get(load)![round - 1] = figures;
            log(
              `  ${load} at once, ${contender.name}: ${progress} ${figures[progress]?.toFixed(2)}`,
            );
          });
        }
      }
    }
  } finally {
    for (const server of servers.values()) await server.stop();
  }
  return standings;
}

/** Median of a figure over the rounds. */
export function typical<Name extends string>(
  { rounds }: Standing<Name>,
  load: number,
  name: Name,
): number | undefined {
  return median(rounds.get(load)!.flatMap((figures) => figures?.[name] ?? []));
}

/** Ratios of a figure to another contender's in the same round. */
export function compared<Name extends string>(
  standing: Standing<Name> | undefined,
  to: Standing<Name> | undefined,
  load: number,
  name: Name,
  compare: (own: number, other: number) => number,
): number[] {
  const others = to?.rounds.get(load) ?? [];
  return (standing?.rounds.get(load) ?? []).flatMap((figures, round) => {
    const own = figures?.[name];
    const other = others[round]?.[name];
    return own === undefined || other === undefined ? [] : [compare(own, other)];
  });
}

export const over = (own: number, other: number) => own / other;
export const beyond = (own: number, other: number) => own - other;

/** Version, or the reason for missing figures. */
export function noteOf({ contender, failure }: Standing<string>): string {
  return failure === undefined ? contender.settings : failure.split('\n')[0]!.slice(0, 120);
}

/** Contenders that are not installed are marked in the table; failed ones fail the run. */
export function faultsOf<Name extends string>(
  id: string,
  standings: readonly Standing<Name>[],
): string[] {
  return standings.flatMap(({ contender, failure }) =>
    failure === undefined || contender.absent !== undefined
      ? []
      : [`${id}: ${contender.name}: ${failure}`],
  );
}

export function standingNamed<Name extends string>(
  standings: readonly Standing<Name>[],
  name: string,
): Standing<Name> | undefined {
  return standings.find(({ contender }) => contender.name === name);
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
