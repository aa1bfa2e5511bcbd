import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Trial } from '../cases.ts';
import { Server } from '../daemon/server.ts';
import { fixed, goalOf, spread } from '../daemon/trial.ts';
import { loader, putLoad } from '../gateway/load.ts';
import { measure } from '../measure.ts';
import { median } from '../race.ts';
import type { StoreFigures } from '../store/contenders/work.ts';
import { appendCommand } from '../store/suite.ts';
import { configOf, postOf, queueTasks, script, startOriel, withProvider } from './field.ts';

const CONNECTIONS = [1, 64];
const GOAL = 'creations per second at 64 connections ≥ 0.50 × limit';
/** Same number as in the store suite. */
const WARM_UP = 3000;
/** Creations for measuring the bytes that one of them writes. */
const SAMPLE = 3200;

interface Figures {
  readonly perSecond: number;
  /** CPU time of the server, in milliseconds for a thousand requests; absent without a server. */
  readonly cpuPerThousand: number | undefined;
  /** The median in milliseconds, if the load generator reports it. */
  readonly latency: number | undefined;
}

interface Standing {
  readonly name: string;
  readonly settings: string;
  /** Figures by connections, then by round. */
  readonly rounds: Map<number, Figures[]>;
  measure(connections: number): Promise<Figures>;
}

/** Durable creation of tasks, compared with routes that do less. */
export async function create(bench: Bench): Promise<Trial> {
  const { settings, folder, log } = bench;
  return withProvider(bench, async (provider) => {
    const config = configOf(provider, 1);
    const bytes = await bytesOfCreation(bench, config);
    log(`  ${fixed(bytes, 0)} bytes written for each`);
    const append = standing('append', 'append + fdatasync in groups, no HTTP', (connections) =>
      appended(bench, connections, bytes),
    );
    const nullRoute = standing('null route', 'Fastify, the body parsed, 202', (connections) =>
      put(bench, connections, () => Server.start(join(folder, 'null'), [script('accept')], '/')),
    );
    const limit = standing('limit', 'the null route, 202 after the append', (connections) =>
      put(bench, connections, () => {
        const file = join(folder, 'appended');
        return Server.start(join(folder, 'limit'), [script('accept'), file, `${bytes}`], '/');
      }),
    );
    const own = standing(
      'oriel',
      'key, limit, log, metrics, safety, credits; one task at its provider',
      (connections) =>
        put(bench, connections, async () => {
          rmSync(join(folder, 'oriel'), { recursive: true, force: true });
          return (await startOriel(bench, 'oriel', config)).daemon;
        }),
    );
    const standings = [append, nullRoute, limit, own];
    for (let round = 0; round < settings.rounds; round += 1) {
      for (const connections of CONNECTIONS) {
        for (const { name, rounds, measure } of standings) {
          const figures = await measure(connections);
          rounds.get(connections)!.push(figures);
          log(`  ${connections} at once, ${name}: ${fixed(figures.perSecond, 0)} a second`);
        }
      }
    }
    return {
      section: {
        title: 'create: POST /v1/images/generations',
        text:
          `Each acknowledged when it is on disk, with ${fixed(bytes, 0)} bytes for it, put by ` +
          `${loader} on a new server. The provider holds the first task for ever, so that nothing ` +
          'but the creation is measured.',
        table: {
          headings: [
            'contender',
            'at once',
            'per second',
            '÷ limit',
            'ms, median',
            'CPU ms per 1000',
            'CPU ÷ limit',
            'ran with',
          ],
          rows: CONNECTIONS.flatMap((connections) =>
            standings.map((one) => rowOf(one, limit, connections)),
          ),
        },
      },
      goals: [goalOf('create', GOAL, ratios(own, limit, 64), 0.5, 'higher')],
      faults: [],
      raw: standings.map(({ name, rounds }) => ({ name, rounds: [...rounds] })),
    };
  });
}

function standing(name: string, settings: string, measure: Standing['measure']): Standing {
  return { name, settings, measure, rounds: new Map(CONNECTIONS.map((count) => [count, []])) };
}

/** Runs the load generator against a new server, without state of earlier requests. */
async function put(
  bench: Bench,
  connections: number,
  start: () => Promise<Server>,
): Promise<Figures> {
  const server = await start();
  try {
    // Warm-up, so that V8 has compiled the code.
    await queueTasks(server, WARM_UP);
    const before = server.cpu();
    const load = await putLoad(bench, postOf(server), connections, bench.settings.quick ? 2 : 5);
    const cpuPerThousand = ((server.cpu() - before) * 1e6) / load.requests;
    return { perSecond: load.requestsPerSecond, cpuPerThousand, latency: load.latency };
  } finally {
    await server.kill();
  }
}

/** Rate of appends by a script that does nothing else. */
async function appended(
  { folder, settings }: Bench,
  width: number,
  bytes: number,
): Promise<Figures> {
  const place = join(folder, 'append');
  mkdirSync(place, { recursive: true });
  const count = (settings.quick ? 1000 : 3000) * (width > 1 ? 10 : 1);
  const { file, args } = appendCommand(width, join(place, 'file'), bytes, count);
  await measure({ file, args }, place);
  const said = JSON.parse(readFileSync(join(place, 'stdout'), 'utf8')) as StoreFigures;
  const perSecond = count / said.seconds;
  return { perSecond, cpuPerThousand: undefined, latency: (1000 * width) / perSecond };
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
    await daemon.kill();
  }
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

function rowOf(own: Standing, limit: Standing, connections: number): string[] {
  const rounds = own.rounds.get(connections)!;
  return [
    own.name,
    String(connections),
    fixed(median(rounds.map(({ perSecond }) => perSecond)), 0),
    spread(ratios(own, limit, connections)),
    fixed(median(rounds.flatMap(({ latency }) => latency ?? []))),
    fixed(median(rounds.flatMap(({ cpuPerThousand }) => cpuPerThousand ?? [])), 1),
    spread(ratios(own, limit, connections, 'cpuPerThousand')),
    own.settings,
  ];
}

/** Ratios of one contender's figures to another's, by round. */
function ratios(
  own: Standing,
  to: Standing,
  connections: number,
  figure: 'perSecond' | 'cpuPerThousand' = 'perSecond',
): number[] {
  const others = to.rounds.get(connections)!;
  return own.rounds.get(connections)!.flatMap((figures, round) => {
    const [one, other] = [figures[figure], others[round]![figure]];
    return one === undefined || other === undefined ? [] : [one / other];
  });
}
