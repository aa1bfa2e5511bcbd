import { hintDelay, searchInterval } from '../../store/nodes.ts';
import type { Store } from '../../store/store.ts';
import type { ClaimQuery, Task } from '../../store/task.ts';
import { ClaimLoop } from './claim-loop.ts';

interface TaskClaimerOptions {
  readonly store: Store;
  /** What this node could start now. */
  readonly room: () => Required<ClaimQuery>;
  /** Tasks that wait here, and that this node claims one by one. */
  readonly waiting: () => number;
  /** Called with each task that this node has claimed. An orphan is one whose node has died. */
  readonly claimed: (task: Task, isOrphan: boolean) => void;
  /** Called with each task that expired without a node. */
  readonly expired: (task: Task) => void;
  /** Called when other nodes may take over all tasks of this one. */
  readonly leaseLost: () => void;
}

/** Maximum number of expired tasks in one search. */
const MAX_EXPIRED = 100;

/** Interval between two claims while there may be tasks of other processes, in milliseconds. */
const BUSY_INTERVAL_MS = 1000;

/** The same if this is the only node, and the last claim found no task. */
const IDLE_INTERVAL_MS = 30_000;

/**
 * Claims tasks of other processes and nodes while this node has free slots: pending tasks, and tasks whose node has
 * died. Tasks that were created here are claimed in their queue.
 */
export class TaskClaimer {
  readonly #options: TaskClaimerOptions;
  readonly #loop = new ClaimLoop(() => this.#claimAll(), BUSY_INTERVAL_MS);
  /** Whether the store may have more tasks of others than there was room for. */
  #isBusy = true;
  readonly #unsubscribe: (() => void)[] = [];

  constructor(options: TaskClaimerOptions) {
    this.#options = options;
  }

  /** @throws Failure of the store */
  async start(): Promise<void> {
    const { store, leaseLost } = this.#options;
    this.#unsubscribe.push(
      store.watch(({ kind }) => {
        if (kind === 'lease_lost') leaseLost();
        if (kind === 'lease_lost') this.#loop.wakeIn(0);
        if (kind === 'pending') this.#loop.wakeIn(hintDelay(store.nodes));
      }),
      // Orphans of a node that died.
      store.nodes.onChange(() => this.#loop.wakeIn(hintDelay(store.nodes))),
    );
    await this.#loop.run();
  }

  /** Reports that this process has returned a task to the store, which may be claimed or expire. */
  taskLeft(): void {
    this.#isBusy = true;
  }

  /** Reports a free slot for tasks in the store. */
  slotFreed(): void {
    if (this.#isBusy) this.#loop.wakeIn(0);
  }

  /** Stops claiming. */
  close(): void {
    this.#loop.stop();
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
  }

  /** Resolves when the last claim has ended. */
  closed(): Promise<void> {
    return this.#loop.ended();
  }

  /** Claims as many tasks as there are free slots. @returns milliseconds until the next claim */
  async #claimAll(): Promise<number> {
    const { store, room, claimed, expired } = this.#options;
    this.#isBusy = true;
    let found = 0;
    do {
      for (const task of await store.expireOverdue(MAX_EXPIRED)) expired(task);
      const orphans = await store.claimOrphans(room());
      for (const task of orphans) claimed(task, true);
      const pending = (await this.#othersWait()) ? await store.claimPending(room()) : [];
      for (const task of pending) claimed(task, false);
      found = orphans.length + pending.length;
    } while (found > 0 && !this.#loop.isStopped);
    this.#isBusy = store.isShared ? room().exceptModels.length > 0 : await this.#othersWait();
    if (store.isShared) return searchInterval(BUSY_INTERVAL_MS, store.nodes);
    return this.#isBusy ? BUSY_INTERVAL_MS : IDLE_INTERVAL_MS;
  }

  /** Whether other nodes may have pending tasks. A search among many that wait here would be slow. */
  async #othersWait(): Promise<boolean> {
    const { store, waiting } = this.#options;
    return store.isShared || (await store.statistics()).tasks.pending > waiting();
  }
}
