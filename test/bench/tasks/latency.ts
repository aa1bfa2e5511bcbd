import type { Server } from '../daemon/server.ts';
import { fixed, median, quantile, Series, spread } from '../series.ts';
import { type Bench, figuresOf, type Trial, tableOf } from '../trial.ts';
import type { Errand, Waits } from './contenders/client.ts';
import { AT_ONCE, configOf, PATH, withOriel, withProvider } from './field.ts';

const SYNC = { until: 'the sync answer', path: `${PATH}/sync`, callbacks: false };
const CALLBACK = { until: 'the callback', path: PATH, callbacks: true };

/** Latency of a picture from request to response and to callback, beyond the provider's time. */
export async function latency(bench: Bench): Promise<Trial> {
  const { settings, log } = bench;
  // Few concurrent requests, because the latency of each is measured.
  const loads = [
    { model: 'after-0', width: 1, count: settings.quick ? 100 : 500 },
    { model: 'after-200', width: 8, count: settings.quick ? 80 : 400 },
  ] as const;
  const cases = loads.flatMap((load) =>
    [SYNC, CALLBACK].map(({ until, ...way }) => ({
      errand: { ...load, ...way },
      // Milliseconds beyond the provider's own, p50 and p99.
      series: new Series<'half' | 'most'>(until),
    })),
  );
  await withProvider(bench, (provider) =>
    withOriel(bench, 'oriel', configOf(provider, AT_ONCE), async ({ url }) => {
      // The first round warms up and is not counted.
      for (let round = 0; round <= settings.rounds; round += 1) {
        for (const { errand, series } of cases) {
          const delays = delaysOf(await run(bench, { url, ...errand }), await tookOf(provider));
          if (round === 0) continue;
          const figures = { half: median(delays)!, most: quantile(delays, 0.99)! };
          series.add(figures);
          const { half, most } = figures;
          log(`  ${errand.model}, ${series.name}: ${fixed(half)} ms, ${fixed(most)} ms`);
        }
      }
    }),
  );
  return {
    title: 'latency: from the request to the picture',
    text:
      'Milliseconds beyond those that the provider takes from when it has read a request until ' +
      'it has answered it with a PNG of 64x64.',
    ...tableOf(cases, [
      ['until', ({ series }) => series.name],
      ['provider', ({ errand }) => `${errand.model.replace('after-', '')} ms`],
      ['at once', ({ errand }) => `${errand.width}`],
      ['added ms, median', ({ series }) => spread(series.values('half'))],
      ['added ms, 99 of 100', ({ series }) => spread(series.values('most'))],
    ]),
    raw: cases,
  };
}

/** Pictures per second with a provider that responds at once. */
export async function throughput(bench: Bench): Promise<Trial> {
  const { settings, log } = bench;
  const count = settings.quick ? 500 : 3000;
  const ways = [
    { ...CALLBACK, until: 'the provider itself', callbacks: false },
    SYNC,
    CALLBACK,
  ].map(({ until, ...way }) => ({ way, series: new Series<'perSecond' | 'cpu'>(until) }));
  await withProvider(bench, (provider) =>
    withOriel(bench, 'oriel', configOf(provider, AT_ONCE), async (daemon) => {
      for (let round = 0; round <= settings.rounds; round += 1) {
        for (const [at, { way, series }] of ways.entries()) {
          const { url } = at === 0 ? provider : daemon;
          const before = daemon.cpu();
          const load = { model: 'after-0', width: AT_ONCE, count } as const;
          const { seconds } = await run(bench, { url, ...way, ...load });
          if (round === 0) continue;
          const cpu = ((daemon.cpu() - before) * 1e6) / count;
          series.add({ perSecond: count / seconds, ...(at > 0 && { cpu }) });
          log(`  ${series.name}: ${fixed(count / seconds, 0)} a second`);
        }
      }
    }),
  );
  return {
    title: 'throughput: pictures at full speed',
    text:
      `${count} PNGs of 64x64, ${AT_ONCE} at once, each fetched, decoded to prove it, written to ` +
      'disk and charged.',
    ...tableOf(ways, [
      ['until', ({ series }) => series.name],
      ['per second', ({ series }) => spread(series.values('perSecond'), 0)],
      ['CPU ms per 1000', ({ series }) => fixed(series.median('cpu'), 0)],
    ]),
    raw: { count, ways },
  };
}

/** Runs the client as a separate process. */
function run(bench: Bench, errand: Errand): Promise<Waits> {
  return figuresOf<Waits>(bench, 'tasks/contenders/client', [JSON.stringify(errand)]);
}

/** Milliseconds of the provider for each prompt since the last call. */
async function tookOf({ url }: Server): Promise<Record<string, number>> {
  return (await (await fetch(`${url}/took`)).json()) as Record<string, number>;
}

function delaysOf({ milliseconds }: Waits, took: Readonly<Record<string, number>>): number[] {
  return Object.entries(milliseconds).map(([prompt, wait]) => {
    const own = took[prompt];
    if (own === undefined) throw new Error(`the provider was never asked for ${prompt}`);
    return wait - own;
  });
}
