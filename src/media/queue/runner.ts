import { setMaxListeners } from 'node:events';
import type { Config, Model } from '../../config/schema.ts';
import type { ErrorCode } from '../../error-codes.ts';
import { Failure } from '../../failure.ts';
import { sleep } from '../../routing/backoff.ts';
import { type RouteCandidate, type Routing, routeCandidates } from '../../routing/routing.ts';
import type { Completion, Store } from '../../store/store.ts';
import type { Task, TaskError } from '../../store/task.ts';
import { type AbortSignalLike, LightAbortSignal } from '../../upstream/abort-signal.ts';
import { isStorageFailure, retryStorage } from '../files/retry-storage.ts';
import { type CallNote, isBegun, isInDoubt, noteOf } from './call-note.ts';
import { Expired, Interrupted } from './endings.ts';
import { Lanes, type Seat } from './lanes.ts';
import { OpenTask } from './open-task.ts';

export type MediaRoute = Model['routes'][number];
export type MediaRouteCandidate = RouteCandidate<MediaRoute>;

/** Does the work of one task. */
export interface Worker {
  /**
   * @param seat is at the provider of the first way
   * @throws Failure that ends the task; the reason of the task's signal once that is aborted
   */
  perform(job: WorkerJob): Promise<Completion>;
}

export interface WorkerJob {
  readonly task: Task;
  readonly signal: AbortSignalLike;
  /** On the clock of `performance`. */
  readonly deadline: number;
  readonly candidates: readonly MediaRouteCandidate[];
  readonly seat: Seat;
  /** What was noted last, by this process or by the one before. */
  readonly noted: CallNote | null;
  /** Resolves once it is on disk. */
  note(note: CallNote): Promise<void>;
  /**
   * Our own disk holds the work up; null where it no longer does.
   *
   * @param paid whether there are results already, which must not be lost
   */
  stalled(failure: Failure | null, paid: boolean): void;
}

export interface RunnerObserver {
  ended(task: Task): void;
  /** Something went wrong that nobody foresaw. */
  fault(error: unknown, task: Task): void;
  /** Our own disk holds a task up; what failed is tried again. */
  stalled(failure: Failure, task: Task): void;
  /** The server stopped while a provider was asked for a task, which may have been charged. */
  doubtful(task: Task, afterCrash: 'retry' | 'fail'): void;
}

interface RunnerOptions {
  readonly config: () => Config;
  readonly store: Store;
  readonly routing: Routing;
  readonly worker: Worker;
  readonly observer: RunnerObserver;
}

/** How often a task may be taken up, where each time the process died before it ended. */
const MOST_ATTEMPTS = 10;

/** Milliseconds between two looks for tasks that nobody answers for. */
const LOOK = 30_000;

/**
 * Sees to it that every task ends. Tasks wait for a place at their provider, fairly between accounts;
 * whatever happens, one of the verbs that end a task, or that gives it back, is the last thing that is
 * done for it here.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #lanes: Lanes;
  readonly #open = new Map<string, OpenTask>();
  readonly #processes = new Set<Promise<void>>();
  readonly #draining = new AbortController();
  /** Aborted when the grace is over. */
  readonly #cut = new LightAbortSignal();
  #look: NodeJS.Timeout | undefined;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#lanes = new Lanes(options.config);
    // Everybody who waits for a task listens: any number of them is no leak.
    setMaxListeners(0, this.#draining.signal);
  }

  /** Tasks that have not ended. */
  get size(): number {
    return this.#open.size;
  }

  get draining(): boolean {
    return this.#draining.signal.aborted;
  }

  /** Takes up all that an earlier process left open, and from then on whatever was missed. */
  async start(): Promise<void> {
    const look = () => {
      if (this.draining) return;
      this.#look = setTimeout(() => {
        this.#recover()
          // The disk takes nothing: there will be another look.
          .catch(() => {})
          .finally(look);
      }, LOOK);
      this.#look.unref();
    };
    await this.#recover().finally(look);
  }

  /** Takes a pending task up. One that is taken up already stays as it is. */
  add(task: Task): void {
    if (this.#open.has(task.id) || this.draining) return;
    const open = new OpenTask(task, Date.now());
    this.#open.set(task.id, open);
    const process = this.#process(open).finally(() => {
      this.#processes.delete(process);
      this.#forget(open);
    });
    this.#processes.add(process);
  }

  /** Another configuration is in force: tasks that have not begun go by it. */
  reconfigured(): void {
    this.#lanes.reconfigured();
  }

  /** Waits for a task's end, for its time, for whoever waits to leave, or for the daemon to end. */
  async waitFor(task: Task, milliseconds: number, left: AbortSignal): Promise<Task> {
    const open = this.#open.get(task.id);
    if (open && milliseconds > 0 && !left.aborted && !this.draining) {
      await new Promise<void>((resolve) => {
        const go = () => {
          clearTimeout(timer);
          withdraw();
          left.removeEventListener('abort', go);
          this.#draining.signal.removeEventListener('abort', go);
          resolve();
        };
        const timer = setTimeout(go, milliseconds);
        const withdraw = open.onDone(go);
        left.addEventListener('abort', go);
        this.#draining.signal.addEventListener('abort', go);
      });
    }
    return (await this.#options.store.findTask(task.accountId, task.id)) ?? task;
  }

  /**
   * Takes nothing new up and gives back what loses nothing by it: what waits, and what a provider can
   * be asked for again. What is at work may still end, and be kept.
   */
  drain(): void {
    clearTimeout(this.#look);
    this.#draining.abort();
    for (const open of this.#open.values()) this.#stopIfFree(open);
  }

  /** Gives everything back. */
  cut(): void {
    this.drain();
    const reason = new Interrupted();
    for (const { signal } of this.#open.values()) signal.abort(reason);
    this.#cut.abort(reason);
  }

  /** Waits for what is at work to end or, once it is cut, to be given back. */
  async close(): Promise<void> {
    this.drain();
    await Promise.all(this.#processes);
  }

  async #recover(): Promise<void> {
    const { store } = this.#options;
    const tasks = await store.listOpenTasks();
    await Promise.all(
      tasks.map(async (task) => {
        if (this.#open.has(task.id)) return;
        if (isInDoubt(task)) {
          const { afterCrash } = this.#options.config().routing;
          this.#options.observer.doubtful(task, afterCrash);
          if (afterCrash === 'fail') return this.#tell(store.failTask(task.id, IN_DOUBT));
        }
        if (task.status === 'pending') return this.add(task);
        if (task.attempts >= MOST_ATTEMPTS) await this.#tell(store.failTask(task.id, ABANDONED));
        else this.add(await store.requeueTask(task.id));
      }),
    );
  }

  async #process(open: OpenTask): Promise<void> {
    const { store, worker } = this.#options;
    const { signal } = open;
    const { id, accountId } = open.task;
    const seat = this.#lanes.seat(accountId, signal);
    try {
      if (signal.aborted) throw signal.reason;
      const candidates = await this.#placed(open, seat);
      const claimed = await this.#persist(open, () => store.claimTask(id), false);
      if (!claimed) return;
      open.task = claimed;
      if (signal.aborted) throw signal.reason;
      const completion = await worker.perform({
        task: claimed,
        signal,
        deadline: open.deadline,
        candidates,
        seat,
        get noted() {
          return noteOf(open.task);
        },
        note: async (note) => {
          if (note.call === 'asked') return this.#intend(open, note);
          open.task = await this.#persist(open, () => store.saveProgress(id, note));
          this.#stopIfFree(open);
        },
        stalled: (failure, paid) => this.#stalled(open, failure, paid),
      });
      await this.#end(open, () => store.completeTask(id, completion));
    } catch (error) {
      await this.#stop(open, signal.aborted ? signal.reason : error);
    } finally {
      seat.leave();
    }
  }

  /** What a task that did not complete comes to. */
  async #stop(open: OpenTask, error: unknown): Promise<void> {
    const { store, observer } = this.#options;
    const { task } = open;
    if (error instanceof Interrupted) {
      if (task.status !== 'processing') return;
      // Where that fails, the next process does it.
      await this.#persist(open, () => store.requeueTask(task.id)).catch(() => {});
    } else if (error instanceof Expired && open.stalled) {
      // What it waited for was our own disk.
      const { failure } = open.stalled;
      await this.#end(open, () => store.failTask(task.id, errorOf(failure)));
    } else if (error instanceof Expired) {
      await this.#end(open, () => store.expireTask(task.id));
    } else {
      if (!(error instanceof Failure)) observer.fault(error, task);
      await this.#end(open, () => store.failTask(task.id, errorOf(error)));
    }
  }

  async #end(open: OpenTask, end: () => Promise<Task>): Promise<void> {
    try {
      await this.#tell(this.#persist(open, end));
    } catch (error) {
      // It stays open on disk, and the next look, or the next process, finds it there.
      if (isStorageFailure(error)) this.#options.observer.stalled(error, open.task);
      else this.#options.observer.fault(error, open.task);
    }
  }

  async #tell(ending: Promise<Task>): Promise<void> {
    this.#options.observer.ended(await ending);
  }

  /** Notes that a provider is about to be asked. @throws where that is not to be done any more */
  async #intend(open: OpenTask, note: CallNote): Promise<void> {
    const { store } = this.#options;
    const { signal, task } = open;
    if (this.draining) signal.abort(new Interrupted());
    if (signal.aborted) throw signal.reason;
    open.task = await this.#persist(open, () => store.saveProgress(task.id, note), false);
    if (!signal.aborted) return;
    // It was not asked after all.
    open.task = await this.#persist(open, () => store.saveProgress(task.id, task.progress));
    throw signal.reason;
  }

  /**
   * Does something to the store, again and again while its disk takes nothing.
   *
   * @param paid whether results would be lost with it: then it is tried until the grace is over
   */
  #persist<Value>(open: OpenTask, verb: () => Promise<Value>, paid = true): Promise<Value> {
    return retryStorage(verb, paid ? this.#cut : open.signal, (failure) =>
      this.#stalled(open, failure, paid),
    );
  }

  #stalled(open: OpenTask, failure: Failure | null, paid: boolean): void {
    open.stalled = failure && { failure, paid };
    if (failure) this.#options.observer.stalled(failure, open.task);
    this.#stopIfFree(open);
  }

  /** Once the daemon drains, nothing waits that the next process can do as well. */
  #stopIfFree(open: OpenTask): void {
    if (this.draining && open.isFreeToStop) open.signal.abort(new Interrupted());
  }

  /**
   * Waits until a route may be asked, and for a place at its provider. While it waits, the routes may
   * come to rest, and the configuration be loaded anew.
   */
  async #placed({ task, signal }: OpenTask, seat: Seat): Promise<readonly MediaRouteCandidate[]> {
    const { routing } = this.#options;
    for (;;) {
      const candidates = this.#candidatesOf(task);
      const [first] = candidates;
      // What a route has begun would be paid for twice at another.
      const asked = isBegun(task, first!.name) ? [first!] : candidates;
      const well = asked.find((candidate) => routing.remainingCooldown(candidate) === 0);
      if (well === undefined) {
        seat.leave();
        await sleep(
          Math.min(...asked.map((candidate) => routing.remainingCooldown(candidate))),
          signal,
        );
      } else if (seat.isAt(well.route.provider)) return candidates;
      else await seat.move(well.route.provider);
    }
  }

  /** The routes of a task's model, the one that has its work already first. */
  #candidatesOf(task: Task): readonly MediaRouteCandidate[] {
    const { models } = this.#options.config();
    const model = Object.hasOwn(models, task.model) ? models[task.model] : undefined;
    if (model?.type !== task.type) {
      throw new Failure('service_error', `the model ${task.model} is no longer offered`, {
        code: 'model_not_found',
      });
    }
    const candidates = routeCandidates(model);
    const begun = candidates.findIndex(({ name }) => isBegun(task, name));
    return begun > 0 ? [candidates[begun]!, ...candidates.toSpliced(begun, 1)] : candidates;
  }

  #forget(open: OpenTask): void {
    this.#open.delete(open.task.id);
    open.done();
  }
}

const ABANDONED: TaskError = {
  type: 'service_error',
  message: `the server stopped ${MOST_ATTEMPTS} times while it worked on the task`,
  code: 'task_abandoned' satisfies ErrorCode,
};

const IN_DOUBT: TaskError = {
  type: 'billable_error',
  message: 'the server stopped while the provider was asked, which may have charged for it',
  code: 'interrupted_call' satisfies ErrorCode,
};

/** What is told of a task that failed. */
function errorOf(error: unknown): TaskError {
  if (error instanceof Failure) {
    const { type, message, code } = error;
    return { type, message, code };
  }
  const message = 'something went wrong inside the server; it was logged';
  return { type: 'unknown', message, code: 'internal_error' satisfies ErrorCode };
}
