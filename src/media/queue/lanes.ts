import type { Config } from '../../config/schema.ts';
import { FairSemaphore, type Release } from '../../operations/fair-semaphore.ts';
import type { AbortSignalLike } from '../../upstream/abort-signal.ts';

/** The places that each provider has for media tasks; accounts wait for them in lines of their own. */
export class Lanes {
  readonly #config: () => Config;
  readonly #lanes = new Map<string, FairSemaphore>();

  constructor(config: () => Config) {
    this.#config = config;
  }

  /** Somebody who has at most one place at a time. */
  seat(client: string, signal: AbortSignalLike): Seat {
    return new Seat((provider) => this.#lane(provider).acquire(client, signal));
  }

  /** The configuration has been loaded anew: who waits may go where there are more places now. */
  reconfigured(): void {
    for (const [provider, lane] of this.#lanes) lane.resize(this.#placesAt(provider));
  }

  #lane(provider: string): FairSemaphore {
    const lane = this.#lanes.get(provider) ?? new FairSemaphore(this.#placesAt(provider));
    this.#lanes.set(provider, lane);
    return lane;
  }

  #placesAt(provider: string): number {
    return this.#config().providers[provider]?.concurrency ?? 1;
  }
}

export class Seat {
  readonly #take: (provider: string) => Promise<Release>;
  #provider: string | null = null;
  #leave: Release = () => {};

  constructor(take: (provider: string) => Promise<Release>) {
    this.#take = take;
  }

  isAt(provider: string): boolean {
    return this.#provider === provider;
  }

  /** Waits for a place at a provider, and gives up the one at another. @throws the signal's reason */
  async move(provider: string): Promise<void> {
    if (this.isAt(provider)) return;
    this.leave();
    this.#leave = await this.#take(provider);
    this.#provider = provider;
  }

  leave(): void {
    this.#leave();
    this.#leave = () => {};
    this.#provider = null;
  }
}
