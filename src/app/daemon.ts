import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { ownActor } from '../administration/actor.ts';
import type { FirstKey } from '../administration/first-key.ts';
import { ChargedKeys } from '../alerts/budget-check.ts';
import type { LoadedConfig } from '../config/loading/load.ts';
import type { Reload } from '../config/loading/reload.ts';
import type { Config } from '../config/settings/schema.ts';
import type { CassetteReport } from '../exchanges/cassettes/upstream.ts';
import { openLog } from '../http/observability/log.ts';
import { Metrics } from '../http/observability/metrics.ts';
import { shuttingDown } from '../http/responses/errors.ts';
import { REPLACED } from '../http/routes/server/health.ts';
import { preparePromptRules } from '../safety/prompt-screening.ts';
import type { Actor } from '../store/audit/entry.ts';
import { handsOver } from '../store/nodes.ts';
import { closeListener, listen } from './listen.ts';
import { type Services, startServices } from './services.ts';
import { Closers, type DaemonOptions, DaemonState, type Start } from './start.ts';

/** A daemon that serves requests. */
export interface Daemon {
  /** Address of the public listener: `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Address of the operations listener, if metrics and documentation have their own. */
  readonly operationsUrl: string | undefined;
  /** The owner's first key, until its file is removed. */
  readonly firstKey: FirstKey | undefined;
  readonly log: Logger;
  /** Requests without a recording and failed recordings so far; null without cassettes. */
  readonly cassetteReport: CassetteReport | null;
  /**
   * Replaces the configuration; requests in progress keep the one they began with.
   *
   * @param loaded the file that it was read from, and settings that change at the next start
   * @param changes the names of settings, for the audit log
   * @throws Failure if the audit log cannot be written
   */
  reconfigure(
    config: Config,
    loaded: LoadedConfig & { readonly restart: readonly string[] },
    changes: Readonly<Record<string, readonly string[]>>,
    who?: Actor,
  ): Promise<void>;
  /** Records, in the audit log too, that a new configuration was invalid. */
  refuseConfiguration(faults: readonly string[], who?: Actor): Promise<void>;
  /** Lets the owner reload the configuration over HTTP too. */
  offerReload(reload: Reload): void;
  /**
   * Accepts nothing new, waits for requests in progress until `server.grace` has passed, and ends.
   *
   * @param isReplaced whether another process serves the port now, so that the server stays ready
   */
  close(isReplaced?: boolean): Promise<void>;
}

/** Starts the daemon: store, audit log, image pool, text, media and HTTP, in this order. */
export async function startDaemon(config: Config, options: DaemonOptions): Promise<Daemon> {
  const closers = new Closers();
  const metrics = new Metrics();
  const onLost = (lines: number) => metrics.lostLog.inc(lines);
  const start: Start = {
    state: new DaemonState(config, options.loaded),
    log: await openLog(config.log, {
      descriptor: options.logTo,
      number: options.peers?.place.number,
      onLost,
    }),
    metrics,
    closers,
    charged: new ChargedKeys(),
    options,
    started: new AbortController(),
    actor: ownActor(),
  };
  options.peers?.serve(start.metrics);
  try {
    const services = await startServices(start);
    return await openForClients(start, services);
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
}

/** Listens, then starts the background work. */
async function openForClients(start: Start, services: Services): Promise<Daemon> {
  const { state, log, closers, started, actor: who } = start;
  const { audit, firstKey, servers } = services;
  const { server, operations } = servers;
  const { server: settings } = state.config;
  // Closed last: the operations listener answers while the public one drains.
  if (operations) closers.add(() => operations.close());
  closers.add(() => server.close());
  started.abort();
  const openedAt = Date.now();
  const operationsUrl = operations && (await listen(operations, settings.operations!));
  state.url = await listen(server, settings);
  // The binary kept the young generation small while code was loaded; this is V8's default.
  setFlagsFromString('--semi-space-growth-factor=2');
  startBackgroundWork(services, log);
  inBackground(
    start.metrics.requestSeries.readLog(services.opened.store.requests, openedAt),
    'the requests of the last 30 days could not be counted',
    log,
  );
  inBackground(preparePromptRules(), 'the rules for prompts could not be loaded', log);
  return {
    url: state.url,
    operationsUrl,
    firstKey,
    log,
    get cassetteReport() {
      return services.cassettes?.report ?? null;
    },
    offerReload(reload) {
      state.reload = reload;
    },
    reconfigure(next, loaded, details, by = who) {
      const subject = () => ({ object: 'configuration', details });
      return audit.record({ act: 'config.reload', who: by, subject }, async () => {
        // First, since it may fail.
        await services.telemetry.configure(next);
        services.catalog.use(next, loaded);
        const readAt = Date.now();
        state.configuration = { loaded, readAt, atRestart: loaded.restart, refused: null };
        services.media.runner.reconfigured();
      });
    },
    async refuseConfiguration(faults, by = who) {
      state.configuration = { ...state.configuration, refused: { at: Date.now(), faults } };
      const refused = { act: 'config.reload', who: by, result: 'refused' as const };
      await audit.append({ ...refused, code: 'invalid_config', object: 'configuration' });
    },
    close: (isReplaced = false) => close(start, services, isReplaced),
  };
}

/** Resumes tasks and callbacks of an earlier process while the first requests are served. */
function startBackgroundWork(
  {
    media,
    callbacks,
    background,
    batchWorker,
    retentionSweeper,
    opened,
    alerts,
    backups,
  }: Services,
  log: Logger,
): void {
  inBackground(media.runner.start(), 'open tasks could not be resumed', log);
  inBackground(callbacks.start(), 'open callbacks could not be resumed', log);
  background.start();
  // Results of batches that a crash left without a record must not be deleted as files without an owner.
  const resumed = batchWorker.start().finally(() => {
    if (!opened.isClockAhead) retentionSweeper.start();
  });
  inBackground(resumed, 'open batches could not be resumed', log);
  alerts.start();
  backups.start();
}

function inBackground(work: Promise<void>, failureMessage: string, log: Logger): void {
  work.catch((error: unknown) => log.error({ err: error }, failureMessage));
}

async function close(
  { state, closers }: Start,
  services: Services,
  isReplaced: boolean,
): Promise<void> {
  const { servers, draining, media, text, background, pool } = services;
  draining.abort(isReplaced ? REPLACED : undefined);
  media.runner.drain();
  background.drain();
  services.batchWorker.drain();
  if (handsOver(services.opened.store)) await closeListener(servers.server.server);
  // After the grace connections are closed, which aborts their requests.
  const cut = setTimeout(() => {
    // Streams get an error event before their connections are closed.
    const closed = text.close(shuttingDown());
    media.runner.interrupt();
    void closed.then(() =>
      setImmediate(() => {
        servers.server.server.closeAllConnections();
        servers.operations?.server.closeAllConnections();
        void pool.close();
      }),
    );
  }, state.config.server.grace);
  await closers.closeAll();
  clearTimeout(cut);
}
