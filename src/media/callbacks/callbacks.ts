import { setMaxListeners } from 'node:events';
import type { Config } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { FairSemaphore } from '../../fair-semaphore.ts';
import { getOrInsert } from '../../maps.ts';
import { callbackSecrets } from '../../store/account.ts';
import type { Delivery, DeliveryAttempt, DeliveryOutcome } from '../../store/delivery.ts';
import { hintDelay } from '../../store/nodes.ts';
import type { Store } from '../../store/store.ts';
import { Sums } from '../../store/sums.ts';
import type { Task } from '../../store/task.ts';
import { sleep } from '../../upstream/abort-signal.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import type { Upstream } from '../../upstream/response.ts';
import {
  type AttemptResult,
  attemptDelivery,
  bodyOf,
  headersOf,
  retryDelay,
} from '../../upstream/webhook.ts';
import { ClaimLoop } from '../queue/claim-loop.ts';

/** Concurrent delivery attempts. */
const MAX_CONCURRENT = 64;

/** Concurrent attempts for one account and receiver, so that a slow receiver delays no others. */
const MAX_CONCURRENT_PER_RECEIVER = 8;

/** Deliveries of one account that are claimed at once: a slow receiver leaves the others of it their place. */
const MAX_CLAIMED_PER_ACCOUNT = 1000;

/** Deliveries of one claim. */
const CLAIM_LIMIT = 100;

/** Delay before a failed store operation is retried. */
const STORE_RETRY_DELAY_MS = 5000;

interface CallbacksOptions {
  readonly store: Pick<
    Store,
    'claimDeliveries' | 'recordAttempt' | 'findTask' | 'findAccount' | 'watch' | 'now' | 'nodes'
  >;
  readonly upstream: Upstream;
  readonly config: () => Pick<Config, 'network' | 'callbacks'>;
  /** A task as lookup shows it; always the same for an ended task. */
  readonly record: (task: Task) => object;
  /** Called after an attempt was recorded, with the delivery as it is then. */
  readonly onAttempt?: (delivery: Delivery, attempt: DeliveryAttempt) => void;
  /** Called with errors of this server, after which the operation is retried. */
  readonly onFault: (error: unknown) => void;
  /** Milliseconds until the next attempt after a number of them; null for none. */
  readonly backoff?: (attempts: number) => number | null;
}

/**
 * Delivers the callbacks of ended tasks. The store records a delivery in the transaction that ends the
 * task, and each node claims those that are due, so that a crash loses none. An attempt that a shutdown
 * aborts is not recorded, and is repeated with the same `webhook-id`.
 */
export class Callbacks {
  readonly #options: CallbacksOptions;
  readonly #claims: ClaimLoop;
  readonly #backoff: (attempts: number) => number | null;
  readonly #closing = new AbortController();
  readonly #semaphore = new FairSemaphore(MAX_CONCURRENT);
  readonly #receivers = new Map<string, FairSemaphore>();
  /** Number of claimed deliveries by account. */
  readonly #claimed = new Sums();
  #unwatch = () => {};
  readonly #running = new Set<Promise<void>>();

  constructor(options: CallbacksOptions) {
    this.#options = options;
    // Every attempt under way listens.
    setMaxListeners(0, this.#closing.signal);
    const onFault = (error: unknown) => {
      if (!this.#isClosing) options.onFault(error);
    };
    this.#claims = new ClaimLoop(() => this.#claimAll(), STORE_RETRY_DELAY_MS, onFault);
    this.#backoff = options.backoff ?? ((attempts) => retryDelay(attempts, Math.random()));
  }

  /** Claims the deliveries that are due, now and whenever one is. @throws Failure of the store */
  async start(): Promise<void> {
    const { store } = this.#options;
    this.#unwatch = store.watch(({ kind }) => {
      if (kind === 'delivery') this.#claims.wakeIn(hintDelay(store.nodes));
    });
    await this.#claims.run();
  }

  /** Delivers the callback of a task that has ended, if it has a callback URL. */
  added({ callbackUrl }: Pick<Task, 'callbackUrl'>): void {
    if (callbackUrl !== null) this.#claims.wakeIn(0);
  }

  /** Aborts the attempts under way; resolves when nothing more will be recorded. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the daemon shuts down'));
    this.#unwatch();
    this.#claims.stop();
    await this.#claims.ended();
    await Promise.all(this.#running);
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** @returns milliseconds until the next claim */
  async #claimAll(): Promise<number> {
    for (;;) {
      const full = [...this.#claimed].filter(([, count]) => count >= MAX_CLAIMED_PER_ACCOUNT);
      const { deliveries, nextAt } = await this.#options.store.claimDeliveries({
        limit: CLAIM_LIMIT,
        exceptAccounts: full.map(([accountId]) => accountId),
      });
      if (this.#isClosing) return Infinity;
      for (const delivery of deliveries) this.#run(() => this.#deliver(delivery));
      if (deliveries.length < CLAIM_LIMIT) {
        return nextAt === null ? Infinity : Math.max(1, nextAt - this.#options.store.now);
      }
    }
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
    const { accountId } = delivery;
    this.#claimed.add(accountId, 1);
    const release = await this.#acquire(delivery);
    try {
      if (this.#isClosing) return;
      await this.#attempt(delivery);
    } finally {
      release();
      this.#claimed.add(accountId, -1);
      // Its further deliveries were left where they are.
      if (this.#claimed.of(accountId) === MAX_CLAIMED_PER_ACCOUNT - 1) this.#claims.wakeIn(0);
    }
  }

  /** Acquires the receiver's semaphore first, so that deliveries to a slow one hold no global slot. */
  async #acquire({ accountId, url }: Delivery): Promise<() => void> {
    const receiver = `${accountId} ${URL.canParse(url) ? new URL(url).origin : url}`;
    const newSemaphore = () => new FairSemaphore(MAX_CONCURRENT_PER_RECEIVER);
    const own = getOrInsert(this.#receivers, receiver, newSemaphore);
    const releaseOwn = await own.acquire(accountId);
    const release = await this.#semaphore.acquire(accountId);
    return () => {
      release();
      releaseOwn();
      if (own.acquired === 0 && own.waiting === 0) this.#receivers.delete(receiver);
    };
  }

  async #attempt(delivery: Delivery): Promise<void> {
    const at = this.#options.store.now;
    const startedAt = performance.now();
    const { verdict, status, error } = await this.#send(delivery).catch((fault) =>
      this.#internalError(fault),
    );
    const milliseconds = Math.round(performance.now() - startedAt);
    const attempt: DeliveryAttempt = { at, status, error, milliseconds };
    const delay = verdict === 'retry' ? this.#backoff(delivery.attempts.length + 1) : null;
    const outcome: DeliveryOutcome =
      delay !== null
        ? { status: 'pending', nextAt: this.#options.store.now + delay }
        : { status: verdict === 'delivered' ? 'delivered' : 'failed' };
    const recorded = await this.#retryStore(() => this.#record(delivery, attempt, outcome));
    if (recorded === null) return;
    this.#options.onAttempt?.(recorded, attempt);
    if (delay !== null) this.#claims.wakeIn(delay);
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
    const body = bodyOf(`task.${task.status}`, delivery.createdAt, record(task));
    const networkPolicy = networkPolicyOf(config().network);
    const now = this.#options.store.now;
    const secrets = callbackSecrets(account, config().callbacks.secretOverlap, now);
    const headers = headersOf(id, body, secrets, now);
    const { signal } = this.#closing;
    return attemptDelivery(upstream, { url, headers, body }, { networkPolicy, signal });
  }

  /** Null where the delivery no longer exists or has ended, or another node has it. */
  async #record(
    delivery: Delivery,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<Delivery | null> {
    try {
      return await this.#options.store.recordAttempt(delivery, attempt, outcome);
    } catch (error) {
      const ended = ['delivery_not_found', 'delivery_state', 'claim_lost'];
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
        await sleep(STORE_RETRY_DELAY_MS, this.#closing.signal).catch(() => {
          throw error;
        });
      }
    }
  }
}
