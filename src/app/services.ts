import { join } from 'node:path';
import { readFirstKey, writeFirstKey } from '../administration/first-key.ts';
import { firstRun } from '../administration/first-run.ts';
import { StoredFiles } from '../batches/stored-files.ts';
import { allNames } from '../config/catalog/model-names.ts';
import { startAdmin } from '../http/admin.ts';
import { warnRarely } from '../http/observability/log.ts';
import {
  addPoolMetrics,
  addRoutingMetrics,
  addStoreMetrics,
} from '../http/observability/state-metrics.ts';
import type { AppContext } from '../http/request/app-context.ts';
import { buildServers } from '../http/server.ts';
import { Spool } from '../http/uploads/spool.ts';
import { startSharedPool } from '../operations/pool/shared-pool.ts';
import { ProviderHealth } from '../routing/provider-health.ts';
import type { AuditLog } from '../store/audit/log.ts';
import { openAudit, recordRecovery } from '../store/audit/log.ts';
import { placeOf } from '../store/drivers/open.ts';
import { TextThreads } from '../threads/text-threads.ts';
import { UpstreamClient } from '../upstream/client.ts';
import { DaemonAlerts } from './alerts.ts';
import { BackupSchedule } from './backup.ts';
import { openCassettes } from './cassettes.ts';
import { openLimits } from './limits.ts';
import { createMedia } from './media.ts';
import { routingObserver } from './routing-observer.ts';
import { followCooldowns, publishCooldowns } from './shared-cooldowns.ts';
import type { Parts, Start } from './start.ts';
import { type OpenedStore, openDaemonStore } from './store.ts';
import { StoredProviders } from './stored-catalog.ts';
import { DaemonTelemetry } from './telemetry.ts';
import { createBatches, createText } from './text.ts';

/** The parts of a daemon that is ready to listen. */
export type Services = Awaited<ReturnType<typeof startServices>>;

/** Starts all parts of a daemon but its listeners: store, audit log, pools, text, media and servers, in this order. */
export async function startServices(start: Start) {
  const { state, log, metrics, closers, options, actor } = start;
  const { dataDir, owner, batch } = state.config;
  const { bootstrapKey, dev: anyKey = false } = options;
  const network = new UpstreamClient();
  const cassettes = await openCassettes(start, network);
  const opened = await openDaemonStore(start);
  const { store } = opened;
  closers.add(() => store.close());
  closers.add(() => options.onEnd?.(store, cassettes?.report ?? null));
  closers.add(() => options.peers?.leave());
  const warn = warnRarely(log, 'requests cannot be written to the log of requests');
  store.requests.observer = {
    onFault: (error) => {
      metrics.requestLogFaults.inc({ fault: 'failed_write' });
      warn(error);
    },
    onLost: () => metrics.requestLogFaults.inc({ fault: 'lost_request' }),
  };
  const audit = await startAudit(start, opened);
  const span = await store.timeRange();
  // Before the listener starts: the first request may come with this key.
  await firstRun(store, {
    ...{ audit, who: actor, credits: owner.credits, anyKey },
    ...(bootstrapKey !== undefined && { bootstrapKey }),
    saveKey: (key) => writeFirstKey(dataDir, key),
  });
  const firstKey = await readFirstKey(dataDir, store);
  // Closed just before the store: administration also works while the daemon drains.
  const models = () => allNames(state.config.models);
  const daemonAlerts = new DaemonAlerts(start, store, network);
  const backups = new BackupSchedule(start, { store, network, alerts: daemonAlerts.alerts });
  const catalog = new StoredProviders(state, store, log, daemonAlerts.alerts);
  await catalog.start();
  closers.add(() => catalog.close());
  const admin = await startAdmin({
    ...{ store, audit, catalog, log, models },
    place: placeOf(state.config.store),
    directory: dataDir,
  });
  closers.add(() => admin.close());
  const pool = startSharedPool(state.config.pool);
  closers.add(() => pool.close());
  const textThreads = new TextThreads(state.config.pool.threads);
  closers.add(() => textThreads.close());
  addPoolMetrics(metrics, pool, textThreads);
  addStoreMetrics(metrics, store);
  const spool = await Spool.open(join(dataDir, 'spool'), batch.spool, (error) =>
    log.error({ err: error }, 'an upload could not be removed from the spool'),
  );
  // Once the last answers have ended.
  closers.add(() => cassettes?.close());
  closers.add(() => network.close());
  closers.add(() => backups.close());
  const upstream = cassettes ?? network;
  const telemetry = new DaemonTelemetry(start, network);
  await telemetry.configure(state.config);
  // After the last request and task have ended.
  closers.add(() => telemetry.close());
  const providerHealth = new ProviderHealth();
  const { watch: alerts } = daemonAlerts;
  const local = routingObserver(start, providerHealth, alerts);
  const observer = { ...local, ...publishCooldowns(store) };
  const tracer = () => telemetry.tracer;
  const own = {
    store,
    span,
    upstream,
    pool,
    textThreads,
    alerts,
    routingObserver: observer,
    tracer,
  };
  const parts: Parts = { ...start, ...own };
  const daemonMedia = await createMedia(parts);
  const assets = daemonMedia.files;
  const files = new StoredFiles({ config: () => state.config, store, assets });
  const limits = await openLimits(start, store.nodes);
  const gateways = createText(parts, files, limits);
  const { text, rows, background } = gateways;
  const routings = [text.routing, rows.routing, daemonMedia.media.routing];
  addRoutingMetrics(metrics, routings);
  daemonAlerts.routings = routings;
  followCooldowns(store, routings);
  const draining = new AbortController();
  const { batchWorker, batches } = createBatches(parts, files, gateways, limits);
  const context: AppContext = {
    get config() {
      return state.config;
    },
    get configuration() {
      return state.configuration;
    },
    get reload() {
      return state.reload;
    },
    version: options.version,
    isDeterministic: options.deterministic ?? false,
    store,
    audit,
    catalog,
    limits,
    ...gateways,
    media: daemonMedia.media,
    tasks: daemonMedia.media.runner,
    taskAttempts: daemonMedia.attempts,
    taskEvents: daemonMedia.events,
    routings,
    assets,
    files,
    batches,
    pool,
    textThreads,
    upstream: network,
    spool,
    log,
    metrics,
    providerHealth,
    alerts,
    get tracer() {
      return telemetry.tracer;
    },
    get publicUrl() {
      return state.publicUrl;
    },
    draining: draining.signal,
  };
  const servers = buildServers(context);
  catalog.onChange = () => daemonMedia.media.runner.reconfigured();
  catalog.onTest = (provider, { cause, fault }) => {
    if (cause === null) return providerHealth.succeeded(provider);
    const { type, code, upstreamStatus: status } = cause;
    providerHealth.failed(provider, { type, code, status, message: fault!, key: null });
  };
  return {
    ...daemonMedia,
    ...{ opened, audit, firstKey, servers, draining, text, background, batchWorker, pool },
    ...{ telemetry, catalog, cassettes, alerts, backups },
  };
}

/** Opens the audit log and records the start and the repairs of the store. */
async function startAudit(
  { state, log, closers, options, actor: who }: Start,
  { recoveries }: OpenedStore,
): Promise<AuditLog> {
  const audit = await openAudit(state.config.dataDir, who, {
    // The file has every act. A copy of the log that is kept elsewhere shows whether the file was rewritten.
    onEntry: ({ act, result, object }, { number, hash }) =>
      log.debug({ act, object, result, number, hash }, 'audit'),
    onFault: (error) => log.error({ err: error }, 'the end of a change is not in the audit log'),
  });
  closers.add(() => audit.close());
  for (const recovery of recoveries) await recordRecovery(audit, who, recovery);
  const details = { acceptClock: options.acceptClock || undefined };
  const object = options.version;
  await audit.append({ act: 'serve.start', who, result: 'done', object, details });
  return audit;
}
