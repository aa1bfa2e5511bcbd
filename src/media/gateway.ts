import type { AssetStorage } from '../assets/storage/asset-storage.ts';
import type { Config } from '../config/settings/schema.ts';
import { clientPool, type ImagePool, MAX_WAITING } from '../operations/pool/pool.ts';
import type { RoutingObserver } from '../routing/observer.ts';
import { Routing } from '../routing/routing.ts';
import type { KeyHolder, Store } from '../store/store.ts';
import type { Task } from '../store/task.ts';
import type { Tracer } from '../telemetry/tracer.ts';
import type { TextThreads } from '../threads/text-threads.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import { MAX_IMAGE_BYTES, storeImage } from './files/stored-image.ts';
import { imageLimits } from './files/verified-image.ts';
import {
  type ImmediateCall,
  moderate,
  type TranscriptionCall,
  transcribe,
} from './immediate-calls.ts';
import type { ModerationAnswer, Transcript } from './provider/provider.ts';
import { ProviderCalls } from './provider-calls.ts';
import { MediaTaskExecutor } from './queue/media-task-executor.ts';
import type { TaskObserver } from './queue/task-execution.ts';
import { TaskRunner } from './queue/task-runner.ts';
import { submitTask } from './requests/submission.ts';
import type { MediaCall, SentFile } from './task/call.ts';

export interface MediaObserver extends TaskObserver, RoutingObserver {}

export interface MediaGatewayOptions {
  /** The configuration in force. */
  readonly config: () => Config;
  readonly store: Store;
  /** Those that share the limits of providers. Absent: this one alone. */
  readonly files: AssetStorage;
  readonly upstream: UpstreamClient;
  readonly pool: ImagePool;
  readonly textThreads: TextThreads;
  readonly observer: MediaObserver;
  /** Returns null, or is absent, where no traces are sent. */
  readonly tracer?: () => Tracer | null;
}

/** Accepts media requests as tasks, and runs them. */
export class MediaGateway {
  readonly #options: MediaGatewayOptions;
  readonly #calls: ProviderCalls;
  readonly routing: Routing;
  readonly runner: TaskRunner;

  constructor(options: MediaGatewayOptions) {
    this.#options = options;
    const { config, observer } = options;
    const routing = new Routing(config, observer);
    this.routing = routing;
    this.#calls = new ProviderCalls({ ...options, routing });
    const executor = new MediaTaskExecutor({ ...options, routing });
    this.runner = new TaskRunner({ ...options, routing, executor });
  }

  /**
   * Creates a task and starts it. Resolves when the record and its reservation are on disk. The same
   * idempotency key with the same request returns the same task.
   *
   * @throws Failure
   */
  async submit(call: MediaCall): Promise<Task> {
    const task = await submitTask(call, { ...this.#options, config: this.#options.config() });
    if (task.status === 'pending') {
      this.#options.observer.changed?.(task);
      this.runner.add(task);
    }
    return task;
  }

  /**
   * Waits until a task has ended, the time is over, the client disconnects or the daemon drains.
   * Resolves with the task as it then is.
   */
  waitFor(task: Task, milliseconds: number, clientSignal: AbortSignal): Promise<Task> {
    return this.runner.waitFor(task, milliseconds, clientSignal);
  }

  /**
   * Stores an image as an asset.
   *
   * @returns the name of the asset
   * @throws Failure naming the param `file` where it is no supported image
   */
  async upload({ account }: KeyHolder, file: SentFile): Promise<string> {
    const { config, files, store } = this.#options;
    const { batch, limits } = config();
    const context = { client: account.id, maxWaiting: MAX_WAITING };
    const pool = clientPool(this.#options.pool, context);
    const options = { files, pool, limits: imageLimits(batch, MAX_IMAGE_BYTES) };
    const { asset } = await storeImage(file, 'file', options);
    try {
      await store.addUpload(account.id, asset, limits[account.plan].uploads);
    } catch (error) {
      await files.discard([asset.id]);
      throw error;
    }
    return asset.id;
  }

  moderate(call: ImmediateCall): Promise<ModerationAnswer> {
    return moderate(call, this.#options.config(), this.#calls);
  }

  /** Transcribes a file, which the caller deletes. */
  transcribe(call: TranscriptionCall): Promise<Transcript> {
    return transcribe(call, this.#options.config(), this.#calls);
  }
}
