import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { firstRun } from './administration/first-run.ts';
import type { Config } from './config/schema.ts';
import { Failure } from './failure.ts';
import { startAdmin } from './http/admin.ts';
import type { Gateway } from './http/gateway.ts';
import { openLog } from './http/log.ts';
import { Metrics } from './http/metrics.ts';
import { buildServer } from './http/server.ts';
import { Spool } from './http/spool.ts';
import { Callbacks } from './media/callbacks/callbacks.ts';
import { Upkeep } from './media/files/upkeep.ts';
import { MediaGateway } from './media/gateway.ts';
import { preparePromptRules } from './media/prompts.ts';
import { taskRecord } from './media/record.ts';
import { startPool } from './operations/pool.ts';
import { AssetFiles } from './store/assets.ts';
import { openStore, type StoreOptions } from './store/lowdb/open.ts';
import { patience } from './store/lowdb/patience.ts';
import type { Store } from './store/store.ts';
import { TextGateway } from './text/gateway.ts';
import { Upstream } from './upstream.ts';

/** A daemon that answers. */
export interface Daemon {
  /** Where it listens: `http://127.0.0.1:8787`. */
  readonly url: string;
  /** The first key of a new data directory. It is told once and kept nowhere. */
  readonly firstKey: string | undefined;
  readonly log: Logger;
  /** Puts a configuration in the place of the one in force; requests under way do not notice. */
  reconfigure(config: Config): void;
  /** Takes nothing new, waits for what is under way as long as the grace allows, and ends. */
  close(): Promise<void>;
}

export interface DaemonOptions {
  readonly version: string;
  /** A key for the owner that somebody chose, instead of one that is drawn and printed. */
  readonly bootstrapKey?: string;
}

/** Starts the daemon: the one place that knows all its parts. */
export async function startDaemon(
  initial: Config,
  { version, bootstrapKey }: DaemonOptions,
): Promise<Daemon> {
  let config = initial;
  let url = '';
  /** How clients reach this server. */
  const publicUrl = () => (config.server.publicUrl ?? url).replace(/\/+$/, '');
  const log = await openLog(config.log);
  const metrics = new Metrics();
  const draining = new AbortController();
  const store = await openWhenFree({
    directory: join(config.dataDir, 'store'),
    onCommit: (commit) => metrics.observeCommit(commit),
    onRecovery: (recovery) => log.warn(recovery, 'the end of the journal was torn and is cut off'),
    onFault: (error) => log.error({ err: error }, 'the store could not be tidied up'),
  });
  const closers: (() => Promise<void>)[] = [() => store.close()];
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  const background = (work: Promise<void>, complaint: string) => {
    work.catch((error: unknown) => log.error({ err: error }, complaint));
  };
  try {
    const { credits } = config.owner;
    // Known before the first request may come with it.
    if (bootstrapKey !== undefined) await firstRun(store, { credits, bootstrapKey });
    // Open as long as the store is: while the daemon drains, too.
    const admin = await startAdmin({ store, log, directory: config.dataDir });
    closers.push(() => admin.close());
    const pool = await startPool({ threads: config.pool.threads ?? availableParallelism() });
    // Not waited for: by then nobody reads what threads give, and an encoder may take minutes.
    closers.push(async () => void pool.close());
    metrics.watch(pool, store);
    const spool = await Spool.open(join(config.dataDir, 'spool'), config.batch.spool);
    const upstream = new Upstream();
    closers.push(() => upstream.close());
    const text = new TextGateway({
      config: () => config,
      store,
      upstream,
      observer: {
        tried: (provider, outcome) => metrics.observeTry(provider, outcome),
        used: (model, usage) => metrics.observeTokens(model, usage),
      },
    });
    const files = await AssetFiles.open(join(config.dataDir, 'assets'));
    const callbacks = new Callbacks({
      store,
      upstream,
      config: () => config,
      record: (task) => taskRecord(task, publicUrl()),
      onAttempt: ({ status }) => metrics.observeCallback(status),
      onFault: (error) => log.error({ err: error }, 'a callback could not be recorded'),
    });
    closers.push(() => callbacks.close());
    const media = new MediaGateway({
      config: () => config,
      store,
      files,
      upstream,
      pool,
      observer: {
        tried: (provider, outcome) => metrics.observeTry(provider, outcome),
        ended: (task) => {
          metrics.observeTask(task);
          callbacks.added(task);
        },
        fault: (error, { id }) => log.error({ err: error, task: id }, 'a defect, please report it'),
      },
    });
    closers.push(() => media.runner.close());
    metrics.gauge('oriel_tasks_open', 'Tasks that have not ended', () => media.runner.size);
    const upkeep = new Upkeep({
      config: () => config,
      store,
      files,
      onFault: (error) => log.error({ err: error }, 'what is over could not be tidied up'),
    });
    closers.push(() => upkeep.close());
    const gateway: Gateway = {
      get config() {
        return config;
      },
      version,
      store,
      text,
      media,
      assets: files,
      pool,
      spool,
      log,
      metrics,
      get publicUrl() {
        return publicUrl();
      },
      draining: draining.signal,
    };
    const server = await buildServer(gateway);
    closers.push(() => server.close());
    const { host, port } = config.server;
    url = await server.listen({ host, port }).catch((error: unknown) => {
      throw listenFailure(error, host, port);
    });
    // Behind the first requests: nobody waits for what an earlier process left open.
    background(media.runner.start(), 'open tasks could not be taken up');
    background(callbacks.start(), 'open callbacks could not be taken up');
    upkeep.start();
    // Last of all: a key that is drawn is told to somebody only where nothing else has failed.
    const owner = await firstRun(store, { credits });
    background(preparePromptRules(), 'the rules for prompts could not be loaded');

    return {
      url,
      firstKey: owner?.key,
      log,
      reconfigure(next) {
        config = next;
        media.runner.reconfigured();
      },
      async close() {
        draining.abort();
        media.runner.drain();
        // Connections that outlast the grace are cut; what they asked for is aborted with them.
        const cut = setTimeout(() => {
          // Streams that are cut say so, before their connections go.
          text.close(shuttingDown());
          media.runner.cut();
          setImmediate(() => {
            server.server.closeAllConnections();
            void pool.close();
          });
        }, config.server.grace);
        await closeAll();
        clearTimeout(cut);
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function shuttingDown(): Failure {
  return new Failure('service_error', 'the server is being shut down', {
    code: 'shutting_down',
    status: 503,
    retryAfter: 5,
  });
}

/** Milliseconds for a command of administration to let go of the store; another daemon does not. */
const PATIENCE = 3000;

async function openWhenFree(options: StoreOptions): Promise<Store> {
  const wait = patience(PATIENCE);
  for (;;) {
    try {
      return await openStore(options);
    } catch (error) {
      await wait(error);
    }
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no such host',
};

function listenFailure(error: unknown, host: string, port: number): Failure {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return new Failure(
    'service_error',
    `cannot listen on ${host}:${port}: ${REASONS[code] ?? message}`,
    { code: 'listen_failed', cause: error },
  );
}
