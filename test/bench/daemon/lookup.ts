import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measure } from '../measure.ts';
import { fixed, Series, spread } from '../series.ts';
import {
  type Bench as CaseBench,
  goalOf,
  needing,
  scriptFile,
  type Trial,
  tableOf,
} from '../trial.ts';
import { Server } from './server.ts';
import { type Bench, KEYS, seed, withDaemon, wrk } from './trial.ts';

const GOAL = 'requests per second at 64 connections ≥ 0.80 × null route';
const CONNECTIONS = [1, 64];

/** A case that looks one task of a daemon up, beside the null route. */
export const looking = (
  title: string,
  work: (bench: CaseBench) => Promise<Trial>,
): ((bench: CaseBench) => Promise<Trial>) => needing([wrk], title, GOAL, work);

/** Lookup of a task, compared with a route without lookup and authentication. */
export async function lookup(bench: Bench): Promise<Trial> {
  const title = 'lookup: GET /v1/tasks/{id}';
  return looking(title, async () => {
    const tasks = bench.settings.quick ? 1000 : 10_000;
    const { data, task } = await seed(bench, 'lookup', tasks);
    return withDaemon(bench, data, (daemon) =>
      raceLookups(bench, daemon, task, title, `One of ${tasks} stored ended tasks`),
    );
  })(bench);
}

/**
 * Measures lookups of one task of a daemon, beside the null route.
 *
 * @param subject beginning of the sentence that describes the work
 */
export async function raceLookups(
  { settings, folder, log }: CaseBench,
  daemon: Server,
  task: string,
  title: string,
  subject: string,
): Promise<Trial> {
  const seconds = settings.quick ? 2 : 5;
  const own = new Series<keyof Load>('oriel');
  const limit = new Series<keyof Load>('null route');
  const path = `/v1/tasks/${task}`;
  const headers = { authorization: `Bearer ${KEYS[0]}` };
  const answer = await fetch(daemon.url + path, { headers });
  const body = await answer.text();
  if (answer.status !== 200) throw new Error(`GET /v1/tasks/{id} answered ${body}`);
  const file = join(folder, 'body.json');
  writeFileSync(file, body);
  const start = () => {
    const args = [scriptFile('daemon/contenders/null-route'), file];
    return Server.start(join(folder, 'null-route'), args, path);
  };
  await Server.during(start, async (nullRoute) => {
    // The first round warms up and is not counted.
    for (let round = 0; round <= settings.rounds; round++) {
      for (const load of CONNECTIONS) {
        for (const [server, series] of [
          [nullRoute, limit],
          [daemon, own],
        ] as const) {
          const figures = await put(folder, server, path, load, round === 0 ? 2 : seconds);
          if (round > 0) series.add(figures, load);
        }
        const ratio = own.over(limit, 'requestsPerSecond', load).at(-1);
        if (round > 0) log(`  ${load} connections: ${fixed(ratio)} × null route`);
      }
    }
  });
  return {
    title,
    text:
      `${subject}, with authentication, rate limit, log and metrics, for ${seconds} s by wrk; the ` +
      `null route is Fastify's with nothing about it and the same body of ` +
      `${Buffer.byteLength(body)} bytes.`,
    ...tableOf(
      CONNECTIONS.flatMap((load) => [limit, own].map((series) => ({ series, load }))),
      [
        ['contender', ({ series }) => series.name],
        ['connections', ({ load }) => `${load}`],
        ['requests/s', ({ series, load }) => fixed(series.median('requestsPerSecond', load), 0)],
        [
          '÷ null route',
          ({ series, load }) => spread(series.over(limit, 'requestsPerSecond', load)),
        ],
        ['CPU ms per 1000', ({ series, load }) => fixed(series.median('cpuPerThousand', load), 1)],
        [
          'CPU ÷ null route',
          ({ series, load }) => spread(series.over(limit, 'cpuPerThousand', load)),
        ],
      ],
    ),
    goals: [goalOf(GOAL, own.over(limit, 'requestsPerSecond', 64), 0.8)],
    raw: { own: own.rounds, limit: limit.rounds },
  };
}

/** Result of one run of wrk against one server. */
interface Load {
  readonly requestsPerSecond: number;
  /** CPU time of the server, in milliseconds for a thousand requests. */
  readonly cpuPerThousand: number;
}

/** Runs wrk against one path of one server. */
async function put(
  folder: string,
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
