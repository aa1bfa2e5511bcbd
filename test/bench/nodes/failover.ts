import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Bench, Trial } from '../cases.ts';
import { Server } from '../daemon/server.ts';
import { fixed, seed, spread } from '../daemon/trial.ts';
import { startFixedUpstream } from '../gateway/nginx.ts';
import { bodyOf, configOf, PATH, withProvider } from '../tasks/field.ts';
import { engineOf } from './field.ts';
import type { Postgres } from './postgres.ts';
import { postOf } from './text.ts';

export const FAILOVER = { title: 'failover: PostgreSQL is killed and starts again', goal: '' };

/** Requests at once of each kind. */
const WIDTH = 8;
/** Milliseconds between two requests of one client. */
const PACE = 10;

/** Requests of one kind while the database restarts. */
interface Record {
  /** Times of successful answers. */
  readonly good: number[];
  /** Requests that failed, by status; 0 without an answer. */
  readonly failed: Map<number, number>;
}

/** Milliseconds without a successful answer: the longest such time. */
function gapOf({ good }: Record): number {
  const times = [...good].sort((one, other) => one - other);
  return Math.max(...times.map((time, index) => time - (times[index - 1] ?? time)));
}

/** The gap that clients of text and of tasks see, with requests going on. */
export async function failover(bench: Bench, server: Postgres): Promise<Trial> {
  const { settings, folder, log } = bench;
  const rest = settings.quick ? 1500 : 5000;
  const rounds: { text: Record; tasks: Record }[] = [];
  const upstream = await startFixedUpstream(join(folder, 'upstream'));
  try {
    await withProvider(bench, async (provider) => {
      const { driver, config } = engineOf(server, 'failover');
      const { data } = await seed(bench, 'data', 0, driver);
      const daemon = await Server.oriel(
        join(folder, 'daemon'),
        data,
        configWithText(configOf(provider, 1), upstream, config),
      );
      try {
        for (let round = 0; round < settings.rounds; round += 1) {
          rounds.push(await restart(daemon, server, rest));
          const { text, tasks } = rounds.at(-1)!;
          log(`  text ${fixed(gapOf(text), 0)} ms, tasks ${fixed(gapOf(tasks), 0)} ms`);
        }
      } finally {
        await daemon.kill();
      }
    });
  } finally {
    await upstream.stop();
  }
  const row = (name: 'text' | 'tasks') => {
    const failed = new Map<number, number>();
    for (const round of rounds) {
      for (const [status, count] of round[name].failed) {
        failed.set(status, (failed.get(status) ?? 0) + count);
      }
    }
    return [
      name,
      spread(
        rounds.map((round) => gapOf(round[name])),
        0,
      ),
      String(rounds.reduce((sum, round) => sum + round[name].good.length, 0)),
      [...failed].map(([status, count]) => `${count} × ${status || 'no answer'}`).join(', '),
    ];
  };
  return {
    section: {
      title: FAILOVER.title,
      text:
        `${WIDTH} clients each of text and of new tasks, with ${PACE} ms between two requests of one, while the server ` +
        'is stopped with -m immediate and started.',
      table: {
        headings: ['requests', 'longest time without a success, ms', 'succeeded', 'failed'],
        rows: [row('text'), row('tasks')],
      },
    },
    goals: [],
    faults: [],
    raw: rounds.map(({ text, tasks }) => ({
      text: { gap: gapOf(text), failed: [...text.failed] },
      tasks: { gap: gapOf(tasks), failed: [...tasks.failed] },
    })),
  };
}

function configWithText(tasks: object, { url }: Server, store: object): object {
  const { providers, models, ...rest } = tasks as { providers: object; models: object };
  const text = { kind: 'openai', baseUrl: `${url}/v1`, apiKey: 'sk-bench' };
  const json = {
    type: 'text',
    routes: [{ provider: 'text', model: 'json', dialect: 'chat' }],
    price: { input: 1.25, cachedInput: 0.125, output: 10 },
  };
  return { ...rest, ...store, providers: { ...providers, text }, models: { ...models, json } };
}

async function restart(daemon: Server, server: Postgres, rest: number) {
  const post = postOf(daemon);
  let isOver = false;
  const pool = new Pool(daemon.url, { connections: 2 * WIDTH });
  const send = async (path: string, body: string, record: Record): Promise<void> => {
    const { headers } = post;
    while (!isOver) {
      let status = 0;
      try {
        const answer = await pool.request({ method: 'POST', path, headers, body });
        status = answer.statusCode;
        await answer.body.dump();
      } catch {
        // Counted as without an answer.
      }
      if (status === 200 || status === 202) record.good.push(performance.now());
      else record.failed.set(status, (record.failed.get(status) ?? 0) + 1);
      await sleep(PACE);
    }
  };
  const [text, tasks] = [0, 1].map((): Record => ({ good: [], failed: new Map() }));
  const clients = Array.from({ length: WIDTH }, () => [
    send(new URL(post.url).pathname, post.body, text!),
    send(PATH, bodyOf('hold'), tasks!),
  ]).flat();
  await sleep(rest);
  await server.crash();
  await sleep(rest);
  isOver = true;
  await Promise.all(clients);
  await pool.destroy();
  return { text: text!, tasks: tasks! };
}
