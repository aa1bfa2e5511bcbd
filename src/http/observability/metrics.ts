import { type Counter, collectDefaultMetrics, type Histogram } from 'prom-client';
import type { Commit } from '../../store/options.ts';
import type { Task } from '../../store/task.ts';
import type { MetricFamily } from '../../telemetry/metric-data.ts';
import type { MetricSource } from '../../telemetry/telemetry.ts';
import type { Usage } from '../../text/canonical/events.ts';
import type { TextReport } from '../../text/canonical/report.ts';
import { type GenAiMetrics, genAiMetrics, OTLP_NAMES } from './gen-ai-metrics.ts';
import { addedText, type MetricFamilies, MetricRegistry } from './metric-registry.ts';
import { RequestSeries } from './request-series.ts';

const LATENCIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Shortest stream, after its first event, whose tokens per second are observed. */
const MIN_RATED_SECONDS = 0.1;

const MISNAMED = ['handles', 'requests', 'resources'].map((of) => `nodejs_active_${of}_total`);

/** The metrics of one daemon, with the units and suffixes of Prometheus: seconds, bytes, `_total`. */
export class Metrics extends MetricRegistry {
  /** The last day, for the overviews of the console. */
  readonly requestSeries = new RequestSeries();
  /** Reads the metrics of all processes on the port; null where they cannot be had. Absent for a single process. */
  collect: (() => Promise<readonly MetricFamilies[] | null>) | undefined;
  readonly #requests = this.histogram(
    'oriel_http_request_duration_seconds',
    'Time from the arrival of a request to the end of its response',
    LATENCIES,
    ['method', 'route', 'status'],
  );
  readonly #commits = this.histogram(
    'oriel_store_commit_duration_seconds',
    'Time of one commit to the disk',
    LATENCIES,
  );
  readonly #committed = this.counter('oriel_store_transactions_total', 'Committed transactions');
  readonly batches = this.counter(
    'oriel_batches_total',
    'Batches by outcome; abandoned: the client disconnected',
    ['endpoint', 'outcome'],
  );
  readonly #tasks = this.histogram(
    'oriel_task_duration_seconds',
    'Time from the creation of a media task to its end, by how it ended',
    [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900],
    ['type', 'status'],
  );
  readonly callbackAttempts = this.counter(
    'oriel_callback_attempts_total',
    'Delivery attempts of callbacks by outcome; pending: another attempt follows',
    ['outcome'],
  );
  readonly raisedAlerts = this.counter(
    'oriel_alerts_total',
    'Alerts that this node raised, by type',
    ['type'],
  );
  readonly alertDeliveries = this.counter(
    'oriel_alert_deliveries_total',
    'Alerts by webhook and by how their delivery ended; dropped: too many waited',
    ['webhook', 'outcome'],
  );
  readonly lostClaims = this.counter(
    'oriel_lost_claims_total',
    'Tasks that another node took over while this one worked on them',
  );
  readonly upstreamAttempts = this.counter(
    'oriel_upstream_requests_total',
    'Requests to providers by outcome',
    ['provider', 'outcome'],
  );
  readonly #tokens = this.counter(
    'oriel_tokens_total',
    'Tokens of text requests; cached_input and cache_write are parts of input, cache_write_1h of cache_write',
    ['model', 'kind'],
  );
  readonly cacheResults = this.counter(
    'oriel_cache_requests_total',
    'Requests whose model or key has an exact cache',
    ['model', 'result'],
  );
  readonly imageUrls = this.counter(
    'oriel_image_urls_total',
    'Images by URL: from the cache, rendered, or placeholders',
    ['result'],
  );
  readonly damagedFiles = this.counter(
    'oriel_assets_damaged_total',
    'Reads of files that differ from their records',
  );
  readonly requestLogFaults = this.counter(
    'oriel_request_log_faults_total',
    'Failed writes of the request log, which are repeated, and requests that it lost',
    ['fault'],
  );
  readonly lostLog = this.counter(
    'oriel_log_lost_lines_total',
    'Lines of the log that log.file did not take, as on a full disk',
  );
  readonly #firstFrames = this.histogram(
    'oriel_time_to_first_token_seconds',
    'Time from the arrival of a streamed text request to the first event of its answer',
    [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
    ['model'],
  );
  readonly #rates = this.histogram(
    'oriel_output_tokens_per_second',
    'Output tokens of a streamed answer per second after its first event',
    [5, 10, 20, 40, 60, 80, 120, 160, 240, 320, 640],
    ['model'],
  );
  /** Null unless metrics are sent to a collector. */
  genAi: GenAiMetrics | null = null;
  #dropped: Counter<'signal'> | null = null;
  /** Null while files are on the disk. */
  #storage: Histogram<'operation' | 'outcome'> | null = null;

  constructor() {
    super();
    collectDefaultMetrics({ register: this });
    // Gauges that have the suffix of counters; each is the sum of the gauge without the suffix.
    for (const name of MISNAMED) this.removeSingleMetric(name);
  }

  /** Adds the metrics of the service that keeps files. */
  watchStorage(): void {
    this.#storage = this.histogram(
      'oriel_s3_request_duration_seconds',
      'Time until the service that keeps files answered, by operation and outcome; of get, until the first byte',
      LATENCIES,
      ['operation', 'outcome'],
    );
  }

  /** One request to the service that keeps files. @param outcome `ok`, or the code of the failure */
  observeStorage(operation: string, outcome: string, seconds: number): void {
    this.#storage?.observe({ operation, outcome }, seconds);
  }

  /** Adds the metrics of the semantic conventions for generative AI, or removes them. */
  observeGenAi(isSent: boolean): void {
    if (isSent === (this.genAi !== null)) return;
    this.genAi?.remove();
    this.genAi = isSent ? genAiMetrics(this) : null;
  }

  /** @param count spans, or exports of metrics */
  observeDropped(signal: 'traces' | 'metrics', count: number): void {
    this.#dropped?.inc({ signal }, count);
  }

  /** All metrics, for a collector. Those of its own are registered from now on. */
  source(): MetricSource {
    this.#dropped ??= this.counter(
      'oriel_telemetry_dropped_total',
      'Spans and metric exports that the collector did not accept',
      ['signal'],
    );
    return {
      names: OTLP_NAMES,
      // Their types declare an enum of numbers where there are texts.
      read: () => this.getMetricsAsJSON() as unknown as Promise<readonly MetricFamily[]>,
    };
  }

  observeTask({ type, status, createdAt, updatedAt, accountId, charged }: Task): void {
    this.requestSeries.addCharge({ account: accountId, charge: charged, at: updatedAt });
    this.#tasks.observe({ type, status }, Math.max(0, updatedAt - createdAt) / 1000);
  }

  observeTokens(
    model: string,
    { input, cachedInput, cacheWrite, cacheWrite1h = 0, output }: Usage,
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

  /** @param route the route's pattern, never the path: few label values */
  observeRequest(method: string, route: string, status: number, seconds: number): void {
    this.#requests.observe({ method, route, status }, seconds);
  }

  observeCommit({ milliseconds, transactions }: Commit): void {
    this.#commits.observe(milliseconds / 1000);
    this.#committed.inc(transactions);
  }

  async text(): Promise<string> {
    const all = (await this.collect?.()) ?? null;
    return all === null ? this.metrics() : addedText(all);
  }
}
