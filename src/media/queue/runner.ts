import { setMaxListeners } from 'node:events';
import type { Config, Model } from '../../config/schema.ts';
import { Failure } from '../../failure.ts';
import { pause } from '../../routing/patience.ts';
import { type Routing, type Way, waysOf } from '../../routing/routing.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Completion, Store } from '../../store/store.ts';
import type { Task, TaskError } from '../../store/task.ts';
import type { Cancelled } from '../../upstream/cancellation.ts';
import { Expired, Interrupted } from './endings.ts';
import { Lanes, type Seat } from './lanes.ts';
import { OpenTask } from './open-task.ts';

export type MediaRoute = Model['routes'][number];
export type MediaWay = Way<MediaRoute>;

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
  readonly signal: Cancelled;
  /** On the clock of `performance`. */
  readonly deadline: number;
  readonly ways: readonly MediaWay[];
  readonly seat: Seat;
  /** What was noted for a way before a break. */
  noted(way: MediaWay): unknown;
  /** Resolves once it is on disk. */
  note(way: MediaWay, progress: unknown): Promise<void>;
}

export interface RunnerObserver {
  ended(task: Task): void;
  /** Something went wrong that nobody foresaw. */
  fault(error: unknown, task: Task): void;
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

/** Milliseconds to wait for a disk that takes nothing: at first, and at most. */
const PATIENCE = { first: 500, longest: 30_000 } as const;

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
    await this.#recover();
    const look = () => {
      this.#look = setTimeout(() => {
        this.#recover()
          // The disk takes nothing: there will be another look.
          .catch(() => {})
          .finally(look);
      }, LOOK);
      this.#look.unref();
    };
    look();
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
   * be asked for again. What is at work may still end.
   */
  drain(): void {
    clearTimeout(this.#look);
    this.#draining.abort();
    const reason = new Interrupted();
    for (const { task, resumable, signal } of this.#open.values()) {
      if (task.status === 'pending' || resumable) signal.abort(reason);
    }
  }

  /** Gives everything back. */
  cut(): void {
    this.drain();
    const reason = new Interrupted();
    for (const { signal } of this.#open.values()) signal.abort(reason);
  }

  /** Waits for what is at work to end or, once it is cut, to be given back. */
  async close(): Promise<void> {
    this.drain();
    await Promise.all(this.#processes);
  }

  async #recover(): Promise<void> {
    const { store } = this.#options;
    const tasks = await store.openTasks();
    await Promise.all(
      tasks.map(async (task) => {
        if (this.#open.has(task.id)) return;
        if (task.status === 'pending') return this.add(task);
        if (task.attempts >= MOST_ATTEMPTS) await this.#tell(store.failTask(task.id, ABANDONED));
        else this.add(await store.reopenTask(task.id));
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
      const ways = await this.#placed(open, seat);
      const claimed = await this.#persist(() => store.claimTask(id));
      if (!claimed) return;
      open.task = claimed;
      open.resumable = claimed.progress !== null;
      if (signal.aborted) throw signal.reason;
      const completion = await worker.perform({
        task: claimed,
        signal,
        deadline: open.deadline,
        ways,
        seat,
        noted: (way) => notedFor(way, open.task),
        note: async (way, progress) => {
          const noted = { way: way.name, progress };
          open.task = await this.#persist(() => store.noteTask(id, noted));
          open.resumable = progress !== null;
          if (this.draining) signal.abort(new Interrupted());
        },
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
      await this.#persist(() => store.reopenTask(task.id)).catch(() => {});
    } else if (error instanceof Expired) {
      await this.#end(open, () => store.expireTask(task.id));
    } else {
      if (!(error instanceof Failure)) observer.fault(error, task);
      await this.#end(open, () => store.failTask(task.id, errorOf(error)));
    }
  }

  async #end(open: OpenTask, end: () => Promise<Task>): Promise<void> {
    try {
      await this.#tell(this.#persist(end));
    } catch (error) {
      // It stays open on disk, and the next look, or the next process, finds it there.
      this.#options.observer.fault(error, open.task);
    }
  }

  async #tell(ending: Promise<Task>): Promise<void> {
    this.#options.observer.ended(await ending);
  }

  /** Does something to the store, again and again while its disk takes nothing. */
  async #persist<Value>(verb: () => Promise<Value>): Promise<Value> {
    for (let wait: number = PATIENCE.first; ; wait = Math.min(2 * wait, PATIENCE.longest)) {
      try {
        return await verb();
      } catch (error) {
        const full = error instanceof Failure && error.code === 'store_unavailable';
        if (!full || this.draining) throw error;
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  /**
   * Waits until a route may be asked, and for a place at its provider. While it waits, the routes may
   * come to rest, and the configuration be loaded anew.
   */
  async #placed({ task, signal }: OpenTask, seat: Seat): Promise<readonly MediaWay[]> {
    const { routing } = this.#options;
    for (;;) {
      const ways = this.#waysOf(task);
      const [first] = ways;
      // What a route has begun would be paid for twice at another.
      const asked = notedFor(first!, task) === null ? ways : [first!];
      const well = asked.find((way) => routing.restOf(way) === 0);
      if (well === undefined) {
        seat.leave();
        await pause(Math.min(...asked.map((way) => routing.restOf(way))), signal);
      } else if (seat.isAt(well.route.provider)) return ways;
      else await seat.move(well.route.provider);
    }
  }

  /** The routes of a task's model, the one that has its work already first. */
  #waysOf(task: Task): readonly MediaWay[] {
    const { models } = this.#options.config();
    const model = Object.hasOwn(models, task.model) ? models[task.model] : undefined;
    if (model?.type !== task.type) {
      throw new Failure('service_error', `the model ${task.model} is no longer offered`, {
        code: 'model_not_found',
      });
    }
    const ways = waysOf(model);
    const begun = ways.findIndex((way) => notedFor(way, task) !== null);
    return begun > 0 ? [ways[begun]!, ...ways.toSpliced(begun, 1)] : ways;
  }

  #forget(open: OpenTask): void {
    this.#open.delete(open.task.id);
    open.done();
  }
}

const ABANDONED: TaskError = {
  type: 'service_error',
  message: `the server stopped ${MOST_ATTEMPTS} times while it worked on the task`,
  code: 'task_abandoned',
};

function notedFor({ name }: MediaWay, { progress }: Task): unknown {
  return isObject(progress) && progress['way'] === name ? progress['progress'] : null;
}

/** What is told of a task that failed. */
function errorOf(error: unknown): TaskError {
  if (error instanceof Failure) {
    const { type, message, code } = error;
    return { type, message, code };
  }
  const message = 'something went wrong inside the server; it was logged';
  return { type: 'unknown', message, code: 'internal_error' };
}
