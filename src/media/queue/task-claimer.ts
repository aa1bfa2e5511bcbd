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

/** Maximum tasks of one search for tasks after their deadlines. */
const MAX_EXPIRED = 100;

/** Interval between two claims while there may be tasks of other processes, in milliseconds. */
const BUSY_INTERVAL_MS = 1000;

/** The same where this is the only node, and the last claim found no task. */
const IDLE_INTERVAL_MS = 30_000;

/**
 * Claims tasks of other processes and nodes, as far as this node has free slots: those that wait, and those
 * whose node has died. Tasks that were created here are claimed where they wait.
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

  /** The store has a task to be claimed, or to expire, that this process has put back. */
  taskLeft(): void {
    this.#isBusy = true;
  }

  /** There is a free slot for tasks that were left in the store. */
  slotFreed(): void {
    if (this.#isBusy) this.#loop.wakeIn(0);
  }

  /** Claims no more. */
  close(): void {
    this.#loop.stop();
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
  }

  /** Resolves when the last claim has ended. */
  closed(): Promise<void> {
    return this.#loop.ended();
  }

  /** Claims what there is room for. @returns milliseconds until the next claim */
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

  /** Whether there may be pending tasks of others. A search among many that wait here would take long. */
  async #othersWait(): Promise<boolean> {
    const { store, waiting } = this.#options;
    return store.isShared || (await store.statistics()).tasks.pending > waiting();
  }
}
