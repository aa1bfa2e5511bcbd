import type { Config } from '../config/settings/schema.ts';
import { type EndedWith, type FailureType, isOwnLimit } from '../failure.ts';
import type { RouteCooldown } from '../routing/route-cooldowns.ts';
import type { Payer } from '../store/budgets.ts';
import type { Store } from '../store/store.ts';
import type { Alerts } from './alerts.ts';
import { type BalanceReaders, type ChargedKeys, reachedBudgets } from './budget-check.ts';
import * as condition from './condition.ts';
import { ErrorCounts } from './error-counts.ts';

/** Milliseconds between two checks. */
const INTERVAL_MS = 5000;

/** Failures that say nothing of a model. */
const OF_CLIENTS: readonly FailureType[] = ['invalid_request', 'content_policy', 'auth_error'];

/** Free and all bytes of a disk. */
export interface DiskUse {
  readonly free: number;
  readonly total: number;
}

interface WatchOptions {
  readonly alerts: Alerts;
  readonly settings: () => Config['alerts'];
  readonly store: BalanceReaders & Pick<Store, 'listNodes' | 'nodes' | 'isShared'>;
  /** Host and port of this daemon. */
  readonly node: string;
  readonly charged: ChargedKeys;
  readonly routeCooldowns: () => Iterable<RouteCooldown>;
  /** The provider's words, without secrets. */
  readonly describe: (failure: RouteCooldown['failure']) => string;
  readonly readDisk: () => Promise<DiskUse | null>;
  /** Share of the memory that is used, from 0 to 1. */
  readonly memory: () => number;
  readonly onFault: (error: unknown) => void;
}

/**
 * Looks for what an operator has to know of, every few seconds, and as routes and requests report it. Requests
 * pay for an entry of a map and two counters.
 */
export class AlertWatch {
  /** Disk at the last check; null before the first one, and where it does not answer. */
  disk: DiskUse | null = null;
  readonly #options: WatchOptions;
  readonly #providers: ErrorCounts;
  readonly #models: ErrorCounts;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | null = null;
  #isReadingDisk = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    const window = () => options.settings().errorWindow;
    this.#providers = new ErrorCounts(window);
    this.#models = new ErrorCounts(window);
  }

  start(): void {
    this.check();
    this.#timer = setInterval(() => this.check(), INTERVAL_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#checking;
  }

  /** A check that takes longer than the interval is followed by none. */
  check(): void {
    const { onFault } = this.#options;
    void this.#checkDisk().catch(onFault);
    this.#checking ??= this.#checkAll()
      .catch(onFault)
      .finally(() => {
        this.#checking = null;
      });
  }

  /** A request was refused because a budget or the credits do not cover it. */
  exhausted(payer: Payer): void {
    this.#options.charged.add(payer, true);
  }

  /** An attempt at a provider ended. */
  attempted(provider: string, isFailed: boolean): void {
    this.#providers.add(provider, isFailed);
  }

  /** A request to a model, or a task, ended. @param failure null for a success; without `detail` for a task */
  answered(model: string, failure: EndedWith | null): void {
    if (failure && (isOwnLimit(failure) || OF_CLIENTS.includes(failure.type))) return;
    this.#models.add(model, failure !== null);
  }

  recovered(route: RouteCooldown): void {
    const { alerts } = this.#options;
    alerts.raise(condition.routeRecovered(route, alerts.times));
  }

  /** A provider refused a key, or its account. */
  refused(provider: string, key: string | null, reason: string): void {
    const { alerts } = this.#options;
    alerts.raise(condition.providerRefused({ provider, key, reason }, alerts.times));
  }

  async #checkAll(): Promise<void> {
    const { alerts, settings, store, routeCooldowns, describe, node, memory } = this.#options;
    const { charged: charges } = this.#options;
    const { budgets, errorShare, errorRequests, errorWindow: window, ...limits } = settings();
    const { times } = alerts;
    for (const route of routeCooldowns()) {
      alerts.raise(condition.routeDown(route, describe(route.failure), times));
    }
    for (const [kind, counts] of [
      ['provider', this.#providers] as const,
      ['model', this.#models] as const,
    ]) {
      for (const errors of counts.above(errorShare, errorRequests)) {
        alerts.raise(
          condition.manyErrors(kind, { ...errors, window, threshold: errorShare }, times),
        );
      }
    }
    const share = memory();
    if (share > limits.memory) alerts.raise(condition.memoryLow(node, share, times));
    const charged = charges.take();
    try {
      for await (const reached of reachedBudgets(store, charged, budgets)) alerts.raise(reached);
    } catch (error) {
      for (const [keyId, { accountId, isRefused }] of charged) {
        charges.add({ keyId, accountId }, isRefused);
      }
      throw error;
    }
    if (store.isShared && store.nodes.isLeader()) await this.#checkNodes();
  }

  async #checkNodes(): Promise<void> {
    const { alerts, store } = this.#options;
    const nodes = await store.listNodes();
    const { now } = store;
    for (const lost of nodes) {
      // A daemon that has lost its lease for a while goes on under a new identifier.
      const isBack = nodes.some(
        ({ name, startedAt, aliveUntil }) =>
          aliveUntil > now && name === lost.name && startedAt === lost.startedAt,
      );
      if (lost.aliveUntil <= now && !isBack) alerts.raise(condition.nodeLost(lost, now));
    }
  }

  /** A disk that hangs is asked once: each question blocks one of libuv's threads. */
  async #checkDisk(): Promise<void> {
    if (this.#isReadingDisk) return;
    this.#isReadingDisk = true;
    const { alerts, settings, node, readDisk } = this.#options;
    try {
      this.disk = await readDisk();
      if (this.disk === null || this.disk.free >= settings().diskFree) return;
      alerts.raise(condition.diskLow({ node, ...this.disk }, alerts.times));
    } finally {
      this.#isReadingDisk = false;
    }
  }
}
