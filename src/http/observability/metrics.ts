import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { SharedPool } from '../../operations/pool/pool.ts';
import type { Routing } from '../../routing/routing.ts';
import type { Store } from '../../store/store.ts';
import type { Task } from '../../store/task.ts';
import type { MetricFamily } from '../../telemetry/metric-data.ts';
import type { MetricSource } from '../../telemetry/telemetry.ts';
import type { TextReport } from '../../text/canonical/report.ts';
import type { TextThreads } from '../../threads/text-threads.ts';
import { LimitMetrics } from '../limits/limit-metrics.ts';
import { GenAiMetrics, OTLP_NAMES } from './gen-ai-metrics.ts';
import { addGauge, addPoolMetrics, addRoutingMetrics, addStoreMetrics } from './state-metrics.ts';

/** One commit of the store. */
export interface Commit {
  readonly milliseconds: number;
  readonly transactions: number;
  readonly bytes: number;
}

/** Tokens of a text request. */
export interface Tokens {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly cacheWrite1h?: number;
  readonly output: number;
}

const LATENCIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Shortest stream, after its first event, whose tokens per second are observed. */
const MIN_RATED_SECONDS = 0.1;

const MISNAMED = ['handles', 'requests', 'resources'].map((of) => `nodejs_active_${of}_total`);

/** The metrics of one daemon, with the units and suffixes of Prometheus: seconds, bytes, `_total`. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  readonly #commits: Histogram;
  readonly #committed: Counter;
  readonly #batches: Counter<'endpoint' | 'outcome'>;
  readonly #tasks: Histogram<'type' | 'status'>;
  readonly #callbacks: Counter<'outcome'>;
  readonly #lostClaims: Counter;
  readonly #attempts: Counter<'provider' | 'outcome'>;
  readonly #tokens: Counter<'model' | 'kind'>;
  readonly #firstFrames: Histogram<'model'>;
  readonly #rates: Histogram<'model'>;
  /** Null unless metrics are sent to a collector. */
  genAi: GenAiMetrics | null = null;
  #dropped: Counter<'signal'> | null = null;
  readonly #damaged: Counter;
  /** Null while files are on the disk. */
  #storage: Histogram<'operation' | 'outcome'> | null = null;

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    // Gauges that have the suffix of counters; each is the sum of the gauge without the suffix.
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
    this.#requests = new Histogram({
      name: 'oriel_http_request_duration_seconds',
      help: 'Time from the arrival of a request to the end of its response',
      labelNames: ['method', 'route', 'status'],
      buckets: LATENCIES,
      registers,
    });
    this.#commits = new Histogram({
      name: 'oriel_store_commit_duration_seconds',
      help: 'Time of one commit to the disk',
      buckets: LATENCIES,
      registers,
    });
    this.#committed = new Counter({
      name: 'oriel_store_transactions_total',
      help: 'Committed transactions',
      registers,
    });
    this.#batches = new Counter({
      name: 'oriel_batches_total',
      help: 'Batches by outcome; abandoned: the client disconnected',
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
      help: 'Delivery attempts of callbacks by outcome; pending: another attempt follows',
      labelNames: ['outcome'],
      registers,
    });
    this.#lostClaims = new Counter({
      name: 'oriel_lost_claims_total',
      help: 'Tasks that another node took over while this one worked on them',
      registers,
    });
    this.#attempts = new Counter({
      name: 'oriel_upstream_requests_total',
      help: 'Requests to providers by outcome',
      labelNames: ['provider', 'outcome'],
      registers,
    });
    this.#tokens = new Counter({
      name: 'oriel_tokens_total',
      help: 'Tokens of text requests; cached_input and cache_write are parts of input, cache_write_1h of cache_write',
      labelNames: ['model', 'kind'],
      registers,
    });
    this.#damaged = new Counter({
      name: 'oriel_assets_damaged_total',
      help: 'Reads of files that differ from their records',
      registers,
    });
    this.#firstFrames = new Histogram({
      name: 'oriel_time_to_first_token_seconds',
      help: 'Time from the arrival of a streamed text request to the first event of its answer',
      labelNames: ['model'],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
      registers,
    });
    this.#rates = new Histogram({
      name: 'oriel_output_tokens_per_second',
      help: 'Output tokens of a streamed answer per second after its first event',
      labelNames: ['model'],
      buckets: [5, 10, 20, 40, 60, 80, 120, 160, 240, 320, 640],
      registers,
    });
  }

  /** Adds the metrics of the service that keeps files. */
  watchStorage(): void {
    this.#storage = new Histogram({
      name: 'oriel_s3_request_duration_seconds',
      help: 'Time until the service that keeps files answered, by operation and outcome; of get, until the first byte',
      labelNames: ['operation', 'outcome'],
      buckets: LATENCIES,
      registers: [this.#registry],
    });
  }

  /** One request to the service that keeps files. @param outcome `ok`, or the code of the failure */
  observeStorage(operation: string, outcome: string, seconds: number): void {
    this.#storage?.observe({ operation, outcome }, seconds);
  }

  /** A file that differs from its record. */
  observeDamage(): void {
    this.#damaged.inc();
  }

  /** Adds the metrics of the semantic conventions for generative AI, or removes them. */
  observeGenAi(isSent: boolean): void {
    if (isSent === (this.genAi !== null)) return;
    this.genAi?.remove();
    this.genAi = isSent ? new GenAiMetrics(this.#registry) : null;
  }

  /** @param count spans, or exports of metrics */
  observeDropped(signal: 'traces' | 'metrics', count: number): void {
    this.#dropped?.inc({ signal }, count);
  }

  /** All metrics, for a collector. Those of its own are registered from now on. */
  source(): MetricSource {
    this.#dropped ??= new Counter({
      name: 'oriel_telemetry_dropped_total',
      help: 'Spans, and exports of metrics, that the collector did not get',
      labelNames: ['signal'],
      registers: [this.#registry],
    });
    return {
      names: OTLP_NAMES,
      // Their types declare an enum of numbers where there are texts.
      read: () => this.#registry.getMetricsAsJSON() as unknown as Promise<readonly MetricFamily[]>,
    };
  }

  observeTask({ type, status, createdAt, updatedAt }: Task): void {
    this.#tasks.observe({ type, status }, Math.max(0, updatedAt - createdAt) / 1000);
  }

  observeCallback(outcome: string): void {
    this.#callbacks.inc({ outcome });
  }

  observeLostClaim(): void {
    this.#lostClaims.inc();
  }

  /** One attempt at a route of a model. @param outcome `ok`, or the type or code of the failure */
  observeAttempt(provider: string, outcome: string): void {
    this.#attempts.inc({ provider, outcome });
  }

  observeTokens(
    model: string,
    { input, cachedInput, cacheWrite, cacheWrite1h = 0, output }: Tokens,
  ): void {
    this.#tokens.inc({ model, kind: 'input' }, input);
    this.#tokens.inc({ model, kind: 'cached_input' }, cachedInput);
    if (cacheWrite > 0) this.#tokens.inc({ model, kind: 'cache_write' }, cacheWrite);
    if (cacheWrite1h > 0) this.#tokens.inc({ model, kind: 'cache_write_1h' }, cacheWrite1h);
    this.#tokens.inc({ model, kind: 'output' }, output);
  }

  /**
   * One text request that was answered.
   *
   * @param firstFrameMs milliseconds to the first frame of a stream; null for a whole answer
   * @param elapsed milliseconds to the end of the answer
   */
  observeText(
    { model, usage, failure }: TextReport,
    firstFrameMs: number | null,
    elapsed: number,
  ): void {
    if (model === null || firstFrameMs === null || failure !== null) return;
    this.#firstFrames.observe({ model }, firstFrameMs / 1000);
    const seconds = (elapsed - firstFrameMs) / 1000;
    // The rate of an answer that came in one piece says nothing of the model.
    if (usage !== null && seconds >= MIN_RATED_SECONDS) {
      this.#rates.observe({ model }, usage.output / seconds);
    }
  }

  /** Adds metrics of the pools and the store, which are read at each scrape. */
  watch(pool: SharedPool, textThreads: TextThreads, store: Store): void {
    addPoolMetrics(this.#registry, pool, textThreads);
    addStoreMetrics(this.#registry, store);
  }

  /** Adds metrics of routes and keys that rest, which are read at each scrape. */
  watchRouting(routings: readonly Routing[]): void {
    addRoutingMetrics(this.#registry, routings);
  }

  /** Adds metrics of the Redis that counts rate limits. */
  watchLimits(isAvailable: () => boolean): LimitMetrics {
    return new LimitMetrics(this.#registry, isAvailable);
  }

  /** Adds a gauge that is read at each scrape. */
  gauge(name: string, help: string, read: () => number): void {
    addGauge(this.#registry, name, help, read);
  }

  observeBatch(endpoint: string, outcome: 'completed' | 'abandoned'): void {
    this.#batches.inc({ endpoint, outcome });
  }

  /** @param route the route's pattern, never the path: few label values */
  observeRequest(method: string, route: string, status: number, seconds: number): void {
    this.#requests.observe({ method, route, status }, seconds);
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
