import type { Logger } from 'pino';
import type { AssetStorage } from '../assets/storage/asset-storage.ts';
import type { Metrics } from '../http/observability/metrics.ts';
import { Callbacks } from '../media/callbacks/callbacks.ts';
import { RetentionSweeper } from '../media/files/retention-sweeper.ts';
import { MediaGateway } from '../media/gateway.ts';
import { TaskAttempts } from '../media/queue/task-attempts.ts';
import { taskRecord } from '../media/record.ts';
import { SharedTaskEvents, TaskEvents } from '../media/task-events.ts';
import type { SharedPool } from '../operations/pool/pool.ts';
import type { RoutingObserver } from '../routing/observer.ts';
import type { TimeRange } from '../store/health.ts';
import type { Nodes } from '../store/nodes.ts';
import type { Store } from '../store/store.ts';
import type { Tracer } from '../telemetry/tracer.ts';
import type { TextThreads } from '../threads/text-threads.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import { openDaemonAssets } from './assets.ts';
import type { Closers } from './closers.ts';
import { endTaskSpan, logTask, ProviderAttempts } from './ended-task.ts';
import type { DaemonState } from './state.ts';

interface MediaParts {
  readonly state: DaemonState;
  readonly store: Store;
  readonly nodes: Nodes;
  /** The time that the records span; null without records. */
  readonly span: TimeRange | null;
  readonly upstream: UpstreamClient;
  readonly pool: SharedPool;
  readonly textThreads: TextThreads;
  readonly routingObserver: RoutingObserver;
  readonly tracer: () => Tracer | null;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface DaemonMedia {
  readonly files: AssetStorage;
  readonly callbacks: Callbacks;
  readonly retentionSweeper: RetentionSweeper;
  readonly media: MediaGateway;
  readonly attempts: TaskAttempts;
  readonly events: TaskEvents;
}

/** The media gateway with its files, callbacks and retention; none of them has started. */
export async function createMedia(parts: MediaParts, closers: Closers): Promise<DaemonMedia> {
  const { state, store, span, upstream, pool, textThreads, routingObserver, log, metrics } = parts;
  const config = () => state.config;
  const files = await openDaemonAssets(parts);
  const callbacks = new Callbacks({
    store,
    upstream,
    config,
    record: (task) => taskRecord(task, state.publicUrl),
    onAttempt: ({ status }) => metrics.observeCallback(status),
    onFault: (error) => log.error({ err: error }, 'a callback could not be recorded'),
  });
  closers.add(() => callbacks.close());
  const retentionSweeper = new RetentionSweeper({
    config,
    store,
    files,
    span,
    onSwept: (swept) => log.warn(swept, 'there are files that no record names'),
    onFault: (error) => log.error({ err: error }, 'expired records or files could not be removed'),
  });
  closers.add(() => retentionSweeper.close());
  const counts = new ProviderAttempts();
  const attempts = new TaskAttempts();
  const shared = store.isShared ? new SharedTaskEvents(store) : null;
  if (shared) closers.add(async () => shared.close());
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
      },
      fault: (error, { id }) => log.error({ err: error, task: id }, 'a defect, please report it'),
      stalled: (error, { id }) =>
        log.error({ err: error, task: id }, 'a task waits for the disk of this server'),
      claimLost: ({ id, attempts }) => {
        metrics.observeLostClaim();
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
