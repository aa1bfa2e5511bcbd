import type { AbortSignalLike } from '../upstream/abort-signal.ts';

/** Gives a place back. Further calls do nothing. */
export type Leave = () => void;

interface Waiter {
  readonly bytes: number;
  admit(): void;
}

interface Line {
  /** Places that the client has. */
  taken: number;
  /** Bytes that the client's jobs were estimated to need. */
  bytes: number;
  /** In the order of their coming. A set: each may give up. */
  readonly waiters: Set<Waiter>;
}

/** Bounds on who may have places at the same time. */
export interface Shares {
  /** Places that one client may have. */
  readonly places?: number;
  /** Bytes that all who have a place may need together. */
  readonly bytes?: number;
  /** Bytes that one client's may need together, where there are several. */
  readonly bytesOfOne?: number;
}

/**
 * A number of places for which clients wait, each in a line of its own. A place that falls free goes
 * to the client that has the fewest, and among equals to the one that had its last the longest ago:
 * who wants one place waits for somebody to finish, never for somebody's queue.
 */
export class Places {
  #count: number;
  /** Clients that have or want a place; who had one the longest ago, or came first, is first. */
  readonly #lines = new Map<string, Line>();
  #taken = 0;
  #waiting = 0;
  #bytes = 0;
  readonly #shares: Required<Shares>;

  /** @param count how many places there are */
  constructor(count: number, shares: Shares = {}) {
    this.#count = count;
    const all = Number.POSITIVE_INFINITY;
    this.#shares = { places: all, bytes: all, bytesOfOne: all, ...shares };
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** How many of a client's wait. */
  waitingOf(client: string): number {
    return this.#lines.get(client)?.waiters.size ?? 0;
  }

  /** Changes how many there are; who has one keeps it. */
  resize(count: number): void {
    this.#count = count;
    this.#admit();
  }

  /**
   * Waits for a place.
   *
   * @param signal aborted while it waits: its reason is thrown, and no place is taken
   * @param bytes memory that is needed in it, at most the `bytes` of the shares
   */
  take(client: string, signal?: AbortSignalLike, bytes = 0): Promise<Leave> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const line = this.#lines.get(client) ?? { taken: 0, bytes: 0, waiters: new Set() };
      this.#lines.set(client, line);
      const giveUp = () => {
        line.waiters.delete(waiter);
        this.#waiting -= 1;
        this.#forget(client, line);
        // Others may fit where this one did not.
        this.#admit();
        reject(signal?.reason);
      };
      const admit = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve(this.#placeOf(client, line, bytes));
      };
      const waiter = { bytes, admit };
      signal?.addEventListener('abort', giveUp);
      line.waiters.add(waiter);
      this.#waiting += 1;
      this.#admit();
    });
  }

  #placeOf(client: string, line: Line, bytes: number): Leave {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#taken -= 1;
      this.#bytes -= bytes;
      // Who leaves still counts as having the place while the next is chosen. Otherwise, where there
      // is one place only, nobody would ever have fewer than the client that just had it.
      this.#admit();
      line.taken -= 1;
      line.bytes -= bytes;
      this.#putLast(client, line);
      this.#forget(client, line);
      // Its own next one may have waited for the client's share.
      this.#admit();
    };
  }

  #admit(): void {
    while (this.#waiting > 0 && this.#taken < this.#count) {
      const found = this.#next();
      if (found === undefined) return;
      const [client, line] = found;
      const [waiter] = line.waiters;
      const { bytes } = waiter!;
      // Nobody passes a large job by: it would wait for ever.
      if (this.#taken > 0 && this.#bytes + bytes > this.#shares.bytes) return;
      line.taken += 1;
      line.bytes += bytes;
      this.#taken += 1;
      this.#bytes += bytes;
      this.#waiting -= 1;
      this.#putLast(client, line);
      line.waiters.delete(waiter!);
      waiter!.admit();
    }
  }

  #next(): readonly [string, Line] | undefined {
    let chosen: readonly [string, Line] | undefined;
    for (const entry of this.#lines) {
      const [, line] = entry;
      if (this.#mayTakeMore(line) && (!chosen || line.taken < chosen[1].taken)) chosen = entry;
    }
    return chosen;
  }

  #mayTakeMore({ taken, bytes, waiters }: Line): boolean {
    const [waiter] = waiters;
    if (waiter === undefined) return false;
    if (taken === 0) return true;
    const { places, bytesOfOne } = this.#shares;
    return taken < places && bytes + waiter.bytes <= bytesOfOne;
  }

  #putLast(client: string, line: Line): void {
    this.#lines.delete(client);
    this.#lines.set(client, line);
  }

  #forget(client: string, { taken, waiters }: Line): void {
    if (taken === 0 && waiters.size === 0) this.#lines.delete(client);
  }
}
