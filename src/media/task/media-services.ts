import type { AssetStorage } from '../../assets/storage/asset-storage.ts';
import type { Config } from '../../config/settings/schema.ts';
import type { Failure } from '../../failure.ts';
import type { ImagePool } from '../../operations/pool/pool.ts';
import type { RoutingObserver } from '../../routing/observer.ts';
import type { Routing } from '../../routing/routing.ts';
import type { Store } from '../../store/store.ts';
import type { Task } from '../../store/task.ts';
import type { Tracer } from '../../telemetry/tracer.ts';
import type { TextThreads } from '../../threads/text-threads.ts';
import type { Upstream } from '../../upstream/response.ts';

export interface TaskObserver {
  ended(task: Task): void;
  /** Called for a task in a new state that is not its last. */
  changed?(task: Task): void;
  /** Called with an error that is no Failure: a defect of Oriel. */
  fault(error: unknown, task: Task): void;
  /** Called when a storage failure delays a task; the failed operation is retried. */
  stalled(failure: Failure, task: Task): void;
  /** Called for a task that another node has taken over while this one worked on it. */
  claimLost(task: Task): void;
  /** Called for a task of which a provider may have charged a call that a crash interrupted. */
  callInterrupted(task: Task, afterCrash: 'retry' | 'fail'): void;
}

/** What all media requests and tasks share. */
export interface MediaServices {
  /** The configuration in force. */
  readonly config: () => Config;
  readonly store: Store;
  readonly files: AssetStorage;
  readonly upstream: Upstream;
  readonly pool: ImagePool;
  readonly textThreads: TextThreads;
  readonly routing: Routing;
  readonly observer: TaskObserver & RoutingObserver;
  /** Returns null, or is absent, where no traces are sent. */
  readonly tracer?: () => Tracer | null;
}

/** The services that the queue of tasks needs. */
export type QueueServices = Pick<MediaServices, 'config' | 'store' | 'routing' | 'observer'>;
