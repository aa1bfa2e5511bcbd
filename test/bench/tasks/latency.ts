import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Trial } from '../cases.ts';
import type { Server } from '../daemon/server.ts';
import { fixed, spread } from '../daemon/trial.ts';
import { measure } from '../measure.ts';
import { median, quantile } from '../race.ts';
import type { Errand, Waits } from './contenders/client.ts';
import { AT_ONCE, configOf, type Manner, PATH, script, startOriel, withProvider } from './field.ts';

/** Request of a case. */
interface Load {
  readonly model: Manner;
  /** Concurrent requests: few where the latency of each is measured. */
  readonly width: number;
  readonly count: number;
}

interface Delays {
  /** Milliseconds beyond the provider's own, p50 and p99. */
  readonly half: number;
  readonly most: number;
}

const SYNC = `${PATH}/sync`;

/** Latency of a picture from request to response and to callback, beyond the provider's time. */
export async function latency(bench: Bench): Promise<Trial> {
  const { settings, log } = bench;
  const loads: Load[] = [
    { model: 'after-0', width: 1, count: settings.quick ? 100 : 500 },
    { model: 'after-200', width: 8, count: settings.quick ? 80 : 400 },
  ];
  const ways = [
    { name: 'the sync answer', path: SYNC, callbacks: false },
    { name: 'the callback', path: PATH, callbacks: true },
  ];
  const cases = loads.flatMap((load) =>
    ways.map((way) => ({ ...load, ...way, rounds: [] as Delays[] })),
  );
  await withProvider(bench, async (provider) => {
    const { daemon } = await startOriel(bench, 'oriel', configOf(provider, AT_ONCE));
    try {
      // The first round warms up and is not counted.
      for (let round = 0; round <= settings.rounds; round += 1) {
        for (const { name, rounds, ...errand } of cases) {
          const waits = await run(bench, { url: daemon.url, ...errand });
          const delays = delaysOf(waits, await tookOf(provider));
          if (round === 0) continue;
          rounds.push(delays);
          log(`  ${errand.model}, ${name}: ${fixed(delays.half)} ms, ${fixed(delays.most)} ms`);
        }
      }
    } finally {
      await daemon.kill();
    }
  });
  return {
    section: {
      title: 'latency: from the request to the picture',
      text:
        'Milliseconds beyond those that the provider takes from when it has read a request until ' +
        'it has answered it with a PNG of 64x64.',
      table: {
        headings: ['until', 'provider', 'at once', 'added ms, median', 'added ms, 99 of 100'],
        rows: cases.map(({ name, model, width, rounds }) => [
          name,
          `${model.replace('after-', '')} ms`,
          String(width),
          spread(rounds.map(({ half }) => half)),
          spread(rounds.map(({ most }) => most)),
        ]),
      },
    },
    goals: [],
    faults: [],
    raw: cases,
  };
}

/** Pictures per second with a provider that responds at once. */
export async function throughput(bench: Bench): Promise<Trial> {
  const { settings, log } = bench;
  const count = settings.quick ? 500 : 3000;
  const ways = [
    { name: 'the provider itself', path: PATH, callbacks: false },
    { name: 'the sync answer', path: SYNC, callbacks: false },
    { name: 'the callback', path: PATH, callbacks: true },
  ].map((way) => ({ ...way, rates: [] as number[], cpu: [] as number[] }));
  await withProvider(bench, async (provider) => {
    const { daemon } = await startOriel(bench, 'oriel', configOf(provider, AT_ONCE));
    try {
      for (let round = 0; round <= settings.rounds; round += 1) {
        for (const [at, { name, path, callbacks, rates, cpu }] of ways.entries()) {
          const { url } = at === 0 ? provider : daemon;
          const errand: Errand = { url, path, callbacks, model: 'after-0', width: AT_ONCE, count };
          const before = daemon.cpu();
          const { seconds } = await run(bench, errand);
          if (round === 0) continue;
          rates.push(count / seconds);
          if (at > 0) cpu.push(((daemon.cpu() - before) * 1e6) / count);
          log(`  ${name}: ${fixed(rates.at(-1), 0)} a second`);
        }
      }
    } finally {
      await daemon.kill();
    }
  });
  return {
    section: {
      title: 'throughput: pictures at full speed',
      text:
        `${count} PNGs of 64x64, ${AT_ONCE} at once, each fetched, decoded to prove it, written to ` +
        'disk and charged.',
      table: {
        headings: ['until', 'per second', 'CPU ms per 1000'],
        rows: ways.map(({ name, rates, cpu }) => [name, spread(rates, 0), fixed(median(cpu), 0)]),
      },
    },
    goals: [],
    faults: [],
    raw: { count, ways },
  };
}

/** Runs the client as a separate process. */
async function run({ folder }: Bench, errand: Errand): Promise<Waits> {
  const place = join(folder, 'client');
  mkdirSync(place, { recursive: true });
  await measure(
    { file: process.execPath, args: [script('client'), JSON.stringify(errand)] },
    place,
  );
  return JSON.parse(readFileSync(join(place, 'stdout'), 'utf8')) as Waits;
}

/** Milliseconds of the provider for each prompt since the last call. */
async function tookOf({ url }: Server): Promise<Record<string, number>> {
  return (await (await fetch(`${url}/took`)).json()) as Record<string, number>;
}

function delaysOf({ milliseconds }: Waits, took: Readonly<Record<string, number>>): Delays {
  const delays = Object.entries(milliseconds).map(([prompt, wait]) => {
    const own = took[prompt];
    if (own === undefined) throw new Error(`the provider was never asked for ${prompt}`);
    return wait - own;
  });
  return { half: median(delays)!, most: quantile(delays, 0.99)! };
}
