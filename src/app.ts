import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type FirstKey, readFirstKey, writeFirstKey } from './administration/first-key.ts';
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
import type { Tried } from './routing/routing.ts';
import { needsOperator } from './routing/upstream-failure.ts';
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
  /** The owner's first key, until its file is removed. */
  readonly firstKey: FirstKey | undefined;
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
  /** Believes the clock, although it may be far ahead of the newest record. */
  readonly acceptClock?: boolean;
}

const LOCK_FALLBACK =
  'this system or file system has no locks: start no second process on this data folder from another host or container';
const CLOCK_AHEAD =
  'the clock is more than a day ahead of the newest record: nothing is deleted or folded; if the clock is right, restart with --accept-clock';

/** Starts the daemon: the one place that knows all its parts. */
export async function startDaemon(
  initial: Config,
  { version, bootstrapKey, acceptClock = false }: DaemonOptions,
): Promise<Daemon> {
  let config = initial;
  let url = '';
  /** How clients reach this server. */
  const publicUrl = () => (config.server.publicUrl ?? url).replace(/\/+$/, '');
  const log = await openLog(config.log);
  const metrics = new Metrics();
  const draining = new AbortController();
  let isClockAhead = false;
  const store = await openWhenFree({
    directory: join(config.dataDir, 'store'),
    acceptClock,
    onCommit: (commit) => metrics.observeCommit(commit),
    onRecovery: (recovery) => log.warn(recovery, 'moved the torn end of the journal to a file'),
    onLockFallback: () => log.warn(LOCK_FALLBACK),
    onClockAhead: ({ now, newest }) => {
      isClockAhead = true;
      const times = { clock: new Date(now).toISOString(), newest: new Date(newest).toISOString() };
      log.warn(times, CLOCK_AHEAD);
    },
    onFault: (error) => log.error({ err: error }, 'the store could not be tidied up'),
    onFailure: (failure) => {
      if (!failure) log.warn('the store can be written again');
      else log.error({ err: failure }, 'the store cannot be written; retrying every second');
    },
  });
  const closers: (() => Promise<void>)[] = [() => store.close()];
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  const background = (work: Promise<void>, complaint: string) => {
    work.catch((error: unknown) => log.error({ err: error }, complaint));
  };
  try {
    const span = await store.span();
    const { credits } = config.owner;
    // Known before the first request may come with it.
    if (bootstrapKey !== undefined) await firstRun(store, { credits, bootstrapKey });
    // Open as long as the store is: while the daemon drains, too.
    const models = () => Object.keys(config.models);
    const admin = await startAdmin({ store, log, directory: config.dataDir, models });
    closers.push(() => admin.close());
    const pool = await startPool({ threads: config.pool.threads ?? availableParallelism() });
    // Not awaited: its results have no reader left, and an encoder may take minutes.
    closers.push(async () => void pool.close());
    metrics.watch(pool, store);
    const spool = await Spool.open(join(config.dataDir, 'spool'), config.batch.spool, (error) =>
      log.error({ err: error }, 'an upload could not be removed from the spool'),
    );
    const upstream = new Upstream();
    const tried: Tried = (provider, failure) => {
      metrics.observeTry(provider, failure?.type ?? 'ok');
      if (failure === null || !needsOperator(failure)) return;
      log.warn(
        { provider, code: failure.code },
        'a provider refused the key or the account of the gateway',
      );
    };
    closers.push(() => upstream.close());
    const text = new TextGateway({
      config: () => config,
      store,
      upstream,
      observer: {
        tried,
        used: (model, usage) => metrics.observeTokens(model, usage),
      },
    });
    const files = await AssetFiles.open(join(config.dataDir, 'assets'), {
      onDamage: (id) => log.error({ asset: id }, 'a file differs from what was written'),
    });
    const callbacks = new Callbacks({
      store,
      upstream,
      config: () => config,
      record: (task) => taskRecord(task, publicUrl()),
      onAttempt: ({ status }) => metrics.observeCallback(status),
      onFault: (error) => log.error({ err: error }, 'a callback could not be recorded'),
    });
    closers.push(() => callbacks.close());
    const upkeep = new Upkeep({
      config: () => config,
      store,
      files,
      span,
      onSwept: (swept) => log.warn(swept, 'there are files that no record names'),
      onFault: (error) => log.error({ err: error }, 'what is over could not be tidied up'),
    });
    closers.push(() => upkeep.close());
    const media = new MediaGateway({
      config: () => config,
      store,
      files,
      upstream,
      pool,
      observer: {
        tried,
        ended: (task) => {
          metrics.observeTask(task);
          callbacks.added(task);
          upkeep.ended(task);
        },
        fault: (error, { id }) => log.error({ err: error, task: id }, 'a defect, please report it'),
        stalled: (error, { id }) =>
          log.error({ err: error, task: id }, 'a task waits for the disk of this server'),
        doubtful: ({ id, model }, afterCrash) =>
          log.warn({ task: id, model, afterCrash }, 'the provider was being asked at the stop'),
      },
    });
    closers.push(() => media.runner.close());
    metrics.gauge('oriel_tasks_open', 'Tasks that have not ended', () => media.runner.size);
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
    if (!isClockAhead) upkeep.start();
    // Last of all: a key that is drawn is told to somebody only where nothing else has failed.
    const keep = (key: string) => writeFirstKey(config.dataDir, key);
    await firstRun(store, { credits, keep });
    const firstKey = await readFirstKey(config.dataDir, store);
    background(preparePromptRules(), 'the rules for prompts could not be loaded');

    return {
      url,
      firstKey,
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
          const closed = text.close(shuttingDown());
          media.runner.cut();
          void closed.then(() =>
            setImmediate(() => {
              server.server.closeAllConnections();
              void pool.close();
            }),
          );
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
