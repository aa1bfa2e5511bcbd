import { join } from 'node:path';
import { openAssetStorage } from '../assets/open.ts';
import type { AssetStorage } from '../assets/storage/asset-storage.ts';
import { Callbacks } from '../media/callbacks/callbacks.ts';
import { RetentionSweeper } from '../media/files/retention-sweeper.ts';
import { MediaGateway } from '../media/gateway.ts';
import { TaskAttempts } from '../media/queue/task-attempts.ts';
import { taskRecord } from '../media/record.ts';
import { SharedTaskEvents, TaskEvents } from '../media/task-events.ts';
import { endTaskSpan, logTask, ProviderAttempts } from './ended-task.ts';
import type { Parts } from './start.ts';

/** The media gateway with its files, callbacks and retention; none of them has started. */
export async function createMedia(parts: Parts) {
  const { state, store, span, upstream, pool, textThreads, routingObserver } = parts;
  const { log, metrics, closers } = parts;
  const config = () => state.config;
  const files = await openFiles(parts);
  const callbacks = new Callbacks({
    store,
    upstream,
    config,
    record: (task) => taskRecord(task, state.publicUrl),
    onAttempt: ({ status }) => metrics.callbackAttempts.inc({ outcome: status }),
    onFault: (error) => log.error({ err: error }, 'a callback could not be recorded'),
  });
  closers.add(() => callbacks.close());
  const retentionSweeper = new RetentionSweeper({
    config,
    store,
    files,
    span,
    onSwept: (swept) => log.warn(swept, 'files without a record were found'),
    onFault: (error) => log.error({ err: error }, 'expired records or files could not be removed'),
  });
  closers.add(() => retentionSweeper.close());
  const counts = new ProviderAttempts();
  const attempts = new TaskAttempts();
  const shared = store.isShared ? new SharedTaskEvents(store) : null;
  if (shared) closers.add(() => shared.close());
  const events = shared ?? new TaskEvents();
  const media = new MediaGateway({
    config,
    store,
    files,
    upstream,
    pool,
    textThreads,
    tracer: parts.tracer,
    observer: {
      ...routingObserver,
      onAttempt: (provider, failure, logContext, key) => {
        if (logContext.task !== undefined) {
          counts.add(logContext.task, provider);
          attempts.add(logContext.task, failure);
        }
        routingObserver.onAttempt(provider, failure, logContext, key);
      },
      changed: (task) => events.changed(task),
      ended: (task) => {
        events.changed(task);
        metrics.observeTask(task);
        const ended = counts.take(task.id);
        logTask(log, task, ended);
        const tracer = parts.tracer();
        if (tracer !== null) endTaskSpan(tracer, task, { attempts: ended, config: state.config });
        callbacks.added(task);
        retentionSweeper.ended(task);
        parts.charged.add(task);
        parts.alerts.answered(task.model, task.error);
      },
      fault: (error, { id }) => log.error({ err: error, task: id }, 'a defect, please report it'),
      stalled: (error, { id }) =>
        log.error({ err: error, task: id }, 'a task waits for the disk of this server'),
      claimLost: ({ id, attempts }) => {
        metrics.lostClaims.inc();
        log.warn({ task: id, attempts }, 'another node has taken over a task of this one');
      },
      callInterrupted: ({ id, model }, afterCrash) =>
        log.warn(
          { task: id, model, afterCrash },
          'the daemon had stopped during a request to the provider',
        ),
    },
  });
  closers.add(() => media.runner.close());
  metrics.gauge('oriel_tasks_open', 'Tasks that this node runs or queues', () => media.runner.size);
  metrics.gauge('oriel_node_claims', 'Tasks that this node has claimed', () => media.runner.claims);
  return { files, callbacks, retentionSweeper, media, attempts, events };
}

/** Opens the storage of files. The daemon also starts while a bucket does not answer. */
async function openFiles({
  state,
  store,
  upstream,
  log,
  metrics,
  options,
}: Parts): Promise<AssetStorage> {
  const { driver, bucket } = state.config.assets;
  if (driver === 's3') metrics.watchStorage();
  const files = await openAssetStorage({
    // Processes on one machine share a folder of files; each has a spool for a bucket of its own.
    directory: join(
      (driver === 'disk' && options.peers?.dataDir) || state.config.dataDir,
      'assets',
    ),
    isSweeper: options.peers?.place.isFirst ?? true,
    settings: () => state.config.assets,
    upstream,
    isLeader: () => store.nodes.isLeader(),
    onDamage: (id) => {
      metrics.damagedFiles.inc();
      log.error({ asset: id }, 'a file differs from what was written');
    },
    onRequest: (operation, outcome, milliseconds) =>
      metrics.observeStorage(operation, outcome, milliseconds / 1000),
  });
  void files.health().then((reason) => {
    if (reason !== null) log.error({ bucket, reason }, 'the bucket of files cannot be used');
  });
  return files;
}
