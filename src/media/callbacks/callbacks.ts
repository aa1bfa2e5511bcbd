import { setMaxListeners } from 'node:events';
import type { Config } from '../../config/schema.ts';
import { Failure } from '../../failure.ts';
import { FairSemaphore } from '../../operations/fair-semaphore.ts';
import { previousSecretEnd } from '../../store/account.ts';
import type { Delivery, DeliveryAttempt, DeliveryOutcome } from '../../store/delivery.ts';
import type { Store } from '../../store/store.ts';
import type { Task } from '../../store/task.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import { type AttemptResult, attemptDelivery } from './attempt.ts';
import { remainingDelay, retryDelay } from './backoff.ts';
import { bodyOf, headersOf } from './message.ts';

/** Concurrent delivery attempts. */
const MAX_CONCURRENT = 64;

/** Concurrent attempts for one account and receiver, so that a slow receiver delays no others. */
const MAX_CONCURRENT_PER_RECEIVER = 8;

/** Delay before a failed store operation is retried. */
const STORE_RETRY_DELAY_MS = 5000;

interface CallbacksOptions {
  readonly store: Pick<
    Store,
    'listPendingDeliveries' | 'listDeliveries' | 'recordAttempt' | 'findTask' | 'findAccount'
  >;
  readonly upstream: Pick<UpstreamClient, 'open'>;
  readonly config: () => Pick<Config, 'network' | 'callbacks'>;
  /** A task as lookup shows it; always the same for an ended task. */
  readonly record: (task: Task) => object;
  /** Called after an attempt was recorded, with the delivery as it is then. */
  readonly onAttempt?: (delivery: Delivery, attempt: DeliveryAttempt) => void;
  /** Called with errors of this server, after which the operation is retried. */
  readonly onFault: (error: unknown) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Milliseconds until the next attempt after a number of them; null for none. */
  readonly backoff?: (attempts: number) => number | null;
}

/**
 * Delivers the callbacks of ended tasks. The store records a delivery in the transaction that ends the
 * task, and `start` resumes all open deliveries, so that a crash loses none. An attempt that a
 * shutdown aborts is not recorded, and is repeated with the same `webhook-id`.
 *
 * Delays run on timers, which changes of the wall clock do not affect.
 */
export class Callbacks {
  readonly #options: CallbacksOptions;
  readonly #now: () => number;
  readonly #backoff: (attempts: number) => number | null;
  readonly #closing = new AbortController();
  readonly #semaphore = new FairSemaphore(MAX_CONCURRENT);
  readonly #receivers = new Map<string, FairSemaphore>();
  /** Identifiers of deliveries that are scheduled or under way, so that none runs twice. */
  readonly #scheduled = new Set<string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: CallbacksOptions) {
    this.#options = options;
    // Every attempt under way listens.
    setMaxListeners(0, this.#closing.signal);
    this.#now = options.now ?? Date.now;
    this.#backoff = options.backoff ?? ((attempts) => retryDelay(attempts, Math.random()));
  }

  /** Resumes open deliveries of earlier processes. @throws Failure of the store */
  async start(): Promise<void> {
    this.#scheduleAll(await this.#options.store.listPendingDeliveries());
  }

  /** Delivers the callback of a task that has ended, if it has a callback URL. */
  added({ id, accountId, callbackUrl }: Pick<Task, 'id' | 'accountId' | 'callbackUrl'>): void {
    if (callbackUrl === null) return;
    this.#run(async () => {
      const list = () => this.#options.store.listDeliveries(accountId, id);
      this.#scheduleAll((await this.#retryStore(list)) ?? []);
    });
  }

  /** Aborts the attempts under way; resolves when nothing more will be recorded. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the daemon shuts down'));
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(this.#running);
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  #scheduleAll(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      if (delivery.nextAt === null || this.#scheduled.has(delivery.id)) continue;
      this.#scheduled.add(delivery.id);
      const delay = remainingDelay(delivery.nextAt, this.#now(), delivery.attempts.length);
      this.#schedule(delivery, delay);
    }
  }

  #schedule(delivery: Delivery, milliseconds: number): void {
    this.#setTimer(milliseconds, () => this.#run(() => this.#deliver(delivery)));
  }

  /** @param callback called unless `close` is called before */
  #setTimer(milliseconds: number, callback: () => void): void {
    if (this.#isClosing) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      callback();
    }, milliseconds);
    this.#timers.add(timer);
  }

  #run(work: () => Promise<void>): void {
    const running = work()
      .catch((error: unknown) => {
        if (!this.#isClosing) this.#options.onFault(error);
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const release = await this.#acquire(delivery);
    try {
      if (this.#isClosing) return;
      await this.#attempt(delivery);
    } finally {
      release();
    }
  }

  /** Acquires the receiver's semaphore first, so that deliveries to a slow one hold no global slot. */
  async #acquire({ accountId, url }: Delivery): Promise<() => void> {
    const receiver = `${accountId} ${URL.canParse(url) ? new URL(url).origin : url}`;
    const own = this.#receivers.get(receiver) ?? new FairSemaphore(MAX_CONCURRENT_PER_RECEIVER);
    this.#receivers.set(receiver, own);
    const releaseOwn = await own.acquire(accountId);
    const release = await this.#semaphore.acquire(accountId);
    return () => {
      release();
      releaseOwn();
      if (own.acquired === 0 && own.waiting === 0) this.#receivers.delete(receiver);
    };
  }

  async #attempt(delivery: Delivery): Promise<void> {
    const at = this.#now();
    const startedAt = performance.now();
    const { verdict, status, error } = await this.#send(delivery).catch((fault) =>
      this.#internalError(fault),
    );
    const milliseconds = Math.round(performance.now() - startedAt);
    const attempt: DeliveryAttempt = { at, status, error, milliseconds };
    const delay = verdict === 'retry' ? this.#backoff(delivery.attempts.length + 1) : null;
    const outcome: DeliveryOutcome =
      delay !== null
        ? { status: 'pending', nextAt: this.#now() + delay }
        : { status: verdict === 'delivered' ? 'delivered' : 'failed' };
    const recorded = await this.#retryStore(() => this.#record(delivery, attempt, outcome));
    if (recorded === null || delay === null) this.#scheduled.delete(delivery.id);
    else this.#schedule(recorded, delay);
    if (recorded !== null) this.#options.onAttempt?.(recorded, attempt);
  }

  /** Counts an error of this server as an attempt, so that the retries end. */
  #internalError(error: unknown): AttemptResult {
    if (this.#isClosing) throw error;
    this.#options.onFault(error);
    return { status: null, error: 'it could not be sent', verdict: 'retry' };
  }

  async #send(delivery: Delivery): Promise<AttemptResult> {
    const { store, upstream, config, record } = this.#options;
    const { id, accountId, taskId, url } = delivery;
    const task = await this.#retryStore(() => store.findTask(accountId, taskId));
    const account = await this.#retryStore(() => store.findAccount(accountId));
    if (task === undefined || account === undefined) {
      const gone = task === undefined ? 'task' : 'account';
      return { status: null, error: `the ${gone} is gone`, verdict: 'give-up' };
    }
    const body = bodyOf(task, delivery, record(task));
    const networkPolicy = networkPolicyOf(config().network);
    const now = this.#now();
    const end = previousSecretEnd(account, config().callbacks.secretOverlap, now);
    const previous = end === null ? [] : [account.previousSecret!.secret];
    const headers = headersOf(id, body, [account.callbackSecret, ...previous], now);
    const { signal } = this.#closing;
    return attemptDelivery(upstream, { url, headers, body }, { networkPolicy, signal });
  }

  /** Null where the delivery no longer exists or has ended. */
  async #record(
    { id }: Delivery,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<Delivery | null> {
    try {
      return await this.#options.store.recordAttempt(id, attempt, outcome);
    } catch (error) {
      const ended = ['delivery_not_found', 'delivery_state'];
      if (error instanceof Failure && ended.includes(error.code ?? '')) return null;
      throw error;
    }
  }

  /**
   * Retries a store operation until it succeeds: a full disk must not cause a second delivery.
   *
   * @throws the store's error once `close` is called
   */
  async #retryStore<Result>(operation: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await operation();
      } catch (error) {
        if (this.#isClosing) throw error;
        this.#options.onFault(error);
        await this.#delayRetry(error);
      }
    }
  }

  #delayRetry(error: unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal } = this.#closing;
      const onAbort = () => reject(error);
      signal.addEventListener('abort', onAbort);
      this.#setTimer(STORE_RETRY_DELAY_MS, () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
    });
  }
}
