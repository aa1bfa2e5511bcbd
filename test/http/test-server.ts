/** The server in the test's own process, where the test can see what it holds. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { promisify } from 'node:util';
import { pino } from 'pino';
import * as v from 'valibot';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import '../../src/text/built-in-dialects.ts';
import { DiskStorage } from '../../src/assets/disk/disk-storage.ts';
import { type Config, configSchema } from '../../src/config/settings/schema.ts';
import { DividedLimits } from '../../src/http/limits/request-limits.ts';
import { Metrics } from '../../src/http/observability/metrics.ts';
import { addPoolMetrics, addStoreMetrics } from '../../src/http/observability/state-metrics.ts';
import type { AppContext, Media } from '../../src/http/request/app-context.ts';
import { buildServers } from '../../src/http/server.ts';
import { Spool } from '../../src/http/uploads/spool.ts';
import { TaskAttempts } from '../../src/media/queue/task-attempts.ts';
import { TaskEvents } from '../../src/media/task-events.ts';
import type { SharedPool } from '../../src/operations/pool/pool.ts';
import { startSharedPool } from '../../src/operations/pool/shared-pool.ts';
import type { Plan } from '../../src/store/account.ts';
import { openStore } from '../../src/store/drivers/open.ts';
import { hashOf, hintOf } from '../../src/store/key.ts';
import { SINGLE_NODE } from '../../src/store/nodes.ts';
import type { Store } from '../../src/store/store.ts';
import { TextThreads } from '../../src/threads/text-threads.ts';
import { UpstreamClient } from '../../src/upstream/client.ts';
import type { LogLine } from '../daemon.ts';

export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly pool: SharedPool;
  readonly textThreads: TextThreads;
  readonly spool: Spool;
  readonly store: Store;
  readonly assets: DiskStorage;
  readonly taskAttempts: TaskAttempts;
  readonly taskEvents: TaskEvents;
  readonly spoolFolder: string;
  /** Names of the files on its spool. */
  files(): string[];
  /** Log lines. */
  readonly log: readonly LogLine[];
  metrics(): Promise<string>;
  /** Waits until no client is connected. */
  disconnected(): Promise<void>;
  /** Waits until no job is running or waiting and the spool is empty. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** Keys of two paid accounts and a free one. */
export const KEYS = {
  a: 'oriel_test_key_of_account_a_0000000',
  b: 'oriel_test_key_of_account_b_0000000',
  free: 'oriel_test_key_of_account_free_0000',
} as const;

export interface ServerSettings {
  /** Settings that differ from the defaults. */
  readonly config?: Readonly<Record<string, object>>;
  readonly pool?: SharedPool;
  readonly media?: (store: Store, config: Config) => Media;
  readonly draining?: AbortSignal;
}

/** One server for all tests of a file. */
export function sharedServer(settings: ServerSettings = {}): () => TestServer {
  let server: TestServer | undefined;
  beforeAll(async () => {
    server = await startServer(settings);
  });
  afterAll(() => server?.close());
  return () => server!;
}

/** A server that the running test's end closes. */
export async function ownServer(settings: ServerSettings = {}): Promise<TestServer> {
  const server = await startServer(settings);
  onTestFinished(() => server.close());
  return server;
}

export async function startServer({
  config = {},
  pool,
  media,
  draining = new AbortController().signal,
}: ServerSettings = {}): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
  // Overload is not under test, even on a busy machine.
  const overload = { eventLoopDelay: '1h' };
  const settings = v.parse(configSchema, { dataDir: folder, overload, ...config });
  const store = await openStore({ directory: join(folder, 'store') });
  for (const [name, key] of Object.entries(KEYS)) {
    const plan: Plan = name === 'free' ? 'free' : 'paid';
    const { id: accountId } = await store.createAccount({ name, plan, credits: 0 });
    const unlimited = { expiresAt: null, models: null, budget: null, rpm: 100_000 };
    await store.createKey({ accountId, name, hash: hashOf(key), hint: hintOf(key), ...unlimited });
  }
  const spoolFolder = join(folder, 'spool');
  const spool = await Spool.open(spoolFolder, settings.batch.spool);
  const threads = pool ?? startSharedPool({ threads: 2, ...settings.pool });
  const textThreads = new TextThreads(1);
  const upstream = new UpstreamClient();
  const metrics = new Metrics();
  addPoolMetrics(metrics, threads, textThreads);
  addStoreMetrics(metrics, store);
  const log: LogLine[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      log.push(JSON.parse(String(chunk)) as LogLine);
      done();
    },
  });
  const assets = await DiskStorage.open(join(folder, 'assets'));
  let url = '';
  const taskAttempts = new TaskAttempts();
  const taskEvents = new TaskEvents();
  const context = {
    config: settings,
    version: '0.0.0',
    store,
    limits: new DividedLimits(SINGLE_NODE),
    media: media?.(store, settings),
    assets,
    get publicUrl() {
      return settings.server.publicUrl ?? url;
    },
    pool: threads,
    textThreads,
    spool,
    upstream,
    metrics,
    alerts: { answered() {}, exhausted() {} },
    taskAttempts,
    taskEvents,
    tracer: null,
    log: pino({ level: 'info', formatters: { level: (level) => ({ level }) } }, sink),
    draining,
  } as unknown as AppContext;
  const { server } = buildServers(context);
  await server.listen({ host: '127.0.0.1', port: 0 });
  const { port } = server.server.address() as AddressInfo;
  url = `http://127.0.0.1:${port}`;
  const files = () => readdirSync(spoolFolder);
  return {
    url,
    port,
    pool: threads,
    textThreads,
    spool,
    store,
    assets,
    taskAttempts,
    taskEvents,
    spoolFolder,
    files,
    log,
    metrics: () => metrics.text(),
    async disconnected() {
      const count = promisify(server.server.getConnections.bind(server.server));
      while ((await count()) > 0) await new Promise(setImmediate);
      // The count decreases just before the close events.
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    },
    async idle() {
      const busy = () => {
        const { running, waiting } = threads.statistics();
        return running + waiting + files().length + spool.bytes > 0;
      };
      while (busy()) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async close() {
      server.server.closeAllConnections();
      await server.close();
      await Promise.all([threads.close(), textThreads.close(), upstream.close()]);
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
