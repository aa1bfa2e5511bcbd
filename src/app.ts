import { join } from 'node:path';
import type { Logger } from 'pino';
import { ownActor } from './administration/actor.ts';
import { openAudit, recordRecovery } from './administration/audit.ts';
import { type FirstKey, readFirstKey, writeFirstKey } from './administration/first-key.ts';
import { firstRun } from './administration/first-run.ts';
import type { Config } from './config/schema.ts';
import { Failure } from './failure.ts';
import { startAdmin } from './http/admin.ts';
import type { Gateway } from './http/gateway.ts';
import { openLog } from './http/log.ts';
import { Metrics } from './http/metrics.ts';
import { buildServers } from './http/server.ts';
import { Spool } from './http/spool.ts';
import { Callbacks } from './media/callbacks/callbacks.ts';
import { Upkeep } from './media/files/upkeep.ts';
import { MediaGateway } from './media/gateway.ts';
import { admitPrompt, preparePromptRules } from './media/prompts.ts';
import { taskRecord } from './media/record.ts';
import { MOST_WAITING } from './operations/pool.ts';
import { startSharedPool } from './operations/shared-pool.ts';
import { withoutSecret } from './routing/redaction.ts';
import type { Tried } from './routing/routing.ts';
import { needsOperator } from './routing/upstream-failure.ts';
import { AssetFiles } from './store/asset-files.ts';
import { checkDataFolder } from './store/data-folder.ts';
import { openStore } from './store/open.ts';
import type { Recovery } from './store/options.ts';
import { TextGateway } from './text/gateway.ts';
import { Upstream } from './upstream.ts';

/** A daemon that answers. */
export interface Daemon {
  /** Where it listens: `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Where metrics and documentation are, if they have a listener of their own. */
  readonly operationsUrl: string | undefined;
  /** The owner's first key, until its file is removed. */
  readonly firstKey: FirstKey | undefined;
  readonly log: Logger;
  /**
   * Puts a configuration in the place of the one in force; requests under way do not notice.
   *
   * @param changes the names of settings, for the audit log
   * @throws Failure where the audit log cannot be written
   */
  reconfigure(config: Config, changes: Readonly<Record<string, readonly string[]>>): Promise<void>;
  /** Records that a configuration was at fault. */
  refuseConfiguration(): Promise<void>;
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
  const recoveries: Recovery[] = [];
  for (const warning of await checkDataFolder(config.dataDir)) {
    log.warn({ folder: warning }, 'others may write in the data folder');
  }
  const store = await openStore({
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    directory: join(config.dataDir, 'store'),
    acceptClock,
    onCommit: (commit) => metrics.observeCommit(commit),
    onRecovery: (recovery) => {
      recoveries.push(recovery);
      log.warn(recovery, 'moved the torn end of the journal to a file');
    },
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
    const who = ownActor();
    const audit = await openAudit(config.dataDir, who, {
      // The lines of a log that is kept elsewhere tell whether the file was rewritten.
      onEntry: ({ act, result, object }, { number, hash }) =>
        log.info({ act, object, result, number, hash }, 'audit'),
      onFault: (error) => log.error({ err: error }, 'the end of an act is not in the audit log'),
    });
    closers.push(() => audit.close());
    for (const recovery of recoveries) await recordRecovery(audit, who, recovery);
    const details = { acceptClock: acceptClock || undefined };
    await audit.append({ act: 'serve.start', who, result: 'done', object: version, details });
    const span = await store.timeRange();
    const { credits } = config.owner;
    // Known before the first request may come with it.
    if (bootstrapKey !== undefined) await firstRun(store, { audit, who, credits, bootstrapKey });
    // Open as long as the store is: while the daemon drains, too.
    const models = () => Object.keys(config.models);
    const admin = await startAdmin({ store, audit, log, directory: config.dataDir, models });
    closers.push(() => admin.close());
    const pool = await startSharedPool(config.pool);
    closers.push(() => pool.close());
    metrics.watch(pool, store);
    const spool = await Spool.open(join(config.dataDir, 'spool'), config.batch.spool, (error) =>
      log.error({ err: error }, 'an upload could not be removed from the spool'),
    );
    const upstream = new Upstream();
    const tried: Tried = (provider, failure, subject) => {
      metrics.observeTry(provider, failure?.type ?? 'ok');
      const isOurs = failure?.type === 'invalid_request' && failure.detail === null;
      if (failure === null || isOurs) return;
      // Errors for clients name neither the provider nor its message: the log has both.
      const { type, status } = failure;
      const code = withoutKeys(failure.code, config.providers);
      const detail = withoutKeys(failure.detail, config.providers);
      const line = { ...subject, provider, type, code, status, detail };
      if (needsOperator(failure)) {
        log.warn(line, 'a provider refused the key or the account of the gateway');
      } else log.info(line, 'an attempt at a provider failed');
    };
    closers.push(() => upstream.close());
    const text = new TextGateway({
      config: () => config,
      store,
      upstream,
      observer: {
        tried,
        used: (model, usage) => metrics.observeTokens(model, usage),
        exceeded: (excess) =>
          log.warn(
            excess,
            'a provider reported more usage than the request allowed; the excess is not charged (billing.trustUpstream)',
          ),
      },
      admitPrompt: (prompt, param, client) =>
        admitPrompt(pool, prompt, param, { client, mostWaiting: MOST_WAITING }),
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
      audit,
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
    const { server, operations } = await buildServers(gateway);
    // Closed last: the operations listener answers while the public one drains.
    if (operations) closers.push(() => operations.close());
    closers.push(() => server.close());
    const operationsUrl = operations && (await listen(operations, config.server.operations!));
    url = await listen(server, config.server);
    // Behind the first requests: nobody waits for what an earlier process left open.
    background(media.runner.start(), 'open tasks could not be taken up');
    background(callbacks.start(), 'open callbacks could not be taken up');
    if (!isClockAhead) upkeep.start();
    // Last of all: a key that is drawn is told to somebody only where nothing else has failed.
    const keep = (key: string) => writeFirstKey(config.dataDir, key);
    await firstRun(store, { audit, who, credits, keep });
    const firstKey = await readFirstKey(config.dataDir, store);
    background(preparePromptRules(), 'the rules for prompts could not be loaded');

    return {
      url,
      operationsUrl,
      firstKey,
      log,
      reconfigure(next, details) {
        const subject = () => ({ object: 'configuration', details });
        return audit.record({ act: 'config.reload', who, subject }, async () => {
          config = next;
          media.runner.reconfigured();
        });
      },
      async refuseConfiguration() {
        const refused = { act: 'config.reload', who, result: 'refused' as const };
        await audit.append({ ...refused, code: 'invalid_config', object: 'configuration' });
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
              operations?.server.closeAllConnections();
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

/** A provider may quote the key of another, by way of which it was asked. */
function withoutKeys(text: string | null, providers: Config['providers']): string | null {
  let clean = text;
  for (const provider of Object.values(providers)) {
    if (clean !== null && 'apiKey' in provider) clean = withoutSecret(clean, provider.apiKey);
  }
  return clean;
}

function shuttingDown(): Failure {
  return new Failure('service_error', 'the server is being shut down', {
    code: 'shutting_down',
    status: 503,
    retryAfter: 5,
  });
}

/** Milliseconds for an administration command to release the store. Another daemon keeps its lock longer. */
const LOCK_TIMEOUT_MS = 3000;

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no such host',
};

interface Listener {
  listen(where: { host: string; port: number }): Promise<string>;
}

/** @returns the URL */
async function listen(server: Listener, { host, port }: { host: string; port: number }) {
  return server.listen({ host, port }).catch((error: unknown) => {
    throw listenFailure(error, host, port);
  });
}

function listenFailure(error: unknown, host: string, port: number): Failure {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return new Failure(
    'service_error',
    `cannot listen on ${host}:${port}: ${REASONS[code] ?? message}`,
    { code: 'listen_failed', cause: error },
  );
}
