import type { Config } from '../config/schema.ts';
import { clientPool, type ImagePool, MAX_WAITING } from '../operations/pool.ts';
import { type OnAttempt, Routing } from '../routing/routing.ts';
import type { AssetFiles } from '../store/asset-files.ts';
import type { KeyHolder, Store } from '../store/store.ts';
import type { Task } from '../store/task.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import { keepImage, LARGEST_IMAGE } from './files/kept-image.ts';
import { pictureLimits } from './files/pictures.ts';
import { type ModerationCall, Moderator } from './moderation.ts';
import type { ModerationAnswer } from './providers/provider.ts';
import { Runner, type RunnerObserver } from './queue/runner.ts';
import { MediaWorker } from './queue/worker.ts';
import type { MediaCall, SentFile } from './requests/call.ts';
import { submitTask } from './requests/submission.ts';

export interface MediaObserver extends RunnerObserver {
  readonly onAttempt: OnAttempt;
}

export interface MediaGatewayOptions {
  /** As it is now. */
  readonly config: () => Config;
  readonly store: Store;
  readonly files: AssetFiles;
  readonly upstream: UpstreamClient;
  readonly pool: ImagePool;
  readonly observer: MediaObserver;
}

/** Takes requests for media, and sees to it that they are done. */
export class MediaGateway {
  readonly #options: MediaGatewayOptions;
  readonly #moderator: Moderator;
  readonly runner: Runner;

  constructor(options: MediaGatewayOptions) {
    this.#options = options;
    const { config, observer } = options;
    const routing = new Routing(config, observer.onAttempt);
    this.#moderator = new Moderator({ ...options, routing });
    const worker = new MediaWorker({ ...options, routing });
    this.runner = new Runner({ ...options, routing, worker });
  }

  /**
   * Records a task, and sees to it that it is done. Resolves when the record and its reservation are
   * on disk. The same idempotency key with the same request gives the same task again.
   *
   * @throws Failure
   */
  async submit(call: MediaCall): Promise<Task> {
    const task = await submitTask(call, { ...this.#options, config: this.#options.config() });
    if (task.status === 'pending') this.runner.add(task);
    return task;
  }

  /**
   * Waits until a task has ended, but not for longer than given, nor after `left` is aborted or while
   * the daemon drains. Gives the task as it then is.
   */
  waitFor(task: Task, milliseconds: number, left: AbortSignal): Promise<Task> {
    return this.runner.waitFor(task, milliseconds, left);
  }

  /**
   * Keeps an image.
   *
   * @returns the name of the asset
   * @throws Failure where it is no image that is taken, named by the param `file`
   */
  async upload({ account }: KeyHolder, file: SentFile): Promise<string> {
    const { config, files, store } = this.#options;
    const { batch, limits } = config();
    const context = { client: account.id, maxWaiting: MAX_WAITING };
    const pool = clientPool(this.#options.pool, context);
    const keeping = { files, pool, limits: pictureLimits(batch, LARGEST_IMAGE) };
    const { asset } = await keepImage(file, 'file', keeping);
    try {
      await store.addUpload(account.id, asset, limits[account.plan].uploads);
    } catch (error) {
      await files.discard([asset.id]);
      throw error;
    }
    return asset.id;
  }

  /** @param left aborted when the client leaves */
  moderate(
    call: ModerationCall,
    fields: Readonly<Record<string, unknown>>,
    left: AbortSignal,
  ): Promise<ModerationAnswer> {
    return this.#moderator.moderate(call, fields, left);
  }
}
