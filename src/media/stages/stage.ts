import type { Config, Model } from '../../config/settings/schema.ts';
import type { NewAsset } from '../../store/asset.ts';
import type { NewTask, Task } from '../../store/task.ts';
import type { ValidatedRequest } from '../requests/validated-request.ts';
import type { MediaCall } from '../task/call.ts';
import type { MediaServices } from '../task/media-services.ts';
import type { TaskRequest } from '../task/task-request.ts';

/** A request on its way to a task. */
export class Submission {
  readonly call: MediaCall;
  readonly config: Config;
  /** Files that were written for the task. */
  readonly stored: NewAsset[] = [];
  idempotency: NewTask['idempotency'] = null;
  modelId!: string;
  model!: Model;
  validated!: ValidatedRequest;
  /** The request as the task stores it. */
  request!: TaskRequest;
  callbackUrl: string | null = null;
  /** No later stage runs once it is set. */
  task: Task | undefined;

  constructor(call: MediaCall, config: Config) {
    this.call = call;
    this.config = config;
  }
}

/**
 * One stage of submitting a request. It reads fields of the submission that earlier stages set, and sets others.
 *
 * @throws Failure; no later stage runs, and the files that were written are discarded
 */
export type Stage = (submission: Submission, services: MediaServices) => void | Promise<void>;
