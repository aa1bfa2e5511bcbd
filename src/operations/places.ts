import type { Cancelled } from '../upstream/cancellation.ts';

/** Gives a place back. Further calls do nothing. */
export type Leave = () => void;

interface Line {
  /** Places that the client has. */
  taken: number;
  /** What lets each of its waiters in, in the order of their coming. */
  readonly waiters: (() => void)[];
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

  /** @param count how many places there are */
  constructor(count: number) {
    this.#count = count;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting;
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
   */
  take(client: string, signal?: Cancelled): Promise<Leave> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const line = this.#lines.get(client) ?? { taken: 0, waiters: [] };
      this.#lines.set(client, line);
      const giveUp = () => {
        line.waiters.splice(line.waiters.indexOf(admit), 1);
        this.#waiting -= 1;
        this.#forget(client, line);
        reject(signal?.reason);
      };
      const admit = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve(this.#placeOf(client, line));
      };
      signal?.addEventListener('abort', giveUp);
      line.waiters.push(admit);
      this.#waiting += 1;
      this.#admit();
    });
  }

  #placeOf(client: string, line: Line): Leave {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#taken -= 1;
      // Who leaves still counts as having the place while the next is chosen. Otherwise, where there
      // is one place only, nobody would ever have fewer than the client that just had it.
      this.#admit();
      line.taken -= 1;
      this.#putLast(client, line);
      this.#forget(client, line);
    };
  }

  #admit(): void {
    while (this.#waiting > 0 && this.#taken < this.#count) {
      const [client, line] = this.#next();
      line.taken += 1;
      this.#taken += 1;
      this.#waiting -= 1;
      this.#putLast(client, line);
      line.waiters.shift()!();
    }
  }

  #next(): readonly [string, Line] {
    let chosen: readonly [string, Line] | undefined;
    for (const entry of this.#lines) {
      const [, { taken, waiters }] = entry;
      if (waiters.length > 0 && (!chosen || taken < chosen[1].taken)) chosen = entry;
    }
    return chosen!;
  }

  #putLast(client: string, line: Line): void {
    this.#lines.delete(client);
    this.#lines.set(client, line);
  }

  #forget(client: string, { taken, waiters }: Line): void {
    if (taken === 0 && waiters.length === 0) this.#lines.delete(client);
  }
}
