import type { Bench, Trial } from '../cases.ts';
import { fixed, goalOf, spread } from '../daemon/trial.ts';
import {
  beyond,
  compared,
  faultsOf,
  noteOf,
  over,
  type Standing,
  standingNamed,
  typical,
} from './contest.ts';

import { PACE, PIECES } from './marks.ts';
import { ALONE, AT_ONCE, type Figure, raceFirst, raceFlat, racePaced } from './streams.ts';

const RELAYED = ['oriel'];
const TRANSLATED = ['oriel-messages-chat', 'oriel-chat-responses'];

/** Streams at full speed. */
export async function streamsFlat(bench: Bench): Promise<Trial> {
  const standings = await raceFlat(bench);
  const relay = standingNamed(standings, 'relay');
  const rates = (standing: Standing<Figure> | undefined, count: number) =>
    compared(standing, relay, count, 'streamsPerSecond', over);
  const goal = (name: string, count: number, bound: number) =>
    goalOf(
      'streams-flat',
      `${name}: streams per second at ${count} ≥ ${fixed(bound)} × relay`,
      rates(standingNamed(standings, name), count),
      bound,
      'higher',
    );
  return {
    section: {
      title: 'streams-flat: streams at full speed',
      text: `${PIECES} pieces of text each, one write of the upstream for each.`,
      table: {
        headings: [
          'contender',
          'at once',
          'streams/s',
          '÷ relay',
          'CPU ms per 1000 pieces',
          'ran with',
        ],
        rows: rowsOf(standings, AT_ONCE, (standing, count) => [
          fixed(typical(standing, count, 'streamsPerSecond'), 0),
          spread(rates(standing, count)),
          fixed(typical(standing, count, 'cpuPerThousand'), 1),
        ]),
      },
    },
    goals: AT_ONCE.flatMap((count) => [
      ...RELAYED.map((name) => goal(name, count, 0.9)),
      ...TRANSLATED.map((name) => goal(name, count, 0.6)),
    ]),
    faults: faultsOf('streams-flat', standings),
    raw: rawOf(standings),
  };
}

/** Streams at the speed of a model. */
export async function streamsPaced(bench: Bench): Promise<Trial> {
  const standings = await racePaced(bench);
  const relay = standingNamed(standings, 'relay');
  const direct = standingNamed(standings, 'direct');
  const costs = (standing: Standing<Figure> | undefined, count: number) =>
    compared(standing, relay, count, 'cpuPerThousand', over);
  const added = (standing: Standing<Figure> | undefined, count: number) =>
    compared(standing, direct, count, 'latest', beyond);
  return {
    section: {
      title: 'streams-paced: streams at the speed of a model',
      text:
        `${PIECES} pieces of text each, one every ${PACE} ms. Delays are beyond those of the ` +
        'upstream itself, which its own row has.',
      table: {
        headings: [
          'contender',
          'at once',
          'CPU ms per 1000 pieces',
          '÷ relay',
          'delay ms, 99 of 100',
          'ran with',
        ],
        rows: rowsOf(standings, AT_ONCE, (standing, count) => [
          fixed(typical(standing, count, 'cpuPerThousand'), 1),
          spread(costs(standing, count)),
          standing === direct
            ? fixed(typical(standing, count, 'latest'))
            : spread(added(standing, count)),
        ]),
      },
    },
    goals: AT_ONCE.flatMap((count) =>
      [...RELAYED, ...TRANSLATED].flatMap((name) => {
        const standing = standingNamed(standings, name);
        // CPU time that corresponds to rates of 0.90 and 0.60.
        const bound = RELAYED.includes(name) ? 1.11 : 1.67;
        const goal = (text: string, figures: readonly number[], most: number) =>
          goalOf('streams-paced', `${name}: ${text}`, figures, most, 'lower');
        return [
          goal(`CPU at ${count} ≤ ${fixed(bound)} × relay`, costs(standing, count), bound),
          goal(`added to 99 of 100 at ${count} ≤ 3.00 ms`, added(standing, count), 3),
        ];
      }),
    ),
    faults: faultsOf('streams-paced', standings),
    raw: rawOf(standings),
  };
}

/** Time to the first piece of a stream. */
export async function streamsFirst(bench: Bench): Promise<Trial> {
  const standings = await raceFirst(bench);
  const direct = standingNamed(standings, 'direct');
  const added = (standing: Standing<Figure> | undefined) =>
    compared(standing, direct, ALONE, 'first', beyond);
  return {
    section: {
      title: 'streams-first: time to the first piece',
      text: 'From the request to the first piece of text, of streams one after another.',
      table: {
        headings: ['contender', 'at once', 'first piece ms, median', 'added ms', 'ran with'],
        rows: rowsOf(standings, [ALONE], (standing, count) => [
          fixed(typical(standing, count, 'first')),
          standing === direct ? '' : spread(added(standing)),
        ]),
      },
    },
    goals: [...RELAYED, ...TRANSLATED].map((name) =>
      goalOf(
        'streams-first',
        `${name}: added ≤ 0.40 ms`,
        added(standingNamed(standings, name)),
        0.4,
        'lower',
      ),
    ),
    faults: faultsOf('streams-first', standings),
    raw: rawOf(standings),
  };
}

function rowsOf(
  standings: readonly Standing<Figure>[],
  counts: readonly number[],
  figures: (standing: Standing<Figure>, count: number) => readonly string[],
): string[][] {
  return counts.flatMap((count) =>
    standings.map((standing) => [
      standing.contender.name,
      String(count),
      ...figures(standing, count),
      noteOf(standing),
    ]),
  );
}

function rawOf(standings: readonly Standing<Figure>[]): unknown {
  return standings.map(({ contender, rounds }) => ({ name: contender.name, rounds: [...rounds] }));
}
