import { rethrowAfter } from '../flow.ts';
import { clientPool, MAX_WAITING } from '../operations/pool/pool.ts';
import { Routing } from '../routing/routing.ts';
import type { KeyHolder } from '../store/store.ts';
import type { Task } from '../store/task.ts';
import { imageLimits, MAX_IMAGE_BYTES, storeImage } from './files/images.ts';
import {
  type ImmediateCall,
  moderate,
  type TranscriptionCall,
  transcribe,
} from './immediate-calls.ts';
import type { ModerationAnswer, Transcript } from './provider/provider.ts';
import { MediaTaskExecutor } from './queue/media-task-executor.ts';
import { TaskRunner } from './queue/task-runner.ts';
import { checkCallbackUrl } from './stages/check-callback-url.ts';
import { createTask } from './stages/create-task.ts';
import { findRepeatedTask } from './stages/find-repeated-task.ts';
import { screenPrompt } from './stages/screen-prompt.ts';
import { type Stage, Submission } from './stages/stage.ts';
import { storeInputs } from './stages/store-inputs.ts';
import { validateRequest } from './stages/validate-request.ts';
import type { MediaCall, SentFile } from './task/call.ts';
import type { MediaServices } from './task/media-services.ts';

/** The stages of every request that creates a task, in order. No file is written before the prompt is screened. */
const STAGES: readonly Stage[] = [
  findRepeatedTask,
  validateRequest,
  screenPrompt,
  checkCallbackUrl,
  storeInputs,
  createTask,
];

/** Accepts media requests as tasks, and runs them. */
export class MediaGateway {
  readonly #services: MediaServices;
  readonly routing: Routing;
  readonly runner: TaskRunner;

  constructor(services: Omit<MediaServices, 'routing'>) {
    this.routing = new Routing(services.config, services.observer);
    this.#services = { ...services, routing: this.routing };
    this.runner = new TaskRunner(this.#services, new MediaTaskExecutor(this.#services));
  }

  /**
   * Creates a task and starts it. Resolves when the record and its reservation are on disk. The same
   * idempotency key with the same request returns the same task.
   *
   * @throws Failure
   */
  async submit(call: MediaCall): Promise<Task> {
    const task = await this.#taskOf(call);
    if (task.status === 'pending') {
      this.#services.observer.changed?.(task);
      this.runner.add(task);
    }
    return task;
  }

  async #taskOf(call: MediaCall): Promise<Task> {
    const { config, files } = this.#services;
    const submission = new Submission(call, config());
    try {
      for (const stage of STAGES) {
        await stage(submission, this.#services);
        if (submission.task) break;
      }
      return submission.task!;
    } catch (error) {
      await files.discard(submission.stored.map(({ id }) => id));
      throw error;
    }
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
    const { config, files, pool, store } = this.#services;
    const { batch, limits } = config();
    const { asset } = await storeImage(file, 'file', {
      files,
      pool: clientPool(pool, { client: account.id, maxWaiting: MAX_WAITING }),
      limits: imageLimits(batch, MAX_IMAGE_BYTES),
    });
    await store
      .addUpload(account.id, asset, limits[account.plan].uploads)
      .catch(rethrowAfter(() => files.discard([asset.id])));
    return asset.id;
  }

  moderate(call: ImmediateCall): Promise<ModerationAnswer> {
    return moderate(call, this.#services);
  }

  /** Transcribes a file, which the caller deletes. */
  transcribe(call: TranscriptionCall): Promise<Transcript> {
    return transcribe(call, this.#services);
  }
}
