import type { Config } from '../../config/settings/schema.ts';
import { FairSemaphore, type Release } from '../../fair-semaphore.ts';
import { getOrInsert } from '../../maps.ts';
import { type Nodes, SINGLE_NODE, shareOf } from '../../store/nodes.ts';

/** The tasks at one provider. */
export interface QueueStatistics {
  readonly provider: string;
  readonly limit: number;
  readonly running: number;
  readonly waiting: number;
}

/**
 * Limits the media tasks that run at each provider at once; accounts wait in queues of their own. Each of
 * several nodes has its share of a provider's limit.
 */
export class ProviderQueues {
  readonly #config: () => Config;
  readonly #nodes: Nodes;
  readonly #semaphores = new Map<string, FairSemaphore>();

  constructor(config: () => Config, nodes = SINGLE_NODE) {
    this.#config = config;
    this.#nodes = nodes;
    nodes.onChange(() => this.reconfigured());
  }

  /** A slot for one task, which holds a permit of at most one provider. */
  slot(client: string, signal: AbortSignal): Slot {
    return new Slot((provider) => this.#semaphoreOf(provider).acquire(client, signal));
  }

  /** Applies the limits of a reloaded configuration, or of another number of nodes. */
  reconfigured(): void {
    for (const [provider, semaphore] of this.#semaphores) {
      semaphore.resize(this.#concurrencyOf(provider));
    }
  }

  /** Tasks that could start at a provider now. */
  free(provider: string): number {
    const { acquired = 0, waiting = 0 } = this.#semaphores.get(provider) ?? {};
    return Math.max(0, this.#concurrencyOf(provider) - acquired - waiting);
  }

  /** The queues of providers that had tasks since the start. */
  *statistics(): Generator<QueueStatistics, void> {
    for (const [provider, { acquired, waiting }] of this.#semaphores) {
      yield { provider, limit: this.#concurrencyOf(provider), running: acquired, waiting };
    }
  }

  #semaphoreOf(provider: string): FairSemaphore {
    const newSemaphore = () => new FairSemaphore(this.#concurrencyOf(provider));
    return getOrInsert(this.#semaphores, provider, newSemaphore);
  }

  #concurrencyOf(provider: string): number {
    return shareOf(this.#config().providers[provider]?.concurrency ?? 1, this.#nodes);
  }
}

export class Slot {
  readonly #acquire: (provider: string) => Promise<Release>;
  #provider: string | null = null;
  #release: Release = () => {};

  constructor(acquire: (provider: string) => Promise<Release>) {
    this.#acquire = acquire;
  }

  isAt(provider: string): boolean {
    return this.#provider === provider;
  }

  /** Waits for a permit of a provider, and releases that of another. @throws the signal's reason */
  async moveTo(provider: string): Promise<void> {
    if (this.isAt(provider)) return;
    this.release();
    this.#release = await this.#acquire(provider);
    this.#provider = provider;
  }

  release(): void {
    this.#release();
    this.#release = () => {};
    this.#provider = null;
  }
}
