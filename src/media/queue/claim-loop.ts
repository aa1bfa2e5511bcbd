/** Maximum delay between two claims in milliseconds, in case a clock is changed. */
const MAX_DELAY_MS = 60_000;

/** Claims again and again, one claim at a time: when woken, and after the delay that the last claim returned. */
export class ClaimLoop {
  readonly #claim: () => Promise<number>;
  readonly #retryDelay: number;
  readonly #onFault: (error: unknown) => void;
  #running: Promise<void> | null = null;
  #isWoken = false;
  #isStopped = false;
  /** Time of the next claim, of `performance.now()`. */
  #nextAt = Infinity;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param claim returns milliseconds until the next claim
   * @param retryDelay milliseconds until the next claim after one that failed
   */
  constructor(
    claim: () => Promise<number>,
    retryDelay: number,
    onFault: (error: unknown) => void = () => {},
  ) {
    this.#claim = claim;
    this.#retryDelay = retryDelay;
    this.#onFault = onFault;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Claims now. A call during another one causes one more claim after it. @throws the error of the claim */
  async run(): Promise<void> {
    this.#nextAt = Infinity;
    if (this.#isStopped) return;
    if (this.#running) {
      this.#isWoken = true;
      return;
    }
    clearTimeout(this.#timer);
    let delay = this.#retryDelay;
    this.#running = this.#claimWhileWoken().then((next) => {
      delay = next;
    });
    try {
      await this.#running;
    } finally {
      this.#running = null;
      this.wakeIn(this.#isWoken ? 0 : delay);
    }
  }

  async #claimWhileWoken(): Promise<number> {
    for (;;) {
      this.#isWoken = false;
      const delay = await this.#claim();
      if (!this.#isWoken || this.#isStopped) return delay;
    }
  }

  /** Claims after a delay, unless an earlier claim is scheduled. */
  wakeIn(milliseconds: number): void {
    const delay = Math.min(milliseconds, MAX_DELAY_MS);
    const at = performance.now() + delay;
    if (this.#isStopped || at >= this.#nextAt) return;
    this.#nextAt = at;
    clearTimeout(this.#timer);
    const run = () => void this.run().catch(this.#onFault);
    if (delay === 0) run();
    else this.#timer = setTimeout(run, delay).unref();
  }

  /** Stops claiming. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Resolves when the last claim has ended. */
  async ended(): Promise<void> {
    await this.#running?.catch(() => {});
  }
}
