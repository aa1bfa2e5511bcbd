/** Releases a permit. Further calls do nothing. */
export type Release = () => void;

interface Waiter {
  readonly bytes: number;
  grant(): void;
}

interface Client {
  /** Permits that the client holds. */
  acquired: number;
  /** Estimated bytes of the jobs for which the client holds permits. */
  bytes: number;
  /** In order of arrival. A set, because any of them may be aborted. */
  readonly waiters: Set<Waiter>;
}

/** Limits beside the number of permits. */
export interface FairSemaphoreLimits {
  /** Permits that one client may hold. */
  readonly permitsPerClient?: number;
  /** Bytes of all jobs that hold a permit. */
  readonly bytes?: number;
  /** Bytes of one client's jobs, where it holds several permits. */
  readonly bytesPerClient?: number;
}

/**
 * A counting semaphore with one queue for each client. A released permit goes to the waiting client
 * that holds the fewest, and among equals to the one that acquired its last permit the longest ago.
 * So a client that wants one permit waits for one release, and not for another client's queue.
 */
export class FairSemaphore {
  #permits: number;
  /** Clients that hold or want a permit, the one that acquired its last permit the longest ago first. */
  readonly #clients = new Map<string, Client>();
  #acquired = 0;
  #waiting = 0;
  #bytes = 0;
  readonly #limits: Required<FairSemaphoreLimits>;

  constructor(permits: number, limits: FairSemaphoreLimits = {}) {
    this.#permits = permits;
    const unlimited = Number.POSITIVE_INFINITY;
    this.#limits = {
      permitsPerClient: unlimited,
      bytes: unlimited,
      bytesPerClient: unlimited,
      ...limits,
    };
  }

  /** Permits that are held. */
  get acquired(): number {
    return this.#acquired;
  }

  /** Callers that wait for a permit. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Callers of one client that wait for a permit. */
  waitingOf(client: string): number {
    return this.#clients.get(client)?.waiters.size ?? 0;
  }

  /** Changes the number of permits. Permits that are held stay valid. */
  resize(permits: number): void {
    this.#permits = permits;
    this.#grant();
  }

  /**
   * Waits for a permit.
   *
   * @param signal if it aborts first, the promise rejects with its reason and no permit is taken
   * @param bytes memory that the job needs, at most the `bytes` of the limits
   */
  acquire(name: string, signal?: AbortSignal, bytes = 0): Promise<Release> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const client = this.#clients.get(name) ?? { acquired: 0, bytes: 0, waiters: new Set() };
      this.#clients.set(name, client);
      const abort = () => {
        client.waiters.delete(waiter);
        this.#waiting -= 1;
        this.#forget(name, client);
        // A job behind this one may need less memory.
        this.#grant();
        reject(signal?.reason);
      };
      const grant = () => {
        signal?.removeEventListener('abort', abort);
        resolve(this.#releaseOf(name, client, bytes));
      };
      const waiter = { bytes, grant };
      signal?.addEventListener('abort', abort);
      client.waiters.add(waiter);
      this.#waiting += 1;
      this.#grant();
    });
  }

  #releaseOf(name: string, client: Client, bytes: number): Release {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#acquired -= 1;
      this.#bytes -= bytes;
      // The releasing client still counts as holding the permit while the next is chosen. Otherwise,
      // with a single permit, no client would ever hold fewer than the one that just released it.
      this.#grant();
      client.acquired -= 1;
      client.bytes -= bytes;
      this.#moveLast(name, client);
      this.#forget(name, client);
      // The client's own next job may have waited for permitsPerClient or bytesPerClient.
      this.#grant();
    };
  }

  #grant(): void {
    while (this.#waiting > 0 && this.#acquired < this.#permits) {
      const found = this.#next();
      if (found === undefined) return;
      const [name, client] = found;
      const [waiter] = client.waiters;
      const { bytes } = waiter!;
      // No smaller job passes a large one, which would otherwise wait forever.
      if (this.#acquired > 0 && this.#bytes + bytes > this.#limits.bytes) return;
      client.acquired += 1;
      client.bytes += bytes;
      this.#acquired += 1;
      this.#bytes += bytes;
      this.#waiting -= 1;
      this.#moveLast(name, client);
      client.waiters.delete(waiter!);
      waiter!.grant();
    }
  }

  #next(): readonly [string, Client] | undefined {
    let chosen: readonly [string, Client] | undefined;
    for (const entry of this.#clients) {
      const [, client] = entry;
      if (!this.#mayAcquire(client)) continue;
      if (!chosen || client.acquired < chosen[1].acquired) chosen = entry;
    }
    return chosen;
  }

  #mayAcquire({ acquired, bytes, waiters }: Client): boolean {
    const [waiter] = waiters;
    if (waiter === undefined) return false;
    if (acquired === 0) return true;
    const { permitsPerClient, bytesPerClient } = this.#limits;
    return acquired < permitsPerClient && bytes + waiter.bytes <= bytesPerClient;
  }

  #moveLast(name: string, client: Client): void {
    this.#clients.delete(name);
    this.#clients.set(name, client);
  }

  #forget(name: string, { acquired, waiters }: Client): void {
    if (acquired === 0 && waiters.size === 0) this.#clients.delete(name);
  }
}
