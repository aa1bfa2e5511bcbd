import type { RedisError } from '../limits/redis-scripts.ts';
import type { MetricRegistry } from './metric-registry.ts';

const DURATIONS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05];

/** Metrics of the Redis of `limits.shared`. */
export class LimitMetrics {
  readonly #durations;
  readonly #errors;

  /** @param isAvailable read at each scrape */
  constructor(registry: MetricRegistry, isAvailable: () => boolean) {
    this.#durations = registry.histogram(
      'oriel_limits_redis_duration_seconds',
      'Time that a request waited for the answer of Redis about its rate limit',
      DURATIONS,
    );
    this.#errors = registry.counter(
      'oriel_limits_redis_errors_total',
      "Requests whose rate limit was counted by this node's share because Redis failed, by error",
      ['error'],
    );
    for (const error of ['timeout', 'connection', 'reply'] as const) this.#errors.inc({ error }, 0);
    registry.gauge(
      'oriel_limits_redis_available',
      '1 while Redis counts rate limits, 0 while the circuit is open and nodes have shares',
      () => (isAvailable() ? 1 : 0),
    );
  }

  observeAnswer(milliseconds: number): void {
    this.#durations.observe(milliseconds / 1000);
  }

  observeError(error: RedisError): void {
    this.#errors.inc({ error });
  }
}
