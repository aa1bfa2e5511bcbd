import { setTimeout as sleep } from 'node:timers/promises';
import { Server } from '../daemon/server.ts';
import { fixed, median, quantile, spread } from '../series.ts';
import { type Bench, goalOf, type Settings, type Trial, tableOf } from '../trial.ts';
import { atLoads, contest, named, outcomeOf, type Standing, takesPart } from './contest.ts';
import { type Contender, Field, startStreamUpstream } from './field.ts';
import { PACE, PIECES } from './marks.ts';
import { type Seen, StreamClient } from './stream-client.ts';

/** Concurrent streams. */
const AT_ONCE = [16, 64];

/** Contenders whose streams are passed on, and translated. */
const RELAYED = ['oriel'];
const TRANSLATED = ['oriel-messages-chat', 'oriel-chat-responses'];

type Figure = 'streamsPerSecond' | 'cpuPerThousand' | 'first' | 'latest';
type Row = { readonly standing: Standing<Figure>; readonly load: number };

/** Streams at full speed. */
export async function streamsFlat(bench: Bench): Promise<Trial> {
  const seconds = bench.settings.quick ? 1 : 3;
  const standings = await race(bench, 'streamsPerSecond', AT_ONCE, async (client, count, round) => {
    const started = performance.now();
    const end = started + (round === 0 ? 1 : seconds) * 1000;
    let streams = 0;
    const worker = async () => {
      do {
        await client.stream('flat');
        streams += 1;
      } while (performance.now() < end);
    };
    await Promise.all(Array.from({ length: count }, worker));
    const streamsPerSecond = (streams * 1000) / (performance.now() - started);
    return { streams, figures: { streamsPerSecond } };
  });
  const relay = named(standings, 'relay');
  const goal = (name: string, count: number, bound: number) => {
    const ratios = named(standings, name)?.over(relay, 'streamsPerSecond', count) ?? [];
    const text = `${name}: streams per second at ${count} ≥ ${fixed(bound)} × relay`;
    return goalOf(text, ratios, bound);
  };
  return {
    title: 'streams-flat: streams at full speed',
    text: `${PIECES} pieces of text each, one write of the upstream for each.`,
    ...streamTable(standings, AT_ONCE, [
      ['streams/s', ({ standing, load }) => fixed(standing.median('streamsPerSecond', load), 0)],
      ['÷ relay', ({ standing, load }) => spread(standing.over(relay, 'streamsPerSecond', load))],
      ['CPU ms per 1000 pieces', cpuCell],
    ]),
    goals: AT_ONCE.flatMap((count) => [
      ...RELAYED.map((name) => goal(name, count, 0.9)),
      ...TRANSLATED.map((name) => goal(name, count, 0.6)),
    ]),
    ...outcomeOf('streams-flat', standings),
  };
}

/** Streams at the speed of a model. */
export async function streamsPaced(bench: Bench): Promise<Trial> {
  const standings = await race(bench, 'cpuPerThousand', AT_ONCE, async (client, count) => {
    // Real clients do not start in the same millisecond.
    const begun = Array.from({ length: count }, async (_, index): Promise<Seen> => {
      await sleep((index * PACE) / count);
      return client.stream('paced');
    });
    const delays = (await Promise.all(begun)).flatMap((stream) => stream.delays);
    return { streams: count, figures: { latest: quantile(delays, 0.99)! } };
  });
  const [relay, direct] = [named(standings, 'relay'), named(standings, 'direct')];
  const delayCell = ({ standing, load }: Row) =>
    standing === direct
      ? fixed(standing.median('latest', load))
      : spread(standing.beyond(direct, 'latest', load));
  return {
    title: 'streams-paced: streams at the speed of a model',
    text:
      `${PIECES} pieces of text each, one every ${PACE} ms. Delays are beyond those of the ` +
      'upstream itself, which its own row has.',
    ...streamTable(standings, AT_ONCE, [
      ['CPU ms per 1000 pieces', cpuCell],
      ['÷ relay', ({ standing, load }) => spread(standing.over(relay, 'cpuPerThousand', load))],
      ['delay ms, 99 of 100', delayCell],
    ]),
    goals: AT_ONCE.flatMap((count) =>
      [...RELAYED, ...TRANSLATED].flatMap((name) => {
        const own = named(standings, name);
        // CPU time that corresponds to rates of 0.90 and 0.60.
        const bound = RELAYED.includes(name) ? 1.11 : 1.67;
        const costs = own?.over(relay, 'cpuPerThousand', count) ?? [];
        const added = own?.beyond(direct, 'latest', count) ?? [];
        return [
          goalOf(`${name}: CPU at ${count} ≤ ${fixed(bound)} × relay`, costs, bound),
          goalOf(`${name}: added to 99 of 100 at ${count} ≤ 3.00 ms`, added, 3),
        ];
      }),
    ),
    ...outcomeOf('streams-paced', standings),
  };
}

/** Time to the first piece of a stream, one stream after another. */
export async function streamsFirst(bench: Bench): Promise<Trial> {
  // Enough for V8 to compile everything in the warm-up.
  const streams = bench.settings.quick ? 200 : 1000;
  const standings = await race(bench, 'first', [1], async (client) => {
    const firsts: number[] = [];
    for (let stream = 0; stream < streams; stream += 1) {
      firsts.push((await client.stream('prompt')).first);
    }
    return { streams, figures: { first: median(firsts)! } };
  });
  const direct = named(standings, 'direct');
  const added = (standing: Standing<Figure> | undefined) => standing?.beyond(direct, 'first') ?? [];
  return {
    title: 'streams-first: time to the first piece',
    text: 'From the request to the first piece of text, of streams one after another.',
    ...streamTable(
      standings,
      [1],
      [
        ['first piece ms, median', ({ standing }) => fixed(standing.median('first'))],
        ['added ms', ({ standing }) => (standing === direct ? '' : spread(added(standing)))],
      ],
    ),
    goals: [...RELAYED, ...TRANSLATED].map((name) =>
      goalOf(`${name}: added ≤ 0.40 ms`, added(named(standings, name)), 0.4),
    ),
    ...outcomeOf('streams-first', standings),
  };
}

function cpuCell({ standing, load }: Row): string {
  return fixed(standing.median('cpuPerThousand', load), 1);
}

function streamTable(
  standings: readonly Standing<Figure>[],
  loads: readonly number[],
  columns: Parameters<typeof tableOf<Row>>[1],
) {
  return tableOf(atLoads(standings, loads), [
    ['contender', ({ standing }) => standing.name],
    ['at once', ({ load }) => `${load}`],
    ...columns,
    ['ran with', ({ standing }) => standing.note],
  ]);
}

/** Result of a number of streams. */
interface Counted {
  readonly streams: number;
  readonly figures: Partial<Record<Figure, number>>;
}

function race(
  bench: Bench,
  progress: Figure,
  loads: readonly number[],
  read: (client: StreamClient, count: number, round: number) => Promise<Counted>,
): Promise<Standing<Figure>[]> {
  return Server.during(
    () => startStreamUpstream(bench),
    (upstream) =>
      contest<Figure>(bench, {
        contenders: contendersOf(bench.settings, new Field(bench, upstream)),
        loads,
        progress,
        check: (server, contender) => StreamClient.during(server, contender, (one) => one.check()),
        measure: (server, contender, count, round) =>
          StreamClient.during(server, contender, async (client) => {
            const before = server.cpu();
            const { streams, figures } = await read(client, count, round);
            const cpu = server.cpu() - before;
            return { ...figures, cpuPerThousand: (cpu * 1e6) / (streams * PIECES) };
          }),
      }),
  );
}

export function contendersOf(settings: Settings, field: Field): Contender[] {
  return takesPart(settings, [
    field.direct(),
    field.nginx(),
    field.script('relay', 'limit', 'Fastify and undici, bytes passed on'),
    field.script('relay-parsed', 'peer', 'the same, each event parsed and written anew'),
    field.portkey(),
    field.oriel(),
    ...field.orielTranslating(),
  ]);
}
