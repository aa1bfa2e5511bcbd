import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { nginx, startNginx } from '../gateway/nginx.ts';
import { installPackages } from '../peers.ts';
import { fixed, Series, spread } from '../series.ts';
import { goalOf, needing, scriptFile, type Trial, tableOf } from '../trial.ts';
import { photographs } from './batch.ts';
import { Server } from './server.ts';
import { type Bench, seed, withDaemon } from './trial.ts';

const KEY = 'a-key-of-the-benchmark';
/** Visitors who see each image. */
const VISITORS = 6;
const IN_FLIGHT = 8;
const HITS = 20_000;

const GOALS = {
  once: 'images/s ≥ 1.50 × ipx, each asked for once',
  visited: `images/s ≥ 1.50 × ipx, each asked for by ${VISITORS} visitors`,
  hits: 'hits/s ≥ 0.10 × nginx with a file',
};
const TITLE = 'urls: GET /img';

type Figure = 'once' | 'visited' | 'hits' | 'cpu';

/** Images by URL, compared with ipx, and hits of the cache with a file of nginx. */
export const urls = (bench: Bench): Promise<Trial> =>
  needing([nginx], TITLE, GOALS.hits, () => measureUrls(bench))(bench);

async function measureUrls(bench: Bench): Promise<Trial> {
  const { settings, folder, log } = bench;
  const packages = join(settings.scratch, 'url-packages');
  installPackages(packages, { ipx: '3.1.1' }, log);
  const module = join(packages, 'node_modules/ipx/dist/index.mjs');
  const { files } = await photographs(bench);
  const names = files.map((file) => basename(file));
  const dir = dirname(files[0]!);
  const own = new Series<Figure>('oriel');
  const peer = new Series<Figure>('ipx', '3.1.1');
  const file = new Series<Figure>('nginx');
  const visits = names.flatMap((name) => Array<string>(VISITORS).fill(name));
  const startIpx = () =>
    Server.start(
      join(folder, 'ipx'),
      [scriptFile('daemon/contenders/ipx'), module, dir],
      `/_/${names[0]}`,
    );
  for (let round = 0; round < settings.rounds; round += 1) {
    const images = { keys: [KEY], folders: { photos: dir } };
    // A new data folder has an empty cache.
    const oriel = async (list: readonly string[], after: (server: Server) => Promise<void>) => {
      const { data } = await seed(bench, `${round}-${list.length}`, 0);
      const work = async (server: Server) => {
        // Starts all processes of the pool.
        const widths = Array.from({ length: IN_FLIGHT }, (_, at) => 30 + at);
        await ask(
          server,
          widths.map((width) => signed(`w=${width},f=webp/photos/${names[0]}`)),
        );
        const rate = await ask(
          server,
          list.map((name) => signed(`w=400,f=webp/photos/${name}`)),
        );
        await after(server);
        return rate;
      };
      return withDaemon(bench, data, work, { images });
    };
    let hits: Partial<Record<Figure, number>> = {};
    const visited = await oriel(visits, async (server) => {
      const path = signed(`w=400,f=webp/photos/${names[0]}`);
      const image = Buffer.from(await (await fetch(server.url + path)).arrayBuffer());
      writeFileSync(join(folder, 'image.webp'), image);
      hits = await hitsOf(server, path);
    });
    own.add({ ...hits, visited, once: await oriel(names, async () => {}) });
    const path = (name: string) => `/w_400,f_webp/${name}`;
    await Server.during(startIpx, async (server) => {
      await ask(server, [`/w_30,f_webp/${names[0]}`]);
      const once = await ask(server, names.map(path));
      peer.add({ once, visited: await ask(server, visits.map(path)) });
    });
    const start = () =>
      startNginx(join(folder, 'nginx'), '', `location / { root ${folder}; }`, '/image.webp');
    await Server.during(start, async (server) => file.add(await hitsOf(server, '/image.webp')));
    log(
      `  once ${fixed(own.over(peer, 'once').at(-1))}, visited ${fixed(own.over(peer, 'visited').at(-1))} × ipx; hits ${fixed(own.over(file, 'hits').at(-1))} × nginx`,
    );
  }
  return {
    title: TITLE,
    text:
      `${names.length} photographs of 12 megapixels to 400 wide WebP, ${IN_FLIGHT} in flight: each once, and each by ` +
      `${VISITORS} visitors. Hits are ${HITS} requests for one of the results over ${IN_FLIGHT} connections.`,
    ...tableOf(
      [own, peer, file],
      [
        ['contender', ({ name }) => name],
        ['once, images/s', (series) => spread(series.values('once'), 0)],
        ['visited, images/s', (series) => spread(series.values('visited'), 0)],
        ['hits/s', (series) => spread(series.values('hits'), 0)],
        ['CPU ms per 1000 hits', (series) => fixed(series.median('cpu'), 0)],
      ],
    ),
    goals: [
      goalOf(GOALS.once, own.over(peer, 'once'), 1.5),
      goalOf(GOALS.visited, own.over(peer, 'visited'), 1.5),
      goalOf(GOALS.hits, own.over(file, 'hits'), 0.1),
    ],
    raw: { own: own.rounds, peer: peer.rounds, file: file.rounds },
  };
}

function signed(path: string): string {
  return `/img/${createHmac('sha256', KEY).update(`/${path}`).digest('base64url')}/${path}`;
}

async function hitsOf(
  server: Server,
  path: string,
): Promise<Pick<Record<Figure, number>, 'hits' | 'cpu'>> {
  const before = server.cpu();
  const hits = await ask(server, Array<string>(HITS).fill(path));
  return { hits, cpu: ((server.cpu() - before) * 1e6) / HITS };
}

/** Asks for paths of a server. @returns answers a second */
async function ask({ url }: Server, paths: readonly string[]): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  const started = performance.now();
  const queue = paths.values();
  const worker = async () => {
    for (const path of queue) await answered(url + path, agent);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  agent.destroy();
  return (paths.length * 1000) / (performance.now() - started);
}

function answered(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`));
      response.on('end', resolve).on('error', reject).resume();
    });
    request.on('error', reject);
  });
}
