import type { Config } from '../../config/schema.ts';
import { Failure } from '../../failure.ts';
import type { Limits } from '../../images/limits.ts';
import { clientPool, type ImagePool } from '../../operations/pool.ts';
import { sleep } from '../../routing/backoff.ts';
import { CircuitOpen, type Routing } from '../../routing/routing.ts';
import type { AssetFiles } from '../../store/asset-files.ts';
import type { Completion, Store } from '../../store/store.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import { type NetworkPolicy, networkPolicyOf } from '../../upstream/network-policy.ts';
import { loadInput } from '../files/inputs.ts';
import { LARGEST_IMAGE } from '../files/kept-image.ts';
import { pictureLimits } from '../files/pictures.ts';
import { keepResults } from '../files/results.ts';
import { retryStorage } from '../files/retry-storage.ts';
import { roomFor } from '../files/room.ts';
import { chargeOf } from '../price.ts';
import type { InputFile, Order, Production, Workshop } from '../providers/provider.ts';
import { providerOf } from '../providers/providers.ts';
import type { Reference, Work } from '../work.ts';
import type { MediaRoute, MediaRouteCandidate, Worker, WorkerJob } from './runner.ts';

interface MediaWorkerOptions {
  readonly config: () => Config;
  readonly store: Store;
  readonly files: AssetFiles;
  readonly upstream: UpstreamClient;
  readonly pool: ImagePool;
  readonly routing: Routing;
}

interface Answered {
  readonly production: Production;
  readonly workshop: Workshop;
  /** Of the room on the disk for what was made. */
  readonly endReservation: () => void;
}

/** Bytes of all images that a work looks at, as of a form with them: they are in memory at once. */
const MOST_BYTES = 100 * 1024 * 1024;

/** Whether no connection could be opened, for want of descriptors: no provider has heard of the task. */
function isShortage(error: unknown): error is Failure {
  return error instanceof Failure && error.code === 'connections_exhausted';
}

/** Does the work of a task: its inputs are loaded, a provider makes what was asked, and that is kept. */
export class MediaWorker implements Worker {
  readonly #options: MediaWorkerOptions;

  constructor(options: MediaWorkerOptions) {
    this.#options = options;
  }

  async perform(job: WorkerJob): Promise<Completion> {
    const { task, signal } = job;
    const work = task.request as Work;
    const order = await this.#orderOf(work, job);
    const { production, workshop, endReservation } = await this.#ask(order, job);
    const { upstream, files } = this.#options;
    const { settings, timeouts, pool } = workshop;
    try {
      const { result, assets } = await keepResults(order, production, {
        settings,
        timeouts,
        upstream,
        pool,
        files,
        signal,
        limits: this.#limits,
        network: this.#network,
        onStorageFailure: (failure) => job.stalled(failure, true),
      });
      const outputs = result.outputs.length;
      const charge = chargeOf(work, task.reserved, outputs);
      return { result, assets, charge, counts: { requests: 1, outputs } };
    } finally {
      endReservation();
    }
  }

  /**
   * Asks the routes. Where all of them rest, or no connection can be opened here, that is waited for:
   * the task's deadline ends it.
   */
  async #ask(order: Order, job: WorkerJob): Promise<Answered> {
    const { task, candidates, seat, signal, deadline } = job;
    for (;;) {
      try {
        return await this.#options.routing.run({
          model: task.model,
          logContext: { task: task.id },
          candidates,
          signal,
          deadline,
          attempt: async (candidate: MediaRouteCandidate) => {
            await seat.move(candidate.route.provider);
            const endReservation = await this.#reserveRoom(order, job);
            try {
              const workshop = this.#workshopFor(candidate, job);
              const production = await produce(order, candidate, workshop, job);
              return { production, workshop, endReservation };
            } catch (error) {
              endReservation();
              throw error;
            }
          },
        });
      } catch (error) {
        if (!(error instanceof CircuitOpen) && !isShortage(error)) throw error;
        // The place is for somebody who can use it.
        seat.leave();
        await sleep((error.retryAfter ?? 1) * 1000, signal);
      }
    }
  }

  /** Waits for room on the disk, so that nothing is paid for that cannot be kept. */
  #reserveRoom({ work }: Order, { signal, stalled }: WorkerJob): Promise<() => void> {
    const { files } = this.#options;
    return retryStorage(
      () => files.reserve(roomFor(work)),
      signal,
      (failure) => stalled(failure, false),
    );
  }

  get #limits(): Limits {
    return pictureLimits(this.#options.config().batch, LARGEST_IMAGE);
  }

  get #network(): NetworkPolicy {
    return networkPolicyOf(this.#options.config().network);
  }

  /** Images wait by account, and those of a task are never refused: it may be paid for already. */
  #poolFor({ accountId }: WorkerJob['task']): ImagePool {
    return clientPool(this.#options.pool, { client: accountId });
  }

  async #orderOf(work: Work, { task, signal, stalled }: WorkerJob): Promise<Order> {
    const load = (reference: Reference, param: string, name: string): Promise<InputFile> => {
      const { files, store, upstream } = this.#options;
      const pool = this.#poolFor(task);
      const loading = { files, store, pool, upstream, signal };
      const { network, limits } = { network: this.#network, limits: this.#limits };
      return retryStorage(
        () => loadInput(reference, { param, name }, { ...loading, limits, network }),
        signal,
        (failure) => stalled(failure, false),
      );
    };
    const inputs: InputFile[] = [];
    let bytes = 0;
    // One after another: each may have 30 MB.
    for (const [index, reference] of (work.type === 'audio' ? [] : work.inputs).entries()) {
      const param = `input_images[${index}]`;
      const input = await load(reference, param, `input-${index + 1}`);
      bytes += input.bytes.length;
      if (bytes > MOST_BYTES) throw tooLarge(param);
      inputs.push(input);
    }
    const mask = work.type === 'image' && work.mask ? await load(work.mask, 'mask', 'mask') : null;
    return { work, inputs, mask };
  }

  #workshopFor(candidate: MediaRouteCandidate, job: WorkerJob): Workshop {
    const { config, upstream } = this.#options;
    const { providers, routing } = config();
    const { provider, model } = candidate.route;
    const settings = providers[provider];
    if (settings === undefined) throw gone();
    return {
      settings,
      model,
      idempotencyKey: idempotencyKeyOf(job.task.id, candidate.route),
      upstream,
      pool: this.#poolFor(job.task),
      // How long a model draws is bounded by the task's deadline alone, which the signal tells: another
      // timer for the same moment would now and then be the first.
      timeouts: { ...routing.timeouts, firstByte: 0, total: 0 },
      signal: job.signal,
      noted: job.noted?.way === candidate.name ? job.noted.progress : null,
      note: (progress) => job.note({ way: candidate.name, progress }),
      asking: () => job.note({ way: candidate.name, progress: null, call: 'asked' }),
    };
  }
}

/** The configuration was loaded anew while the work was under way. Another route may still be there. */
function gone(): Failure {
  return new Failure('service_error', 'The provider is no longer configured', {
    code: 'upstream_not_found',
  });
}

function tooLarge(param: string): Failure {
  return new Failure(
    'invalid_request',
    `${param}: expected at most ${MOST_BYTES} bytes of images in all, received more`,
    { param, code: 'file_too_large' },
  );
}

function idempotencyKeyOf(taskId: string, { provider, model }: MediaRoute): string {
  return `${taskId}:${provider}:${model}`;
}

/** Has a provider make something, or goes on with what it made before a crash. */
async function produce(
  order: Order,
  { name: way }: MediaRouteCandidate,
  workshop: Workshop,
  job: WorkerJob,
): Promise<Production> {
  const { noted, signal } = job;
  if (noted?.way === way && noted.production) return noted.production;
  try {
    const production = await make(order, workshop);
    if (job.noted?.call === 'asked') {
      const isThere = production.products.every((product) => 'url' in product);
      const again = isThere ? { production } : {};
      await job.note({ way, progress: null, call: 'answered', ...again });
    }
    return production;
  } catch (error) {
    const isRefusal = error instanceof Failure && error.type !== 'billable_error';
    if (isRefusal && job.noted?.call === 'asked' && !signal.aborted) {
      await job.note({ way, progress: null });
    }
    throw error;
  }
}

function make({ work, inputs, mask }: Order, workshop: Workshop): Promise<Production> {
  const provider = providerOf(workshop.settings.kind);
  switch (work.type) {
    case 'image':
      return provider.makeImages({ work, inputs, mask }, workshop);
    case 'video':
      return provider.makeVideo({ work, inputs, mask }, workshop);
    case 'audio':
      return provider.makeAudio({ work, inputs, mask }, workshop);
  }
}
