import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Trial } from '../cases.ts';
import { measure } from '../measure.ts';
import { median } from '../race.ts';
import { Server } from './server.ts';
import {
  type Bench,
  contender,
  fixed,
  goalOf,
  KEYS,
  notMeasured,
  seed,
  spread,
  withDaemon,
  wrk,
} from './trial.ts';

const TITLE = 'lookup: GET /v1/tasks/{id}';
const GOAL = 'requests per second at 64 connections ≥ 0.80 × null route';
const CONNECTIONS = [1, 64];

/** Result of one run of wrk against one server. */
interface Load {
  readonly requestsPerSecond: number;
  /** CPU time of the server, in milliseconds for a thousand requests. */
  readonly cpuPerThousand: number;
}

/** Figures by connections, then by round. */
type Loads = Map<number, Load[]>;

/** Lookup of a task, compared with a route without lookup and authentication. */
export async function lookup(bench: Bench): Promise<Trial> {
  const tasks = bench.settings.quick ? 1000 : 10_000;
  const { data, task } = await seed(bench, 'lookup', tasks);
  return withDaemon(bench, data, (daemon) =>
    raceLookups(bench, daemon, task, {
      id: 'lookup',
      title: TITLE,
      text: `One of ${tasks} stored ended tasks`,
    }),
  );
}

/** Texts of a case that looks tasks up. */
interface Telling {
  readonly id: string;
  readonly title: string;
  /** The subject, as the beginning of a sentence. */
  readonly text: string;
}

/** Measures lookups of one task of a daemon, beside the null route. */
export async function raceLookups(
  bench: Pick<Bench, 'settings' | 'folder' | 'log'>,
  daemon: Server,
  task: string,
  { id, title, text }: Telling,
): Promise<Trial> {
  if (wrk.file === undefined) return notMeasured(id, title, wrk, GOAL);
  const { settings, folder, log } = bench;
  const seconds = settings.quick ? 2 : 5;
  const own: Loads = new Map(CONNECTIONS.map((connections) => [connections, []]));
  const limit: Loads = new Map(CONNECTIONS.map((connections) => [connections, []]));
  const path = `/v1/tasks/${task}`;
  const answer = await fetch(daemon.url + path, {
    headers: { authorization: `Bearer ${KEYS[0]}` },
  });
  const body = await answer.text();
  if (answer.status !== 200) throw new Error(`GET /v1/tasks/{id} answered ${body}`);
  const file = join(folder, 'body.json');
  writeFileSync(file, body);
  const nullRoute = await Server.start(
    join(folder, 'null-route'),
    [contender('null-route'), file],
    path,
  );
  try {
    const pairs = [
      [nullRoute, limit],
      [daemon, own],
    ] as const;
    // The first round warms up and is not counted.
    for (let round = 0; round <= settings.rounds; round++) {
      for (const connections of CONNECTIONS) {
        for (const [server, loads] of pairs) {
          const load = await put(bench, server, path, connections, round === 0 ? 2 : seconds);
          if (round > 0) loads.get(connections)!.push(load);
        }
        if (round === 0) continue;
        const ratio = median(ratios(own, limit, connections).slice(-1));
        log(`  ${connections} connections: ${fixed(ratio)} × null route`);
      }
    }
  } finally {
    await nullRoute.stop();
  }

  const row = (name: string, loads: Loads, connections: number) => {
    const all = loads.get(connections)!;
    return [
      name,
      String(connections),
      fixed(median(all.map(({ requestsPerSecond }) => requestsPerSecond)), 0),
      spread(ratios(loads, limit, connections)),
      fixed(median(all.map(({ cpuPerThousand }) => cpuPerThousand)), 1),
      spread(ratios(loads, limit, connections, 'cpuPerThousand')),
    ];
  };
  return {
    section: {
      title,
      text:
        `${text}, with authentication, rate limit, log and metrics, for ${seconds} s by wrk; the ` +
        `null route is Fastify's with nothing about it and the same body of ` +
        `${Buffer.byteLength(body)} bytes.`,
      table: {
        headings: [
          'contender',
          'connections',
          'requests/s',
          '÷ null route',
          'CPU ms per 1000',
          'CPU ÷ null route',
        ],
        rows: CONNECTIONS.flatMap((connections) => [
          row('null route', limit, connections),
          row('oriel', own, connections),
        ]),
      },
    },
    goals: [goalOf(id, GOAL, ratios(own, limit, 64), 0.8, 'higher')],
    faults: [],
    raw: { own: [...own], limit: [...limit] },
  };
}

/** Runs wrk against one path of one server. */
async function put(
  { folder }: Pick<Bench, 'folder'>,
  server: Server,
  path: string,
  connections: number,
  seconds: number,
): Promise<Load> {
  const place = join(folder, 'wrk');
  mkdirSync(place, { recursive: true });
  const cpuBefore = server.cpu();
  const authorization = `Authorization: Bearer ${KEYS[0]}`;
  const options = ['-t', '1', '-c', `${connections}`, '-d', `${seconds}s`, '-H', authorization];
  await measure({ file: wrk.file!, args: [...options, server.url + path] }, place);
  const cpu = server.cpu() - cpuBefore;
  const said = readFileSync(join(place, 'stdout'), 'utf8');
  if (/Non-2xx|Socket errors/.test(said)) throw new Error(`wrk met errors: ${said}`);
  const requests = Number(/(\d+) requests in/.exec(said)?.[1]);
  const requestsPerSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(said)?.[1]);
  return { requestsPerSecond, cpuPerThousand: (cpu * 1e6) / requests };
}

/** Ratios of one server's figures to another's, by round. */
function ratios(
  loads: Loads,
  to: Loads,
  connections: number,
  figure: keyof Load = 'requestsPerSecond',
): number[] {
  const others = to.get(connections)!;
  return loads.get(connections)!.map((load, round) => load[figure] / others[round]![figure]);
}
