import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../cases.ts';
import type { Server } from '../daemon/server.ts';
import { median } from '../race.ts';
import type { Settings } from '../suite.ts';
import { contest, type Standing, takesPart } from './contest.ts';
import { type Contender, Field, startStreamUpstream } from './field.ts';
import { PACE, PIECES } from './marks.ts';
import { type Seen, StreamClient } from './stream-client.ts';

/** Concurrent streams. */
export const AT_ONCE = [16, 64];

/** One stream without other load. */
export const ALONE = 1;

export type Figure = 'streamsPerSecond' | 'cpuPerThousand' | 'first' | 'latest';

/** Measures the streams per second of all contenders. */
export function raceFlat(bench: Bench): Promise<Standing<Figure>[]> {
  const seconds = bench.settings.quick ? 1 : 3;
  return race(bench, 'streamsPerSecond', AT_ONCE, async (client, count, round) => {
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
}

/** Measures the time to the first piece of all contenders, one stream after another. */
export function raceFirst(bench: Bench): Promise<Standing<Figure>[]> {
  // Enough for V8 to compile everything in the warm-up.
  const streams = bench.settings.quick ? 200 : 1000;
  return race(bench, 'first', [ALONE], async (client) => {
    const firsts: number[] = [];
    for (let stream = 0; stream < streams; stream += 1) {
      firsts.push((await client.stream('prompt')).first);
    }
    return { streams, figures: { first: median(firsts)! } };
  });
}

/** Measures the delay that all contenders add to paced streams. */
export function racePaced(bench: Bench): Promise<Standing<Figure>[]> {
  return race(bench, 'cpuPerThousand', AT_ONCE, async (client, count) => {
    // Real clients do not start in the same millisecond.
    const begun = Array.from({ length: count }, async (_, index): Promise<Seen> => {
      await sleep((index * PACE) / count);
      return client.stream('paced');
    });
    const seen = await Promise.all(begun);
    const delays = seen.flatMap((stream) => stream.delays).sort((one, other) => one - other);
    const latest = delays[Math.floor(delays.length * 0.99)]!;
    return { streams: count, figures: { latest } };
  });
}

/** Result of a number of streams. */
interface Counted {
  readonly streams: number;
  readonly figures: Partial<Record<Figure, number>>;
}

async function race(
  bench: Bench,
  progress: Figure,
  loads: readonly number[],
  read: (client: StreamClient, count: number, round: number) => Promise<Counted>,
): Promise<Standing<Figure>[]> {
  const upstream = await startStreamUpstream(bench);
  try {
    return await contest<Figure>(bench, {
      contenders: contendersOf(bench.settings, new Field(bench, upstream)),
      loads,
      rounds: bench.settings.rounds,
      progress,
      check: (server, contender) => withClient(server, contender, (client) => client.check()),
      measure: (server, contender, count, round) =>
        withClient(server, contender, async (client) => {
          const before = server.cpu();
          const { streams, figures } = await read(client, count, round);
          const cpu = server.cpu() - before;
          return { ...figures, cpuPerThousand: (cpu * 1e6) / (streams * PIECES) };
        }),
    });
  } finally {
    await upstream.stop();
  }
}

async function withClient<Value>(
  server: Server,
  contender: Contender,
  work: (client: StreamClient) => Promise<Value>,
): Promise<Value> {
  const client = new StreamClient(server, contender);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
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
