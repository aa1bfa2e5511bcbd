import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from 'prom-client';
import type { SharedPool } from '../operations/pool.ts';
import { toCredits } from '../store/credits.ts';
import type { Store } from '../store/store.ts';
import type { Task } from '../store/task.ts';
import { Durations } from './durations.ts';

/** What one commit of the store took. */
export interface Commit {
  readonly milliseconds: number;
  readonly transactions: number;
  readonly bytes: number;
}

/** What a text request used. */
export interface Tokens {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

const LATENCIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const MISNAMED = ['handles', 'requests', 'resources'].map((of) => `nodejs_active_${of}_total`);

/** The figures of one daemon, in the terms and units of Prometheus: seconds, bytes, `_total`. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Durations(
    'oriel_http_request_duration_seconds',
    'Time from the arrival of a request to the end of its answer',
    LATENCIES,
  );
  readonly #commits: Histogram;
  readonly #committed: Counter;
  readonly #batches: Counter<'endpoint' | 'outcome'>;
  readonly #tasks: Histogram<'type' | 'status'>;
  readonly #callbacks: Counter<'outcome'>;
  /** Counted here and told when somebody asks: the library would make a text of labels each time. */
  readonly #tries = new Map<string, Map<string, number>>();
  readonly #tokens = new Map<string, { input: number; cachedInput: number; output: number }>();

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    // Gauges whose names are for counters; each is the sum of the figures of the one without the suffix.
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
    // The library takes whatever tells its figures as its own metrics do.
    this.#registry.registerMetric(this.#requests as unknown as Metric);
    this.#commits = new Histogram({
      name: 'oriel_store_commit_duration_seconds',
      help: 'Time that one commit to the disk took, whatever it carried',
      buckets: LATENCIES,
      registers,
    });
    this.#committed = new Counter({
      name: 'oriel_store_transactions_total',
      help: 'Transactions that were committed',
      registers,
    });
    this.#batches = new Counter({
      name: 'oriel_batches_total',
      help: 'Batches that were worked on, by what became of them; abandoned: the client left',
      labelNames: ['endpoint', 'outcome'],
      registers,
    });
    this.#tasks = new Histogram({
      name: 'oriel_task_duration_seconds',
      help: 'Time from the creation of a media task to its end, by how it ended',
      labelNames: ['type', 'status'],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900],
      registers,
    });
    this.#callbacks = new Counter({
      name: 'oriel_callback_attempts_total',
      help: 'Tries to deliver a callback, by what became of it; pending: there will be another',
      labelNames: ['outcome'],
      registers,
    });
    this.#tellText(registers);
  }

  #tellText(registers: Registry[]): void {
    const tries = this.#tries;
    new Counter({
      name: 'oriel_upstream_requests_total',
      help: 'Requests that went to a provider, by what became of them',
      labelNames: ['provider', 'outcome'],
      registers,
      collect() {
        this.reset();
        for (const [provider, outcomes] of tries) {
          for (const [outcome, count] of outcomes) this.inc({ provider, outcome }, count);
        }
      },
    });
    const tokens = this.#tokens;
    new Counter({
      name: 'oriel_tokens_total',
      help: 'Tokens that text models read and wrote; cached_input is part of input',
      labelNames: ['model', 'kind'],
      registers,
      collect() {
        this.reset();
        for (const [model, { input, cachedInput, output }] of tokens) {
          this.inc({ model, kind: 'input' }, input);
          this.inc({ model, kind: 'cached_input' }, cachedInput);
          this.inc({ model, kind: 'output' }, output);
        }
      },
    });
  }

  observeTask({ type, status, createdAt, updatedAt }: Task): void {
    this.#tasks.observe({ type, status }, Math.max(0, updatedAt - createdAt) / 1000);
  }

  observeCallback(outcome: string): void {
    this.#callbacks.inc({ outcome });
  }

  /** One attempt at a route of a model. @param outcome `ok`, or the type of the failure */
  observeTry(provider: string, outcome: string): void {
    const outcomes = this.#tries.get(provider) ?? new Map<string, number>();
    if (outcomes.size === 0) this.#tries.set(provider, outcomes);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }

  observeTokens(model: string, { input, cachedInput, output }: Tokens): void {
    const sum = this.#tokens.get(model);
    if (sum) {
      sum.input += input;
      sum.cachedInput += cachedInput;
      sum.output += output;
    } else {
      this.#tokens.set(model, { input, cachedInput, output });
    }
  }

  /** Watches the pool and the store: they are asked when somebody asks us. */
  watch(pool: SharedPool, store: Store): void {
    this.gauge('oriel_pool_threads', 'Threads that work on images', () => pool.size);
    this.gauge('oriel_pool_jobs_running', 'Images that threads are at work on', () => {
      return pool.statistics().running;
    });
    this.gauge('oriel_pool_jobs_waiting', 'Images that wait for a thread', () => {
      return pool.statistics().waiting;
    });
    this.#watchFinished(pool);
    this.gauge('oriel_accounts', 'Accounts', () => store.statistics().accounts);
    this.#watchHealth(store);
    new Gauge({
      name: 'oriel_tasks',
      help: 'Tasks that are remembered, by state',
      labelNames: ['status'],
      registers: [this.#registry],
      collect() {
        for (const [status, count] of Object.entries(store.statistics().tasks)) {
          this.set({ status }, count);
        }
      },
    });
    new Gauge({
      name: 'oriel_credits',
      help: 'Credits of all accounts together, by what became of them',
      labelNames: ['kind'],
      registers: [this.#registry],
      collect() {
        const { granted, reserved, spent } = store.statistics().credits;
        this.set({ kind: 'granted' }, toCredits(granted));
        this.set({ kind: 'reserved' }, toCredits(reserved));
        this.set({ kind: 'spent' }, toCredits(spent));
        this.set({ kind: 'available' }, toCredits(granted - reserved - spent));
      },
    });
  }

  #watchHealth(store: Store): void {
    this.gauge('oriel_store_writable', '1 while the store takes writes, else 0', () => {
      return store.health().fault === null ? 1 : 0;
    });
    this.gauge('oriel_store_checkpoint_failing', '1 where the last checkpoint failed', () => {
      return store.health().checkpointFault === null ? 0 : 1;
    });
    this.gauge('oriel_store_journals', 'Journal files that the next start would replay', () => {
      return store.health().journals;
    });
    this.gauge('oriel_store_journal_bytes', 'Size of these journal files', () => {
      return store.health().journalBytes;
    });
    this.gauge('oriel_store_pending_charges', 'Requests whose charges are not booked yet', () => {
      return store.health().pendingCharges;
    });
  }

  #watchFinished(pool: SharedPool): void {
    const registers = [this.#registry];
    const labelNames = ['operation'] as const;
    new Counter({
      name: 'oriel_pool_jobs_total',
      help: 'Images that threads are done with, by operation',
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [operation, { jobs }] of pool.statistics().finished) {
          this.inc({ operation }, jobs);
        }
      },
    });
    new Counter({
      name: 'oriel_pool_job_seconds_total',
      help: 'Time that threads spent on them',
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [operation, { milliseconds }] of pool.statistics().finished) {
          this.inc({ operation }, milliseconds / 1000);
        }
      },
    });
  }

  /** A figure that is asked for whenever somebody asks us. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  observeBatch(endpoint: string, outcome: 'completed' | 'abandoned'): void {
    this.#batches.inc({ endpoint, outcome });
  }

  /** @param route the route's pattern, never the path: labels must be few */
  observeRequest(method: string, route: string, status: number, seconds: number): void {
    this.#requests.observe(method, route, status, seconds);
  }

  observeCommit({ milliseconds, transactions }: Commit): void {
    this.#commits.observe(milliseconds / 1000);
    this.#committed.inc(transactions);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
