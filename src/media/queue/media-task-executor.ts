import { retryStorage } from '../../assets/retry-storage.ts';
import { nameOf, upstreamModelOf } from '../../config/catalog/model-names.ts';
import type { Model, Provider } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { clientPool, type ImagePool } from '../../operations/pool/pool.ts';
import { timeoutsOf } from '../../routing/retry-policy.ts';
import { type RouteCandidate, unknownToProvider } from '../../routing/route-candidates.ts';
import { RoutesCoolingDown } from '../../routing/route-cooldowns.ts';
import { invalid } from '../../schema/invalid.ts';
import type { Completion, Task } from '../../store/task.ts';
import type { Trace } from '../../telemetry/trace.ts';
import { sleep } from '../../upstream/abort-signal.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import { imageLimits, MAX_IMAGE_BYTES } from '../files/images.ts';
import { expectedDiskSpace, loadInput } from '../files/inputs.ts';
import { storeResults } from '../files/results.ts';
import type { InputFile, MediaJob, MediaOutput, ProviderContext } from '../provider/provider.ts';
import { providerOf } from '../providers/providers.ts';
import type { MediaServices } from '../task/media-services.ts';
import { chargeOf, type InputReference, type TaskRequest } from '../task/task-request.ts';
import type { CallCheckpoint } from './call-checkpoint.ts';
import type { Slot } from './provider-queues.ts';

interface RoutedOutput {
  readonly output: MediaOutput;
  readonly context: ProviderContext;
  /** Releases the disk space that was reserved for the output. */
  readonly releaseSpace: () => void;
}

/** Maximum bytes of all images of a job: they are in memory together, and once more in a form. */
const MAX_INPUT_BYTES = 100 * 1024 * 1024;

/** Whether this machine had no file descriptor left for a connection, so that no provider got the request. */
function isOutOfDescriptors(error: unknown): error is Failure {
  return error instanceof Failure && error.code === 'connections_exhausted';
}

/** Loads a task's inputs, requests the output from a provider, and stores it. */
export class MediaTaskExecutor {
  readonly #services: MediaServices;

  constructor(services: MediaServices) {
    this.#services = services;
  }

  /**
   * @param execution its slot is at the provider of a candidate
   * @throws Failure that ends the task; the reason of the execution's signal once that is aborted
   */
  async execute(execution: TaskExecution): Promise<Completion> {
    const { task } = execution;
    const request = task.request as TaskRequest;
    const job = await this.#loadJob(request, execution);
    const { output, context, releaseSpace } = await this.#route(job, execution);
    try {
      const { result, assets } = await storeResults(job, output, {
        ...context,
        ...this.#decoding,
        files: this.#services.files,
        onStorageFailure: (failure) => execution.onStall(failure, true),
      });
      const outputs = result.outputs.length;
      const charge = chargeOf(request, task.reserved, outputs);
      return { result, assets, charge, counts: { requests: 1, outputs } };
    } finally {
      releaseSpace();
    }
  }

  /**
   * Tries the routes. Waits while all of them cool down, or no connection can be opened here, until
   * the task's deadline.
   */
  async #route(job: MediaJob, execution: TaskExecution): Promise<RoutedOutput> {
    const { task, candidates, slot, signal, deadline } = execution;
    const trace = this.#services.tracer?.()?.task(task) ?? null;
    for (;;) {
      try {
        return await this.#services.routing.run({
          model: task.model,
          accountId: task.accountId,
          logContext: { task: task.id },
          trace,
          candidates,
          signal,
          deadline,
          attempt: async (candidate: MediaRouteCandidate, provider) => {
            await slot.moveTo(candidate.route.provider);
            const releaseSpace = await this.#reserveSpace(job, execution);
            try {
              const context = this.#contextFor(candidate, provider, execution, trace);
              const output = await runOrResume(job, candidate, context, execution);
              return { output, context, releaseSpace };
            } catch (error) {
              releaseSpace();
              throw error;
            }
          },
        });
      } catch (error) {
        if (!(error instanceof RoutesCoolingDown) && !isOutOfDescriptors(error)) {
          const { wildcardPart: part = null } = job.request;
          const { model: id } = task;
          throw part === null ? error : unknownToProvider(error, id, nameOf(id, part));
        }
        // Tasks of other models may use the slot in the meantime.
        slot.release();
        await sleep((error.retryAfter ?? 1) * 1000, signal);
      }
    }
  }

  /** Waits for disk space, so that every output that is paid for can be stored. */
  #reserveSpace({ request }: MediaJob, { signal, onStall }: TaskExecution): Promise<() => void> {
    const { files } = this.#services;
    return retryStorage(
      () => files.reserve(expectedDiskSpace(request)),
      signal,
      (failure) => onStall(failure, false),
    );
  }

  /** The settings in force for images, and for URLs that others chose. */
  get #decoding() {
    const { batch, network } = this.#services.config();
    return {
      limits: imageLimits(batch, MAX_IMAGE_BYTES),
      networkPolicy: networkPolicyOf(network),
    };
  }

  /** Queues image jobs by account, without a limit: the task may have been paid for already. */
  #poolFor({ accountId }: TaskExecution['task']): ImagePool {
    return clientPool(this.#services.pool, { client: accountId });
  }

  async #loadJob(
    request: TaskRequest,
    { task, signal, onStall }: TaskExecution,
  ): Promise<MediaJob> {
    const load = (reference: InputReference, param: string, name: string): Promise<InputFile> => {
      const options = {
        ...this.#services,
        ...this.#decoding,
        pool: this.#poolFor(task),
        signal,
      };
      return retryStorage(
        () => loadInput(reference, { param, name }, options),
        signal,
        (failure) => onStall(failure, false),
      );
    };
    const inputs: InputFile[] = [];
    let bytes = 0;
    // One at a time: each may have 30 MB.
    for (const [index, reference] of (request.type === 'audio' ? [] : request.inputs).entries()) {
      const param = `input_images[${index}]`;
      const input = await load(reference, param, `input-${index + 1}`);
      bytes += input.bytes.length;
      if (bytes > MAX_INPUT_BYTES) {
        const message = `expected at most ${MAX_INPUT_BYTES} bytes of images in all, received more`;
        throw invalid(param, message, 'file_too_large');
      }
      inputs.push(input);
    }
    const mask =
      request.type === 'image' && request.mask ? await load(request.mask, 'mask', 'mask') : null;
    return { request, inputs, mask };
  }

  #contextFor(
    candidate: MediaRouteCandidate,
    settings: Provider,
    execution: TaskExecution,
    trace: Trace | null,
  ): ProviderContext {
    const { config, upstream } = this.#services;
    const { task, signal, checkpoint } = execution;
    const { wildcardPart = null } = task.request as TaskRequest;
    const { name: route } = candidate;
    const { provider, model } = candidate.route;
    return {
      settings,
      model: upstreamModelOf(candidate.route, wildcardPart),
      idempotencyKey: `${task.id}:${provider}:${model}`,
      upstream,
      pool: this.#poolFor(task),
      textThreads: this.#services.textThreads.forClient(task.accountId),
      // Only the task's deadline, which aborts the signal, bounds the time that a model takes: a
      // second timer for the same moment would sometimes fire first.
      timeouts: { ...timeoutsOf(config(), settings), firstByte: 0, total: 0 },
      traceparent: trace?.traceparent ?? null,
      signal,
      savedState: checkpoint?.route === route ? checkpoint.jobState : null,
      saveState: (jobState) => execution.saveCheckpoint({ route, jobState }),
      beforeBillableRequest: () =>
        execution.saveCheckpoint({ route, jobState: null, billableCall: 'asked' }),
    };
  }
}

/** Runs a job at a provider, or returns the output that the checkpoint has of it. */
async function runOrResume(
  job: MediaJob,
  { name: route }: MediaRouteCandidate,
  context: ProviderContext,
  execution: TaskExecution,
): Promise<MediaOutput> {
  const { checkpoint, signal } = execution;
  if (checkpoint?.route === route && checkpoint.output) return checkpoint.output;
  try {
    const output = await run(job, context);
    if (execution.checkpoint?.billableCall === 'asked') {
      const isDownloadable = output.files.every((file) => 'url' in file);
      await execution.saveCheckpoint({
        route,
        jobState: null,
        billableCall: 'answered',
        ...(isDownloadable && { output }),
      });
    }
    return output;
  } catch (error) {
    const wasNotCharged = error instanceof Failure && error.type !== 'billable_error';
    if (wasNotCharged && execution.checkpoint?.billableCall === 'asked' && !signal.aborted) {
      await execution.saveCheckpoint({ route, jobState: null });
    }
    throw error;
  }
}

function run({ request, inputs, mask }: MediaJob, context: ProviderContext): Promise<MediaOutput> {
  const provider = providerOf(context.settings.kind);
  switch (request.type) {
    case 'image':
      return provider.makeImages({ request, inputs, mask }, context);
    case 'video':
      return provider.makeVideo({ request, inputs, mask }, context);
    case 'audio':
      return provider.makeAudio({ request, inputs, mask }, context);
  }
}

export type MediaRouteCandidate = RouteCandidate<Model['routes'][number]>;

/** The work on one task. */
export interface TaskExecution {
  readonly task: Task;
  readonly signal: AbortSignal;
  /** Time of `performance.now()`. */
  readonly deadline: number;
  readonly candidates: readonly MediaRouteCandidate[];
  readonly slot: Slot;
  /** The last saved checkpoint, by this process or an earlier one. */
  readonly checkpoint: CallCheckpoint | null;
  /** Resolves once the checkpoint is on disk. */
  saveCheckpoint(checkpoint: CallCheckpoint): Promise<void>;
  /**
   * Reports that a storage failure delays the task; null once it no longer does.
   *
   * @param paid whether there is output already, which must not be lost
   */
  onStall(failure: Failure | null, paid: boolean): void;
}
