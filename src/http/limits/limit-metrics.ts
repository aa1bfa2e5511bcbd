import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { RedisError } from './redis-scripts.ts';

/** Metrics of the Redis of `limits.shared`. */
export class LimitMetrics {
  readonly #durations: Histogram;
  readonly #errors: Counter<'error'>;

  /** @param isAvailable read at each scrape */
  constructor(registry: Registry, isAvailable: () => boolean) {
    const registers = [registry];
    this.#durations = new Histogram({
      name: 'oriel_limits_redis_duration_seconds',
      help: 'Time that a request waited for the answer of Redis about its rate limit',
      buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05],
      registers,
    });
    this.#errors = new Counter({
      name: 'oriel_limits_redis_errors_total',
      help: "Requests whose rate limit was counted by this node's share because Redis failed, by error",
      labelNames: ['error'],
      registers,
    });
    for (const error of ['timeout', 'connection', 'reply'] as const) this.#errors.inc({ error }, 0);
    new Gauge({
      name: 'oriel_limits_redis_available',
      help: '1 while Redis counts rate limits, 0 while the circuit is open and nodes have shares',
      registers,
      collect() {
        this.set(isAvailable() ? 1 : 0);
      },
    });
  }

  observeAnswer(milliseconds: number): void {
    this.#durations.observe(milliseconds / 1000);
  }

  observeError(error: RedisError): void {
    this.#errors.inc({ error });
  }
}
