import { randomUUID } from 'node:crypto';
import type { Upstream } from '../upstream/response.ts';
import { Attributes } from './attributes.ts';
import { Collector, SpanQueue } from './collector.ts';
import { type MetricFamily, metricData, type OtlpNames } from './metric-data.ts';
import { nanoseconds } from './trace.ts';
import { type OtlpSettings, Tracer } from './tracer.ts';

/** Milliseconds for the last spans and metrics. A collector that does not answer must not delay the end of the process. */
const CLOSE_TIMEOUT_MS = 3000;

/** Milliseconds between the beginnings of two outages that are reported. */
const OUTAGE_INTERVAL_MS = 60_000;

/** Identifies this process beside others of the same service. */
const INSTANCE = randomUUID();

/** The registry of the daemon's metrics. */
export interface MetricSource {
  readonly names: OtlpNames;
  read(): Promise<readonly MetricFamily[]>;
}

interface TelemetryOptions {
  readonly settings: OtlpSettings;
  readonly upstream: Upstream;
  /** Version of Oriel. */
  readonly version: string;
  readonly metrics: MetricSource;
  readonly onDropped: (signal: 'traces' | 'metrics', count: number) => void;
  /** Called at the beginning and at the end of an outage. @param reason null at its end */
  readonly onOutage: (reason: string | null) => void;
}

/** Sends traces and metrics to the collector of one configuration. */
export class Telemetry {
  /** Null where no spans are sent. */
  readonly tracer: Tracer | null;
  readonly #options: TelemetryOptions;
  readonly #collector: Collector;
  readonly #queue: SpanQueue;
  /** JSON of the resource and the scope. */
  readonly #resource: string;
  readonly #scope: string;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | null = null;
  /** Whether the last request failed, and whether that was reported. */
  #isFailing = false;
  #isReported = false;
  #reportedAt = -Infinity;

  constructor(options: TelemetryOptions) {
    this.#options = options;
    const { settings, upstream, version, onDropped } = options;
    const { service, attributes = {}, traces, metrics, interval } = settings;
    const own = { 'service.version': version, 'service.instance.id': INSTANCE, ...attributes };
    const resource = new Attributes().text('service.name', service);
    for (const [name, value] of Object.entries(own)) resource.text(name, value);
    this.#resource = `"resource":{"attributes":${resource}}`;
    this.#scope = `"scope":{"name":"oriel","version":${JSON.stringify(version)}}`;
    this.#collector = new Collector(upstream, settings);
    this.#queue = new SpanQueue({
      collector: this.#collector,
      frame: [
        `{"resourceSpans":[{${this.#resource},"scopeSpans":[{${this.#scope},"spans":[`,
        ']}]}]}',
      ],
      onDropped: (count) => onDropped('traces', count),
      onSent: (reason) => this.#report(reason),
    });
    this.tracer = traces ? new Tracer(settings, (span) => this.#queue.push(span)) : null;
    if (metrics) {
      this.#timer = setInterval(() => void this.#sendMetrics(), interval);
      this.#timer.unref();
    }
  }

  /** Sends what waits, and the metrics as they are now; for three seconds at most. */
  async close(): Promise<void> {
    const timeout = setTimeout(() => this.#collector.abort(), CLOSE_TIMEOUT_MS);
    clearInterval(this.#timer);
    const last = async () => {
      await this.#sending;
      if (this.#options.settings.metrics) await this.#sendMetrics();
    };
    await Promise.all([this.#queue.close(), last()]);
    clearTimeout(timeout);
  }

  /** Sends all metrics once. What the collector does not get, the next request contains as well. */
  #sendMetrics(): Promise<void> {
    // A collector that takes longer than the interval gets no second request.
    this.#sending ??= this.#postMetrics().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  async #postMetrics(): Promise<void> {
    const { metrics, onDropped } = this.#options;
    const families = await metrics.read();
    const start = performance.timeOrigin;
    // The clock may have been set back.
    const period = { start: nanoseconds(start), end: nanoseconds(Math.max(start, Date.now())) };
    const data = metricData(families, metrics.names, period);
    const { isAccepted, rejected, reason } = await this.#collector.post(
      'metrics',
      `{"resourceMetrics":[{${this.#resource},"scopeMetrics":[{${this.#scope},"metrics":${data}}]}]}`,
    );
    const isWhole = isAccepted && rejected === 0;
    if (!isWhole) onDropped('metrics', 1);
    this.#report(isWhole ? null : isAccepted ? 'metrics were rejected' : reason);
  }

  /** @param reason of a failed request; null for success */
  #report(reason: string | null): void {
    const wasFailing = this.#isFailing;
    this.#isFailing = reason !== null;
    if (wasFailing === this.#isFailing) return;
    const now = performance.now();
    if (reason !== null) {
      this.#isReported = now - this.#reportedAt >= OUTAGE_INTERVAL_MS;
      if (this.#isReported) this.#reportedAt = now;
    }
    if (this.#isReported) this.#options.onOutage(reason);
  }
}
