import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Server } from '../daemon/server.ts';
import { loader, putLoad } from '../gateway/load.ts';
import { type Figures, fixed, Series, spread } from '../series.ts';
import type { StoreFigures } from '../store/contenders/work.ts';
import { type Bench, figuresOf, goalOf, scriptFile, type Trial, tableOf } from '../trial.ts';
import { configOf, postOf, queueTasks, startOriel, withProvider } from './field.ts';

const CONNECTIONS = [1, 64];
const GOAL = 'creations per second at 64 connections ≥ 0.50 × limit';
/** Same number as in the store suite. */
const WARM_UP = 3000;
/** Creations for measuring the bytes that one of them writes. */
const SAMPLE = 3200;

/** CPU time of the server, in milliseconds for a thousand requests; latency is the median in milliseconds. */
type Figure = 'perSecond' | 'cpuPerThousand' | 'latency';

/** Durable creation of tasks, compared with routes that do less. */
export async function create(bench: Bench): Promise<Trial> {
  const { settings, folder, log } = bench;
  return withProvider(bench, async (provider) => {
    const config = configOf(provider, 1);
    const bytes = await bytesOfCreation(bench, config);
    log(`  ${fixed(bytes, 0)} bytes written for each`);
    const accept = (name: string, ...args: string[]) =>
      Server.start(join(folder, name), [scriptFile('tasks/contenders/accept'), ...args], '/');
    const append = new Series<Figure>('append', 'append + fdatasync in groups, no HTTP');
    const nullRoute = new Series<Figure>('null route', 'Fastify, the body parsed, 202');
    const limit = new Series<Figure>('limit', 'the null route, 202 after the append');
    const settingsOfOriel = 'key, limit, log, metrics, safety, credits; one task at its provider';
    const own = new Series<Figure>('oriel', settingsOfOriel);
    const startOwn = async () => {
      rmSync(join(folder, 'oriel'), { recursive: true, force: true });
      return (await startOriel(bench, 'oriel', config)).daemon;
    };
    const contenders = new Map<Series<Figure>, (load: number) => Promise<Figures<Figure>>>([
      [append, (load) => appended(bench, load, bytes)],
      [nullRoute, (load) => put(bench, load, () => accept('null'))],
      [
        limit,
        (load) => put(bench, load, () => accept('limit', join(folder, 'appended'), `${bytes}`)),
      ],
      [own, (load) => put(bench, load, startOwn)],
    ]);
    for (let round = 0; round < settings.rounds; round += 1) {
      for (const load of CONNECTIONS) {
        for (const [series, measure] of contenders) {
          const figures = await measure(load);
          series.add(figures, load);
          log(`  ${load} at once, ${series.name}: ${fixed(figures.perSecond, 0)} a second`);
        }
      }
    }
    const all = [...contenders.keys()];
    return {
      title: 'create: POST /v1/images/generations',
      text:
        `Each acknowledged when it is on disk, with ${fixed(bytes, 0)} bytes for it, put by ` +
        `${loader} on a new server. The provider holds the first task for ever, so that nothing ` +
        'but the creation is measured.',
      ...tableOf(
        CONNECTIONS.flatMap((load) => all.map((series) => ({ series, load }))),
        [
          ['contender', ({ series }) => series.name],
          ['at once', ({ load }) => `${load}`],
          ['per second', ({ series, load }) => fixed(series.median('perSecond', load), 0)],
          ['÷ limit', ({ series, load }) => spread(series.over(limit, 'perSecond', load))],
          ['ms, median', ({ series, load }) => fixed(series.median('latency', load))],
          [
            'CPU ms per 1000',
            ({ series, load }) => fixed(series.median('cpuPerThousand', load), 1),
          ],
          ['CPU ÷ limit', ({ series, load }) => spread(series.over(limit, 'cpuPerThousand', load))],
          ['ran with', ({ series }) => series.settings],
        ],
      ),
      goals: [goalOf(GOAL, own.over(limit, 'perSecond', 64), 0.5)],
      raw: all.map(({ name, rounds }) => ({ name, rounds })),
    };
  });
}

/** Runs the load generator against a new server, without state of earlier requests. */
function put(
  bench: Bench,
  connections: number,
  start: () => Promise<Server>,
): Promise<Figures<Figure>> {
  const work = async (server: Server) => {
    // Warm-up, so that V8 has compiled the code.
    await queueTasks(server, WARM_UP);
    const before = server.cpu();
    const load = await putLoad(bench, postOf(server), connections, bench.settings.quick ? 2 : 5);
    const cpuPerThousand = ((server.cpu() - before) * 1e6) / load.requests;
    const { requestsPerSecond: perSecond, latency } = load;
    return { perSecond, cpuPerThousand, ...(latency !== undefined && { latency }) };
  };
  return Server.during(start, work, 'SIGKILL');
}

/** Rate of appends by a script that does nothing else. */
async function appended(bench: Bench, width: number, bytes: number): Promise<Figures<Figure>> {
  const place = join(bench.folder, 'append');
  mkdirSync(place, { recursive: true });
  const count = (bench.settings.quick ? 1000 : 3000) * (width > 1 ? 10 : 1);
  const args = [width, join(place, 'file'), bytes, count];
  const { seconds } = await figuresOf<StoreFigures>(bench, 'store/contenders/append', args);
  return { perSecond: count / seconds, latency: (1000 * width * seconds) / count };
}

/** Bytes that one of many concurrent creations writes. */
async function bytesOfCreation(bench: Bench, config: object): Promise<number> {
  const { daemon, data } = await startOriel(bench, 'sample', config);
  try {
    const store = join(data, 'store');
    await queueTasks(daemon, 64);
    const before = bytesIn(store);
    await queueTasks(daemon, SAMPLE);
    return (bytesIn(store) - before) / SAMPLE;
  } finally {
    await daemon.stop('SIGKILL');
  }
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
