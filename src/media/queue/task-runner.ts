import { setMaxListeners } from 'node:events';
import type { Config, Model } from '../../config/schema.ts';
import type { ErrorCode } from '../../error-codes.ts';
import { Failure } from '../../failure.ts';
import { sleep } from '../../routing/backoff.ts';
import { type RouteCandidate, routeCandidates } from '../../routing/route-candidates.ts';
import type { Routing } from '../../routing/routing.ts';
import type { Nodes } from '../../store/nodes.ts';
import type { ClaimQuery, Completion, Store } from '../../store/store.ts';
import { TASK_TYPES, type Task, type TaskError } from '../../store/task.ts';
import { isStorageFailure, retryStorage } from '../files/retry-storage.ts';
import { fieldWithoutRoute } from '../image-options.ts';
import type { TaskRequest } from '../task-request.ts';
import { ClaimLost, isClaimLost, TaskExpired, TaskInterrupted } from './abort-reasons.ts';
import {
  type CallCheckpoint,
  checkpointOf,
  isResumableAt,
  mayHaveBeenCharged,
  storedCheckpoint,
} from './call-checkpoint.ts';
import { OpenTask } from './open-task.ts';
import { ProviderQueues, type QueueStatistics, type Slot } from './provider-queues.ts';
import { MAX_CLAIMED, TaskClaimer } from './task-claimer.ts';

export type MediaRoute = Model['routes'][number];
export type MediaRouteCandidate = RouteCandidate<MediaRoute>;

/** Does the work of one task. */
export interface TaskExecutor {
  /**
   * @param execution its slot is at the provider of a candidate
   * @throws Failure that ends the task; the reason of the execution's signal once that is aborted
   */
  execute(execution: TaskExecution): Promise<Completion>;
}

export interface TaskExecution {
  readonly task: Task;
  readonly signal: AbortSignal;
  /** Time of `performance.now()`. */
  readonly deadline: number;
  readonly candidates: readonly MediaRouteCandidate[];
  readonly slot: Slot;
  /** The last saved checkpoint, by this process or an earlier one. */
  readonly checkpoint: CallCheckpoint | null;
  /** Resolves once the checkpoint is on disk. */
  saveCheckpoint(checkpoint: CallCheckpoint): Promise<void>;
  /**
   * Reports that a storage failure delays the task; null once it no longer does.
   *
   * @param paid whether there is output already, which must not be lost
   */
  onStall(failure: Failure | null, paid: boolean): void;
}

export interface TaskObserver {
  ended(task: Task): void;
  /** Called for a task in a new state that is not its last. */
  changed?(task: Task): void;
  /** Called with an error that is no Failure: a defect of Oriel. */
  fault(error: unknown, task: Task): void;
  /** Called when a storage failure delays a task; the failed operation is retried. */
  stalled(failure: Failure, task: Task): void;
  /** Called for a task that another node has taken over while this one worked on it. */
  claimLost(task: Task): void;
  /** Called for a task of which a provider may have charged a call that a crash interrupted. */
  callInterrupted(task: Task, afterCrash: 'retry' | 'fail'): void;
}

interface TaskRunnerOptions {
  readonly config: () => Config;
  readonly store: Store;
  readonly nodes?: Nodes;
  readonly routing: Routing;
  readonly executor: TaskExecutor;
  readonly observer: TaskObserver;
}

/** Times that a task is started, where the process died each time before the task ended. */
const MAX_STARTS = 10;

/**
 * Runs every open task to its end. Tasks wait for a slot at their provider, fairly between accounts.
 * Whatever happens to a task, the last operation here ends or requeues it in the store, unless another node
 * has taken it over.
 */
export class TaskRunner {
  readonly #options: TaskRunnerOptions;
  readonly #queues: ProviderQueues;
  readonly #open = new Map<string, OpenTask>();
  readonly #running = new Set<Promise<void>>();
  readonly #draining = new AbortController();
  /** Aborted when the grace of a shutdown is over. */
  readonly #graceOver = new AbortController();
  readonly #claimer: TaskClaimer;

  constructor(options: TaskRunnerOptions) {
    this.#options = options;
    this.#claimer = new TaskClaimer({
      ...options,
      room: () => this.#room(),
      waiting: () => this.#waiting(),
      claimed: (task, isOrphan) => this.#adopt(task, isOrphan),
      ended: (task) => options.observer.ended(task),
      leaseLost: () => this.#abortClaims(),
    });
    this.#queues = new ProviderQueues(options.config, options.nodes);
    // Every waiting client and every retry of a store operation listens.
    setMaxListeners(0, this.#draining.signal, this.#graceOver.signal);
  }

  /** Number of tasks that have not ended. */
  get size(): number {
    return this.#open.size;
  }

  /** The queues of providers. */
  queues(): Iterable<QueueStatistics> {
    return this.#queues.statistics();
  }

  get draining(): boolean {
    return this.#draining.signal.aborted;
  }

  /** Claims open tasks of other processes and nodes, now and whenever there is a free slot for them. */
  start(): Promise<void> {
    return this.#claimer.start();
  }

  /** Starts a pending task, unless this process works on it already. */
  add(task: Task): void {
    if (this.#open.has(task.id) || this.draining) return;
    this.#begin(task);
  }

  /** Works on a task that this node has claimed from the store. */
  async #adopt(task: Task, isOrphan: boolean): Promise<void> {
    const { store, config, observer } = this.#options;
    if (this.draining) {
      await store.requeueTask(task);
      return;
    }
    const open = this.#open.get(task.id);
    if (open) {
      // It waits here for a slot, which it gets under this claim.
      open.task = task;
      return;
    }
    if (mayHaveBeenCharged(task)) {
      const { afterCrash } = config().routing;
      observer.callInterrupted(task, afterCrash);
      if (afterCrash === 'fail') return this.#notifyEnded(store.failTask(task, INTERRUPTED_CALL));
    }
    if (isOrphan && task.attempts > MAX_STARTS)
      return this.#notifyEnded(store.failTask(task, ABANDONED));
    this.#begin(task);
  }

  #begin(task: Task): void {
    const open = new OpenTask(task, Date.now());
    this.#open.set(task.id, open);
    const running = this.#run(open).finally(() => {
      this.#running.delete(running);
      this.#open.delete(task.id);
      open.done();
      this.#claimer.slotFreed();
    });
    this.#running.add(running);
  }

  /** What this node could start now. Tasks of models that are no longer offered fail at once. */
  #room(): Required<ClaimQuery> {
    const busy: string[] = [];
    let limit = MAX_CLAIMED;
    const { models } = this.#options.config();
    for (const [name, model] of Object.entries(models)) {
      if (!(TASK_TYPES as readonly string[]).includes(model.type)) continue;
      const ready = routeCandidates(model).filter(
        (candidate) => this.#options.routing.remainingCooldown(candidate) === 0,
      );
      const free = Math.max(0, ...ready.map(({ route }) => this.#queues.free(route.provider)));
      if (free === 0) busy.push(name);
      else limit = Math.min(limit, free);
    }
    return { limit, exceptModels: busy };
  }

  #waiting(): number {
    let count = 0;
    for (const { task } of this.#open.values()) if (task.status === 'pending') count += 1;
    return count;
  }

  /** Stops work on the tasks that other nodes take over. */
  #abortClaims(): void {
    const reason = new ClaimLost();
    for (const { task, controller } of this.#open.values()) {
      if (task.status === 'processing') controller.abort(reason);
    }
  }

  /** Applies a reloaded configuration to tasks that have not started. */
  reconfigured(): void {
    this.#queues.reconfigured();
  }

  /** Waits until the task ends, the time is over, the client disconnects or the daemon drains. */
  async waitFor(task: Task, milliseconds: number, clientSignal: AbortSignal): Promise<Task> {
    const open = this.#open.get(task.id);
    if (open && milliseconds > 0 && !clientSignal.aborted && !this.draining) {
      await new Promise<void>((resolve) => {
        const finish = () => {
          clearTimeout(timer);
          unsubscribe();
          clientSignal.removeEventListener('abort', finish);
          this.#draining.signal.removeEventListener('abort', finish);
          resolve();
        };
        const timer = setTimeout(finish, milliseconds);
        const unsubscribe = open.onDone(finish);
        clientSignal.addEventListener('abort', finish);
        this.#draining.signal.addEventListener('abort', finish);
      });
    }
    return (await this.#options.store.findTask(task.accountId, task.id)) ?? task;
  }

  /**
   * Starts no more tasks, and requeues those that lose nothing by it: tasks that wait, and tasks whose
   * remote job the next process can resume. Calls under way may still end and store their output.
   */
  drain(): void {
    this.#claimer.close();
    this.#draining.abort();
    for (const open of this.#open.values()) this.#stopIfPossible(open);
  }

  /** Requeues all open tasks. */
  interrupt(): void {
    this.drain();
    const reason = new TaskInterrupted();
    for (const { controller } of this.#open.values()) controller.abort(reason);
    this.#graceOver.abort(reason);
  }

  /** Waits until the tasks under way have ended or, after `interrupt`, are requeued. */
  async close(): Promise<void> {
    this.drain();
    await this.#claimer.closed();
    await Promise.all(this.#running);
  }

  async #run(open: OpenTask): Promise<void> {
    const { store, executor } = this.#options;
    const { signal } = open;
    const { id, accountId } = open.task;
    const slot = this.#queues.slot(accountId, signal);
    try {
      if (signal.aborted) throw signal.reason;
      const candidates = await this.#waitForSlot(open, slot);
      const claimed =
        open.task.status === 'processing'
          ? open.task
          : await this.#retryStore(open, () => store.claimTask(id), false);
      // Another node was faster.
      if (!claimed) return;
      open.task = claimed;
      this.#options.observer.changed?.(claimed);
      if (signal.aborted) throw signal.reason;
      open.isExecuting = true;
      const completion = await executor.execute({
        task: claimed,
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
          this.#stopIfPossible(open);
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

  /** Requeues, expires or fails a task that did not complete. */
  async #stop(open: OpenTask, error: unknown): Promise<void> {
    const { store, observer } = this.#options;
    const { task } = open;
    if (isClaimLost(error)) observer.claimLost(task);
    else if (error instanceof TaskInterrupted) {
      if (task.status !== 'processing') return;
      // Where that fails, the next process or another node claims it when this node's lease is over.
      await this.#retryStore(open, () => store.requeueTask(task)).catch(() => {});
    } else if (error instanceof TaskExpired && open.stall) {
      // A storage failure of this server used up the time.
      const { failure } = open.stall;
      await this.#end(open, () => store.failTask(task, errorOf(failure)));
    } else if (error instanceof TaskExpired) {
      await this.#end(open, () => store.expireTask(task));
    } else {
      if (!(error instanceof Failure)) observer.fault(error, task);
      await this.#end(open, () => store.failTask(task, errorOf(error)));
    }
  }

  async #end(open: OpenTask, end: () => Promise<Task>): Promise<void> {
    try {
      await this.#notifyEnded(this.#retryStore(open, end));
    } catch (error) {
      // The task stays open on disk, and the next recovery, or the next process, finds it.
      const { task } = open;
      const { observer } = this.#options;
      if (isClaimLost(error)) observer.claimLost(task);
      else if (isStorageFailure(error)) observer.stalled(error, task);
      else {
        observer.fault(error, task);
        // It is started again, and fails at last as one that was started too often.
        await this.#options.store.requeueTask(task).catch(() => {});
      }
    }
  }

  async #notifyEnded(ending: Promise<Task>): Promise<void> {
    this.#options.observer.ended(await ending);
  }

  /** Saves the checkpoint before a billable call. @throws the signal's reason where the call must not be made */
  async #saveBeforeBillableCall(open: OpenTask, checkpoint: CallCheckpoint): Promise<void> {
    const { store } = this.#options;
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
   */
  #retryStore<Value>(open: OpenTask, operation: () => Promise<Value>, paid = true): Promise<Value> {
    return retryStorage(operation, paid ? this.#graceOver.signal : open.signal, (failure) =>
      this.#onStall(open, failure, paid),
    );
  }

  #onStall(open: OpenTask, failure: Failure | null, paid: boolean): void {
    open.stall = failure && { failure, paid };
    if (failure) this.#options.observer.stalled(failure, open.task);
    this.#stopIfPossible(open);
  }

  /** While the daemon drains, interrupts a task that the next process can resume as well. */
  #stopIfPossible(open: OpenTask): void {
    if (this.draining && open.canStop) open.controller.abort(new TaskInterrupted());
  }

  /**
   * Waits until a route's circuit is closed and its provider has a free slot. Meanwhile circuits may
   * open and the configuration may be reloaded, so both are checked again after each wait.
   */
  async #waitForSlot(
    { task, signal }: OpenTask,
    slot: Slot,
  ): Promise<readonly MediaRouteCandidate[]> {
    const { routing } = this.#options;
    for (;;) {
      const candidates = this.#candidatesOf(task);
      const [first] = candidates;
      // Another route would have to be paid for work that this one can resume.
      const usable = isResumableAt(task, first!.name) ? [first!] : candidates;
      const cooldowns = usable.map((candidate) => routing.remainingCooldown(candidate));
      const ready = usable[cooldowns.indexOf(0)];
      if (ready === undefined) {
        slot.release();
        await sleep(Math.min(...cooldowns), signal);
      } else if (slot.isAt(ready.route.provider)) return candidates;
      else await slot.moveTo(ready.route.provider);
    }
  }

  /** The routes of a task's model; a route that can resume the task comes first. */
  #candidatesOf(task: Task): readonly MediaRouteCandidate[] {
    const { models, providers } = this.#options.config();
    const model = Object.hasOwn(models, task.model) ? models[task.model] : undefined;
    if (model?.type !== task.type) {
      throw new Failure('service_error', `the model ${task.model} is no longer offered`, {
        code: 'model_not_found',
      });
    }
    const candidates = routeCandidates(model).filter(
      ({ route }) => fieldWithoutRoute(task.request as TaskRequest, route, providers) === null,
    );
    if (candidates.length === 0) {
      throw new Failure(
        'service_error',
        `no upstream of the model ${task.model} has every field of the request any more`,
        { code: 'model_not_found' },
      );
    }
    const resumable = candidates.findIndex(({ name }) => isResumableAt(task, name));
    return resumable > 0
      ? [candidates[resumable]!, ...candidates.toSpliced(resumable, 1)]
      : candidates;
  }
}

const ABANDONED: TaskError = {
  type: 'service_error',
  message: `the server stopped ${MAX_STARTS} times while it worked on the task`,
  code: 'task_abandoned' satisfies ErrorCode,
};

const INTERRUPTED_CALL: TaskError = {
  type: 'billable_error',
  message: 'the server stopped while the provider was asked, which may have charged for it',
  code: 'interrupted_call' satisfies ErrorCode,
};

/** The error that a failed task shows. */
function errorOf(error: unknown): TaskError {
  if (error instanceof Failure) {
    const { type, message, code } = error;
    return { type, message, code };
  }
  const message = 'something went wrong inside the server; it was logged';
  return { type: 'unknown', message, code: 'internal_error' satisfies ErrorCode };
}
