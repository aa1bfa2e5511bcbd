import { mkdirSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { MOCK_CREDENTIALS, MOCK_REGION, startS3Mock } from '../assets/s3/s3-mock.ts';
import { startNginx } from '../engines/nginx.ts';
import { startPostgres } from '../engines/postgres.ts';
import { openServer } from '../fixtures/open-server.ts';
import { onProcessEnd } from '../oriel.ts';

/** Daemons that stand for each daemon of the tests. */
export const NODES = Number(process.env['ORIEL_NODES'] ?? 1);

interface Node {
  readonly url: string;
  readonly log: readonly object[];
  logged(message: string): Promise<object>;
  request(path: string, init?: RequestInit): Promise<Response>;
  send(path: string, body?: object, options?: object): Promise<Response>;
  metrics(): Promise<string>;
  reload(changes: object): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<unknown>;
}

interface Launched<Daemon> {
  readonly ready: Promise<Daemon>;
  readonly end: () => Promise<void>;
}

let engines: ReturnType<typeof startEngines> | undefined;
let count = 0;

/** A database and a bucket for all daemons of this process. */
async function startEngines() {
  const [postgres, storage] = await Promise.all([startPostgres(), startS3Mock(listen)]);
  onProcessEnd(() => postgres.remove());
  return { postgres, storage };
}

const listen = (listener: RequestListener) => openServer(createServer(listener));

/**
 * Starts several daemons with one store and one bucket behind nginx, which look like one daemon at its address.
 *
 * @param launch starts a daemon in a data folder, with changes of its configuration
 */
export function launchNodes<Daemon extends Node>(
  data: string,
  launch: (data: string, config: object) => Launched<Daemon>,
): Launched<Daemon> {
  const ends: (() => Promise<void>)[] = [];
  const start = async (): Promise<Daemon> => {
    engines ??= startEngines();
    const { postgres, storage } = await engines;
    count += 1;
    const schema = `oriel_${process.pid}_${count}`;
    const config = {
      store: { driver: 'postgres', url: postgres.url, schema },
      assets: {
        driver: 's3',
        endpoint: storage.endpoint,
        region: MOCK_REGION,
        bucket: 'bucket',
        prefix: schema,
        forcePathStyle: true,
        ...MOCK_CREDENTIALS,
      },
    };
    const nodes: Daemon[] = [];
    for (let node = 0; node < NODES; node += 1) {
      const folder = node === 0 ? data : join(data, `node-${node}`);
      mkdirSync(folder, { recursive: true });
      const { ready, end } = launch(folder, config);
      ends.push(end);
      nodes.push(await ready);
    }
    const nginx = await startNginx(nodes.map(({ url }) => url));
    ends.push(() => nginx.close());
    onProcessEnd(() => void nginx.close());
    return asOne(nodes, nginx.url);
  };
  return {
    ready: start(),
    end: async () => {
      await Promise.all(ends.map((end) => end()));
    },
  };
}

function asOne<Daemon extends Node>(nodes: readonly Daemon[], url: string): Daemon {
  const [first] = nodes as [Daemon];
  return Object.defineProperty(
    {
      ...first,
      url,
      logged: (message: string) => Promise.race(nodes.map((node) => node.logged(message))),
      request: (path: string, init?: RequestInit) =>
        first.request(String(new URL(path, url)), init),
      send: (path: string, body?: object, options?: object) =>
        first.send(String(new URL(path, url)), body, options),
      metrics: async () => (await Promise.all(nodes.map((node) => node.metrics()))).join('\n'),
      reload: async (changes: object) => {
        await Promise.all(nodes.map((node) => node.reload(changes)));
      },
      stop: async (signal?: NodeJS.Signals) => {
        const [run] = await Promise.all(nodes.map((node) => node.stop(signal)));
        return run;
      },
    },
    'log',
    { get: () => nodes.flatMap(({ log }) => log) },
  );
}
