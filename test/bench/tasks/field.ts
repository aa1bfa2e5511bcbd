import { join } from 'node:path';
import { Pool } from 'undici';
import { Server } from '../daemon/server.ts';
import { KEYS, seed } from '../daemon/trial.ts';
import type { Post } from '../gateway/load.ts';
import { inFlight } from '../store/contenders/work.ts';
import { type Bench, scriptFile } from '../trial.ts';

export const PATH = '/v1/images/generations';
export const AT_ONCE = 64;

/** Behaviour of the provider by model name. */
export type Manner = 'hold' | 'after-0' | 'after-200';
const MANNERS: readonly Manner[] = ['hold', 'after-0', 'after-200'];

export const HEADERS = {
  'content-type': 'application/json',
  authorization: `Bearer ${KEYS[0]}`,
} as const;

/** One request for a picture; `note` makes it unique. */
export function bodyOf(model: Manner, note = '', more: object = {}): string {
  const prompt = `a harbour at dawn, fishing boats coming home, soft light, thin fog${note}`;
  return JSON.stringify({ model, prompt, size: '1024x1024', ...more });
}

export function postOf({ url }: Pick<Server, 'url'>): Post {
  return { url: url + PATH, headers: HEADERS, body: bodyOf('hold') };
}

/** Runs work with a mock provider. */
export function withProvider<Value>(
  { folder }: Bench,
  work: (provider: Server) => Promise<Value>,
): Promise<Value> {
  const args = [scriptFile('tasks/contenders/provider')];
  return Server.during(() => Server.start(join(folder, 'provider'), args, '/'), work);
}

/**
 * Content of `oriel.yaml`: all features of a task, with limits that the benchmark does not reach.
 *
 * @param concurrency concurrent tasks of the provider
 */
export function configOf(provider: Server, concurrency: number): object {
  const model = (name: Manner) => ({
    type: 'image',
    routes: [{ provider: 'upstream', model: name }],
    price: { perImage: 0.04 },
  });
  return {
    server: { grace: '1s' },
    network: { allowPrivateAddresses: true },
    limits: { paid: { rpm: 1_000_000, tasks: 10_000_000 }, taskDeadline: '2h' },
    routing: { timeouts: { firstByte: '1h', idle: '1h', total: '2h' } },
    providers: {
      upstream: { kind: 'openai', baseUrl: `${provider.url}/v1`, apiKey: 'sk-bench', concurrency },
    },
    models: Object.fromEntries(MANNERS.map((name) => [name, model(name)])),
  };
}

/** A daemon with an empty store of its own. */
export async function startOriel(
  { folder }: Bench,
  name: string,
  config: object,
): Promise<{ daemon: Server; data: string }> {
  const place = join(folder, name);
  const { data } = await seed({ folder: place }, 'data', 0);
  return { daemon: await Server.oriel(join(place, 'daemon'), data, config), data };
}

/** Creates tasks that the provider never completes. @returns the identifier of the last one */
export async function queueTasks({ url }: Server, count: number): Promise<string> {
  const pool = new Pool(url, { connections: AT_ONCE });
  let last = '';
  try {
    await inFlight(AT_ONCE, count, async () => {
      const answer = await pool.request({
        method: 'POST',
        path: PATH,
        headers: HEADERS,
        body: bodyOf('hold'),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 202) throw new Error(`answered ${answer.statusCode}: ${text}`);
      last = (JSON.parse(text) as { task_id: string }).task_id;
    });
  } finally {
    await pool.destroy();
  }
  return last;
}

/** Runs work with a daemon that has an empty store of its own, and kills it. */
export async function withOriel<Value>(
  bench: Bench,
  name: string,
  config: object,
  work: (daemon: Server) => Promise<Value>,
): Promise<Value> {
  const start = async () => (await startOriel(bench, name, config)).daemon;
  return Server.during(start, work, 'SIGKILL');
}
