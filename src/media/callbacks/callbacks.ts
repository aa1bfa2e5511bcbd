import type { Config } from '../../config/schema.ts';
import { Failure } from '../../failure.ts';
import { FairSemaphore } from '../../operations/fair-semaphore.ts';
import { previousSecretEnd } from '../../store/account.ts';
import type { Delivery, DeliveryAttempt, DeliveryOutcome } from '../../store/delivery.ts';
import type { Store } from '../../store/store.ts';
import type { Task } from '../../store/task.ts';
import { LightAbortSignal } from '../../upstream/abort-signal.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import { attempt, type Trial } from './attempt.ts';
import { waitAfter, waitUntil } from './backoff.ts';
import { bodyOf, headersOf } from './message.ts';

/** Tries under way at once. */
const AT_ONCE = 64;

/** Tries under way at once of one account to one receiver: it may be slow without others noticing. */
const PER_RECEIVER = 8;

/** Milliseconds until what the store did not do is asked of it again. */
const STORE_PAUSE = 5000;

interface CallbacksOptions {
  readonly store: Pick<
    Store,
    'listPendingDeliveries' | 'listDeliveries' | 'recordAttempt' | 'findTask' | 'findAccount'
  >;
  readonly upstream: Pick<UpstreamClient, 'open'>;
  readonly config: () => Pick<Config, 'network' | 'callbacks'>;
  /** A task as lookup shows it. Always the same for a task that ended. */
  readonly record: (task: Task) => object;
  /** A try was made and recorded: the delivery as it is then. */
  readonly onAttempt?: (delivery: Delivery, attempt: DeliveryAttempt) => void;
  /** Something went wrong that is no receiver's fault. What it was about is tried again. */
  readonly onFault: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Milliseconds until the next try, or null for none, after a number of them. */
  readonly backoff?: (tries: number) => number | null;
}

/**
 * Tells whoever asked for it that a task has ended. Deliveries are recorded with the end itself, so
 * that nothing is lost here: what the store still has open at a start is taken up again. A try that
 * the end of the process cuts short was none, and is made again with the same `webhook-id`.
 *
 * What is waited for is waited for by timers, which the clock does not concern.
 */
export class Callbacks {
  readonly #options: CallbacksOptions;
  readonly #now: () => number;
  readonly #backoff: (tries: number) => number | null;
  readonly #closing = new LightAbortSignal();
  readonly #places = new FairSemaphore(AT_ONCE);
  readonly #receivers = new Map<string, FairSemaphore>();
  /** Deliveries that are waited for or tried, by identifier: each of them once. */
  readonly #known = new Set<string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: CallbacksOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#backoff = options.backoff ?? ((tries) => waitAfter(tries, Math.random()));
  }

  /** Takes up what is open. @throws Failure of the store */
  async start(): Promise<void> {
    this.#takeUp(await this.#options.store.listPendingDeliveries());
  }

  /** A task has ended: delivers its callback, where it wants one. */
  added({ id, accountId, callbackUrl }: Pick<Task, 'id' | 'accountId' | 'callbackUrl'>): void {
    if (callbackUrl === null) return;
    this.#run(async () => {
      const list = () => this.#options.store.listDeliveries(accountId, id);
      this.#takeUp((await this.#persist(list)) ?? []);
    });
  }

  /** Lets go of what is under way; resolves when nothing more is going to be recorded. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the daemon ends'));
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(this.#underWay);
  }

  #takeUp(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      if (delivery.nextAt === null || this.#known.has(delivery.id)) continue;
      this.#known.add(delivery.id);
      this.#wait(delivery, waitUntil(delivery.nextAt, this.#now(), delivery.attempts.length));
    }
  }

  #wait(delivery: Delivery, milliseconds: number): void {
    this.#after(milliseconds, () => this.#run(() => this.#deliver(delivery)));
  }

  /** @param work called unless this is closed before */
  #after(milliseconds: number, work: () => void): void {
    if (this.#closing.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, milliseconds);
    this.#timers.add(timer);
  }

  #run(work: () => Promise<void>): void {
    const running = work()
      .catch((error: unknown) => {
        if (!this.#closing.aborted) this.#options.onFault(error);
      })
      .finally(() => this.#underWay.delete(running));
    this.#underWay.add(running);
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const leave = await this.#placeFor(delivery);
    try {
      if (this.#closing.aborted) return;
      await this.#try(delivery);
    } finally {
      leave();
    }
  }

  /** First of those at its receiver, then of all, so that who waits for a receiver keeps no place. */
  async #placeFor({ accountId, url }: Delivery): Promise<() => void> {
    const receiver = `${accountId} ${URL.canParse(url) ? new URL(url).origin : url}`;
    const own = this.#receivers.get(receiver) ?? new FairSemaphore(PER_RECEIVER);
    this.#receivers.set(receiver, own);
    const leaveOwn = await own.acquire(accountId);
    const leave = await this.#places.acquire(accountId);
    return () => {
      leave();
      leaveOwn();
      if (own.acquired === 0 && own.waiting === 0) this.#receivers.delete(receiver);
    };
  }

  async #try(delivery: Delivery): Promise<void> {
    const at = this.#now();
    const started = performance.now();
    const { verdict, status, error } = await this.#send(delivery).catch((fault) =>
      this.#unable(fault),
    );
    const milliseconds = Math.round(performance.now() - started);
    const made: DeliveryAttempt = { at, status, error, milliseconds };
    const wait = verdict === 'again' ? this.#backoff(delivery.attempts.length + 1) : null;
    const outcome: DeliveryOutcome =
      wait !== null
        ? { status: 'pending', nextAt: this.#now() + wait }
        : { status: verdict === 'delivered' ? 'delivered' : 'failed' };
    const recorded = await this.#persist(() => this.#record(delivery, made, outcome));
    if (recorded === null || wait === null) this.#known.delete(delivery.id);
    else this.#wait(recorded, wait);
    if (recorded !== null) this.#options.onAttempt?.(recorded, made);
  }

  /** A fault of ours, which must neither lose a callback nor try it without end. */
  #unable(fault: unknown): Trial {
    if (this.#closing.aborted) throw fault;
    this.#options.onFault(fault);
    return { status: null, error: 'it could not be sent', verdict: 'again' };
  }

  async #send(delivery: Delivery): Promise<Trial> {
    const { store, upstream, config, record } = this.#options;
    const { id, accountId, taskId, url } = delivery;
    const task = await this.#persist(() => store.findTask(accountId, taskId));
    const account = await this.#persist(() => store.findAccount(accountId));
    if (task === undefined || account === undefined) {
      const gone = task === undefined ? 'task' : 'account';
      return { status: null, error: `the ${gone} is gone`, verdict: 'never' };
    }
    const body = bodyOf(task, delivery, record(task));
    const network = networkPolicyOf(config().network);
    const now = this.#now();
    const end = previousSecretEnd(account, config().callbacks.secretOverlap, now);
    const previous = end === null ? [] : [account.previousSecret!.secret];
    const headers = headersOf(id, body, [account.callbackSecret, ...previous], now);
    const signal = this.#closing;
    return attempt(upstream, { url, headers, body }, { network, signal });
  }

  /** Null where there is nothing to record any more. */
  async #record(
    { id }: Delivery,
    made: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<Delivery | null> {
    try {
      return await this.#options.store.recordAttempt(id, made, outcome);
    } catch (error) {
      const ended = ['delivery_not_found', 'delivery_state'];
      if (error instanceof Failure && ended.includes(error.code ?? '')) return null;
      throw error;
    }
  }

  /**
   * Asks the store until it does what it is asked: what was delivered is not to be delivered again
   * because the disk was full.
   *
   * @throws what the store throws, where this is closed meanwhile
   */
  async #persist<Result>(ask: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (this.#closing.aborted) throw error;
        this.#options.onFault(error);
        await this.#pause(error);
      }
    }
  }

  #pause(error: unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => reject(error);
      this.#closing.addEventListener('abort', leave);
      this.#after(STORE_PAUSE, () => {
        this.#closing.removeEventListener('abort', leave);
        resolve();
      });
    });
  }
}
