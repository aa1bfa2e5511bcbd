import { isStorageFailure, retryStorage } from '../../assets/retry-storage.ts';
import { Failure } from '../../failure.ts';
import type { Task } from '../../store/task.ts';
import type { QueueServices } from '../task/media-services.ts';
import {
  type CallCheckpoint,
  checkpointOf,
  mayHaveBeenCharged,
  storedCheckpoint,
} from './call-checkpoint.ts';
import type { MediaTaskExecutor } from './media-task-executor.ts';
import {
  ClaimLost,
  isClaimLost,
  type OpenTask,
  TaskExpired,
  TaskInterrupted,
} from './open-task.ts';
import { OpenTasks } from './open-tasks.ts';
import type { QueueStatistics } from './provider-queues.ts';
import { RouteSlots } from './route-slots.ts';
import { TaskClaimer } from './task-claimer.ts';
import { failureAtStart, taskErrorOf } from './task-failures.ts';
import { waitForTask } from './wait-for-task.ts';

/**
 * Runs every open task to its end. Tasks wait for a slot at their provider, fairly between accounts.
 * Whatever happens to a task, the last operation here ends or requeues it in the store, unless another node
 * has taken it over.
 */
export class TaskRunner {
  readonly #services: QueueServices;
  readonly #executor: Pick<MediaTaskExecutor, 'execute'>;
  readonly #slots: RouteSlots;
  readonly #claimer: TaskClaimer;
  readonly #open = new OpenTasks();
  readonly #running = new Set<Promise<void>>();

  constructor(services: QueueServices, executor: Pick<MediaTaskExecutor, 'execute'>) {
    const { store, observer } = services;
    this.#services = services;
    this.#executor = executor;
    this.#slots = new RouteSlots(services);
    this.#claimer = new TaskClaimer({
      store,
      room: () => this.#slots.room(),
      waiting: () => this.#open.waiting,
      claimed: (task, isOrphan) => this.#adopt(task, isOrphan),
      expired: (task) => {
        this.#open.get(task.id)?.controller.abort(new ClaimLost());
        observer.ended(task);
      },
      leaseLost: () => this.#open.loseClaims(),
    });
  }

  /** Number of tasks that this node works on, or that wait here. */
  get size(): number {
    return this.#open.size;
  }

  /** Number of tasks that this node has claimed. */
  get claims(): number {
    return this.size - this.#open.waiting;
  }

  /** The queues of providers. */
  queues(): Iterable<QueueStatistics> {
    return this.#slots.queues.statistics();
  }

  get draining(): boolean {
    return this.#open.draining.aborted;
  }

  /** Claims open tasks of other processes and nodes, now and whenever there is a free slot for them. */
  start(): Promise<void> {
    return this.#claimer.start();
  }

  /** Starts a pending task, unless this process works on it already. While it drains, another node does. */
  add(task: Task): void {
    if (this.draining) this.#services.store.publish({ kind: 'pending' });
    else if (!this.#open.get(task.id)) this.#begin(task);
  }

  /** Applies a reloaded configuration to tasks that have not started. */
  reconfigured(): void {
    this.#slots.reconfigured();
    this.#claimer.taskLeft();
    this.#claimer.slotFreed();
  }

  /** Waits until a task ends. See `waitForTask`. */
  waitFor(task: Task, milliseconds: number, clientSignal: AbortSignal): Promise<Task> {
    const { store } = this.#services;
    return waitForTask(task, milliseconds, { store, open: this.#open, clientSignal });
  }

  /**
   * Starts no more tasks, and requeues those that lose nothing by it: tasks that wait, and tasks whose
   * remote job the next process can resume. Calls under way may still end and store their output.
   */
  drain(): void {
    this.#claimer.close();
    this.#open.drain();
  }

  /** Requeues all open tasks. */
  interrupt(): void {
    this.drain();
    this.#open.interrupt();
  }

  /** Waits until the tasks under way have ended or, after `interrupt`, are requeued. */
  async close(): Promise<void> {
    this.drain();
    await this.#claimer.closed();
    await Promise.all(this.#running);
  }

  /** Works on a task that this node has claimed from the store. */
  #adopt(task: Task, isOrphan: boolean): void {
    const open = this.#open.get(task.id);
    if (open) {
      // It waits here for a slot, which it gets under this claim.
      open.task = task;
      return;
    }
    const { afterCrash } = this.#services.config().routing;
    if (mayHaveBeenCharged(task)) this.#services.observer.callInterrupted(task, afterCrash);
    this.#begin(task, failureAtStart(task, isOrphan, afterCrash));
  }

  #begin(task: Task, failure: Failure | null = null): void {
    const open = this.#open.add(task, this.#services.store.now);
    if (failure) open.controller.abort(failure);
    // Claimed while the daemon began to drain.
    this.#open.stopIfPossible(open);
    const running = this.#run(open).finally(() => {
      this.#running.delete(running);
      this.#open.remove(open);
      this.#claimer.slotFreed();
    });
    this.#running.add(running);
  }

  async #run(open: OpenTask): Promise<void> {
    const { store } = this.#services;
    const { signal } = open;
    const slot = this.#slots.queues.slot(open.task.accountId, signal);
    try {
      if (signal.aborted) throw signal.reason;
      const candidates = await this.#slots.wait(open.task, slot, signal);
      if (!(await this.#claim(open))) return;
      this.#services.observer.changed?.(open.task);
      if (signal.aborted) throw signal.reason;
      open.isExecuting = true;
      const completion = await this.#executor.execute({
        task: open.task,
        signal,
        deadline: open.deadline,
        candidates,
        slot,
        get checkpoint() {
          return checkpointOf(open.task);
        },
        saveCheckpoint: async (checkpoint) => {
          if (checkpoint.billableCall === 'asked') {
            return this.#saveBeforeBillableCall(open, checkpoint);
          }
          const progress = storedCheckpoint(checkpoint);
          open.task = await this.#retryStore(open, () => store.saveProgress(open.task, progress));
          this.#open.stopIfPossible(open);
        },
        onStall: (failure, paid) => this.#onStall(open, failure, paid),
      });
      await this.#end(open, () => store.completeTask(open.task, completion));
    } catch (error) {
      await this.#stop(open, signal.aborted ? signal.reason : error);
    } finally {
      slot.release();
    }
  }

  /** Claims a task that has waited here. @returns false where another node was faster */
  async #claim(open: OpenTask): Promise<boolean> {
    const isClaimed = () => open.task.status === 'processing';
    if (isClaimed()) return true;
    const { id } = open.task;
    const claimed = await this.#retryStore(open, () => this.#services.store.claimTask(id), false);
    if (claimed) open.task = claimed;
    // The claimer may have got it meanwhile.
    return isClaimed();
  }

  /** Requeues, expires or fails a task that did not complete. */
  async #stop(open: OpenTask, error: unknown): Promise<void> {
    const { store, observer } = this.#services;
    if (error instanceof ClaimLost) this.#lose(open);
    else if (error instanceof TaskInterrupted) {
      if (open.task.status === 'processing') {
        // Where that fails, another process claims it once this node is no longer alive.
        await this.#retryStore(open, () => store.requeueTask(open.task)).catch(() => {});
      }
      store.publish({ kind: 'pending' });
      this.#claimer.taskLeft();
    } else if (error instanceof TaskExpired && open.stall) {
      // A storage failure of this server used up the time.
      const { failure } = open.stall;
      await this.#end(open, () => store.failTask(open.task, taskErrorOf(failure)));
    } else if (error instanceof TaskExpired) {
      await this.#end(open, () => store.expireTask(open.task));
    } else {
      if (!(error instanceof Failure)) observer.fault(error, open.task);
      await this.#end(open, () => store.failTask(open.task, taskErrorOf(error)));
    }
  }

  async #end(open: OpenTask, end: () => Promise<Task>): Promise<void> {
    const { store, observer } = this.#services;
    let ended: Task;
    try {
      ended = await this.#retryStore(open, end);
    } catch (error) {
      if (error instanceof ClaimLost) this.#lose(open);
      // The task stays open on disk, and the next process finds it.
      else if (isStorageFailure(error)) observer.stalled(error, open.task);
      else {
        observer.fault(error, open.task);
        // It is claimed and started again.
        if (open.task.status === 'processing') await store.requeueTask(open.task).catch(() => {});
      }
      return;
    }
    observer.ended(ended);
  }

  /** Ends the work on a task that another node has. A task that only waited here needs no word. */
  #lose({ task }: OpenTask): void {
    if (task.status === 'processing') this.#services.observer.claimLost(task);
  }

  /** Saves the checkpoint before a billable call. @throws the signal's reason where the call must not be made */
  async #saveBeforeBillableCall(open: OpenTask, checkpoint: CallCheckpoint): Promise<void> {
    const { store } = this.#services;
    const { controller, signal, task } = open;
    if (this.draining) controller.abort(new TaskInterrupted());
    if (signal.aborted) throw signal.reason;
    const progress = storedCheckpoint(checkpoint);
    open.task = await this.#retryStore(open, () => store.saveProgress(task, progress), false);
    if (!signal.aborted) return;
    // The call is not made after all.
    open.task = await this.#retryStore(open, () => store.saveProgress(task, task.progress));
    throw signal.reason;
  }

  /**
   * Retries a store operation while the store fails.
   *
   * @param paid whether output would be lost with it: then it is retried until the grace is over
   * @throws ClaimLost where another node has the task
   */
  async #retryStore<Value>(
    open: OpenTask,
    operation: () => Promise<Value>,
    paid = true,
  ): Promise<Value> {
    try {
      return await retryStorage(operation, paid ? this.#open.graceOver : open.signal, (failure) =>
        this.#onStall(open, failure, paid),
      );
    } catch (error) {
      if (!isClaimLost(error)) throw error;
      // Aborted, so that no other route is tried.
      const lost = new ClaimLost();
      open.controller.abort(lost);
      throw lost;
    }
  }

  #onStall(open: OpenTask, failure: Failure | null, paid: boolean): void {
    open.stall = failure && { failure, paid };
    if (failure) this.#services.observer.stalled(failure, open.task);
    this.#open.stopIfPossible(open);
  }
}
