import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { Server } from '../daemon/server.ts';
import { seed } from '../daemon/trial.ts';
import { PRICE } from '../gateway/field.ts';
import { postOf } from '../gateway/json.ts';
import { nginx, startFixedUpstream } from '../gateway/nginx.ts';
import { fixed, spread } from '../series.ts';
import { bodyOf, configOf, HEADERS, PATH, withProvider } from '../tasks/field.ts';
import { tableOf } from '../trial.ts';
import { type Case, engineOf } from './field.ts';
import type { Postgres } from './postgres.ts';
import { CLIENT } from './text.ts';

/** Requests at once of each kind. */
const WIDTH = 8;
/** Milliseconds between two requests of one client. */
const PACE = 10;

/** Requests of one kind while the database restarts. */
interface Outcomes {
  /** Times of successful answers. */
  readonly good: number[];
  /** Requests that failed, by status; 0 without an answer. */
  readonly failed: Map<number, number>;
}

/** Milliseconds without a successful answer: the longest such time. */
function gapOf({ good }: Outcomes): number {
  const times = [...good].sort((one, other) => one - other);
  return Math.max(...times.map((time, index) => time - (times[index - 1] ?? time)));
}

/** The gap that clients of text and of tasks see, with requests going on. */
export const failover: Case = {
  title: 'failover: PostgreSQL is killed and starts again',
  goal: '',
  program: nginx,
  async work(bench, server) {
    const { settings, folder, log } = bench;
    const rest = settings.quick ? 1500 : 5000;
    const rounds: { text: Outcomes; tasks: Outcomes }[] = [];
    const measure = async (daemon: Server) => {
      for (let round = 0; round < settings.rounds; round += 1) {
        const { text, tasks } = await restart(daemon, server, rest);
        rounds.push({ text, tasks });
        log(`  text ${fixed(gapOf(text), 0)} ms, tasks ${fixed(gapOf(tasks), 0)} ms`);
      }
    };
    const startUpstream = () => startFixedUpstream(join(folder, 'upstream'));
    await Server.during(startUpstream, (upstream) =>
      withProvider(bench, async (provider) => {
        const { driver, config } = engineOf(server, 'failover');
        const { data } = await seed(bench, 'data', 0, driver);
        const own = configWithText(configOf(provider, 1), upstream, config);
        const start = () => Server.oriel(join(folder, 'daemon'), data, own);
        await Server.during(start, measure, 'SIGKILL');
      }),
    );
    const failedOf = (kind: 'text' | 'tasks') => {
      const failed = new Map<number, number>();
      for (const [status, count] of rounds.flatMap((round) => [...round[kind].failed])) {
        failed.set(status, (failed.get(status) ?? 0) + count);
      }
      return [...failed].map(([status, count]) => `${count} × ${status || 'no answer'}`).join(', ');
    };
    const summary = ({ good, failed }: Outcomes) => ({
      gap: gapOf({ good, failed }),
      failed: [...failed],
    });
    return {
      text:
        `${WIDTH} clients each of text and of new tasks, with ${PACE} ms between two requests of one, while the server ` +
        'is stopped with -m immediate and started.',
      ...tableOf(['text', 'tasks'] as const, [
        ['requests', (kind) => kind],
        [
          'longest time without a success, ms',
          (kind) =>
            spread(
              rounds.map((round) => gapOf(round[kind])),
              0,
            ),
        ],
        [
          'succeeded',
          (kind) => `${rounds.reduce((sum, round) => sum + round[kind].good.length, 0)}`,
        ],
        ['failed', failedOf],
      ]),
      raw: rounds.map(({ text, tasks }) => ({ text: summary(text), tasks: summary(tasks) })),
    };
  },
};

function configWithText(tasks: object, { url }: Server, store: object): object {
  const { providers, models, ...rest } = tasks as { providers: object; models: object };
  const text = { kind: 'openai', baseUrl: `${url}/v1`, apiKey: 'sk-bench' };
  const routes = [{ provider: 'text', model: 'json', dialect: 'chat' }];
  const json = { type: 'text', routes, price: PRICE };
  return { ...rest, ...store, providers: { ...providers, text }, models: { ...models, json } };
}

async function restart(daemon: Server, server: Postgres, rest: number) {
  let isOver = false;
  const pool = new Pool(daemon.url, { connections: 2 * WIDTH });
  const send = async (path: string, body: string, outcomes: Outcomes): Promise<void> => {
    while (!isOver) {
      let status = 0;
      try {
        const answer = await pool.request({ method: 'POST', path, headers: HEADERS, body });
        status = answer.statusCode;
        await answer.body.dump();
      } catch {
        // Counted as without an answer.
      }
      if (status === 200 || status === 202) outcomes.good.push(performance.now());
      else outcomes.failed.set(status, (outcomes.failed.get(status) ?? 0) + 1);
      await sleep(PACE);
    }
  };
  const text: Outcomes = { good: [], failed: new Map() };
  const tasks: Outcomes = { good: [], failed: new Map() };
  const post = postOf(daemon, CLIENT);
  const clients = Array.from({ length: WIDTH }, () => [
    send(new URL(post.url).pathname, post.body, text),
    send(PATH, bodyOf('hold'), tasks),
  ]).flat();
  await sleep(rest);
  await server.crash();
  await sleep(rest);
  isOver = true;
  await Promise.all(clients);
  await pool.destroy();
  return { text, tasks };
}
