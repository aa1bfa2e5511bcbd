import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Trial } from '../cases.ts';
import { Server } from '../daemon/server.ts';
import { fixed, goalOf, spread } from '../daemon/trial.ts';
import { loader, putLoad } from '../gateway/load.ts';
import { median } from '../race.ts';
import { configOf, postOf, queueTasks, script, startOriel, withProvider } from './field.ts';

const CONNECTIONS = [1, 64];
const GOAL = 'creations per second at 64 connections ≥ 0.50 × limit';
/** Creations from which it is seen how much one of them writes. */
const SAMPLE = 3200;

interface Figures {
  readonly perSecond: number;
  /** Of the server, in milliseconds for a thousand requests. */
  readonly cpuPerThousand: number;
  /** The median in milliseconds, where the loader tells. */
  readonly latency: number | undefined;
}

interface Standing {
  readonly name: string;
  readonly settings: string;
  /** By connections, then by round. */
  readonly rounds: Map<number, Figures[]>;
  /** A server that has done nothing yet, and so no memory of what was put on it before. */
  start(round: number, connections: number): Promise<Server>;
}

/** Taking tasks on durably, against routes that do less and less about it. */
export async function create(bench: Bench): Promise<Trial> {
  return withProvider(bench, async (provider) => {
    const config = configOf(provider, 1);
    const bytes = await bytesOfCreation(bench, config);
    bench.log(`  ${fixed(bytes, 0)} bytes written for each`);
    const limit = standing(
      'limit',
      'Fastify, the body parsed, append + fdatasync in groups, 202',
      (round, connections) =>
        Server.start(
          join(bench.folder, 'limit'),
          [script('accept'), join(bench.folder, `log-${round}-${connections}`), `${bytes}`],
          '/',
        ),
    );
    const nullRoute = standing('null route', 'Fastify, the body parsed, 202', () =>
      Server.start(join(bench.folder, 'null'), [script('accept')], '/'),
    );
    const own = standing(
      'oriel',
      'key, limit, log, metrics, safety, credits; one task at its provider',
      async (round, connections) =>
        (await startOriel(bench, `oriel-${round}-${connections}`, config)).daemon,
    );
    const standings = [nullRoute, limit, own];
    await race(bench, standings);
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
            'connections',
            'per second',
            '÷ limit',
            'ms, median',
            'CPU ms per 1000',
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

function standing(name: string, settings: string, start: Standing['start']): Standing {
  return { name, settings, start, rounds: new Map(CONNECTIONS.map((count) => [count, []])) };
}

async function race(bench: Bench, standings: readonly Standing[]): Promise<void> {
  const { settings, log } = bench;
  const seconds = settings.quick ? 2 : 5;
  for (let round = 0; round < settings.rounds; round += 1) {
    for (const connections of CONNECTIONS) {
      for (const { name, rounds, start } of standings) {
        const server = await start(round, connections);
        try {
          const post = postOf(server);
          // What has not been compiled yet is not what a server is like.
          await putLoad(bench, post, connections, 1);
          const before = server.cpu();
          const load = await putLoad(bench, post, connections, seconds);
          const cpuPerThousand = ((server.cpu() - before) * 1e6) / load.requests;
          const perSecond = load.requestsPerSecond;
          rounds.get(connections)!.push({ perSecond, cpuPerThousand, latency: load.latency });
          log(`  ${connections} connections, ${name}: ${fixed(perSecond, 0)} a second`);
        } finally {
          await server.kill();
        }
      }
    }
  }
}

/** What one creation writes, where many are made at once. */
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
    fixed(median(rounds.map(({ cpuPerThousand }) => cpuPerThousand)), 1),
    own.settings,
  ];
}

/** Of one's rates over another's, by round. */
function ratios(own: Standing, to: Standing, connections: number): number[] {
  const others = to.rounds.get(connections)!;
  return own.rounds
    .get(connections)!
    .map(({ perSecond }, round) => perSecond / others[round]!.perSecond);
}
