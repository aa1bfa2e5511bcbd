import type { Bench } from '../cases.ts';
import type { Server } from '../daemon/server.ts';
import { Interruption } from '../measure.ts';
import { median } from '../race.ts';
import type { Settings } from '../suite.ts';
import type { Contender } from './field.ts';

/** Figures by name; one that could not be had is left out. */
export type Figures<Name extends string> = Readonly<Partial<Record<Name, number>>>;

export interface Standing<Name extends string> {
  readonly contender: Contender;
  /** By load, then by round; a round that it sat out is `undefined`. */
  readonly rounds: Map<number, (Figures<Name> | undefined)[]>;
  /** Why there are no figures. */
  failure: string | undefined;
}

/** How contenders are compared. */
export interface Contest<Name extends string> {
  readonly contenders: readonly Contender[];
  /** Requests or streams at once. */
  readonly loads: readonly number[];
  readonly rounds: number;
  /** Figures by which to tell how it goes. */
  readonly told: Name;
  /** @throws where the contender does not answer what it should: then its speed says nothing */
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
 * down for a while slows all of a round, so that ratios within a round stay true.
 */
export async function contest<Name extends string>(
  { log }: Bench,
  { contenders, loads, rounds, told, check, measure }: Contest<Name>,
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
            log(`  ${load} at once, ${contender.name}: ${told} ${figures[told]?.toFixed(2)}`);
          });
        }
      }
    }
  } finally {
    for (const server of servers.values()) await server.stop();
  }
  return standings;
}

/** A figure's median over the rounds. */
export function typical<Name extends string>(
  { rounds }: Standing<Name>,
  load: number,
  name: Name,
): number | undefined {
  return median(rounds.get(load)!.flatMap((figures) => figures?.[name] ?? []));
}

/** A figure in each round beside another contender's in the same round. */
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

/** What it ran with, or why it has no figures. */
export function noteOf({ contender, failure }: Standing<string>): string {
  return failure === undefined ? contender.settings : failure.split('\n')[0]!.slice(0, 120);
}

/** What is merely not installed is told in the table; what failed fails the run. */
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

/** Those that were chosen, and what they are compared with. */
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
