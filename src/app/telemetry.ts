import type { Config } from '../config/settings/schema.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { OtlpSettings, Tracer } from '../telemetry/tracer.ts';
import type { Upstream } from '../upstream/response.ts';
import type { Start } from './start.ts';

/** The telemetry of the current configuration. Its code is loaded when a configuration enables it. */
export class DaemonTelemetry {
  readonly #start: Start;
  readonly #upstream: Upstream;
  #telemetry: Telemetry | null = null;
  /** The settings in force as JSON. */
  #settings: string | undefined;
  /** Sends the remaining data of former settings. */
  readonly #closing = new Set<Promise<void>>();

  constructor(start: Start, upstream: Upstream) {
    this.#start = start;
    this.#upstream = upstream;
  }

  /** Null while traces are disabled. */
  get tracer(): Tracer | null {
    return this.#telemetry?.tracer ?? null;
  }

  /** Applies new settings. Data for the former collector is still sent to it. */
  async configure({ telemetry: { otlp } }: Pick<Config, 'telemetry'>): Promise<void> {
    const settings = JSON.stringify(otlp);
    if (settings === this.#settings) return;
    const next = otlp === undefined ? null : await this.#create(otlp);
    const former = this.#telemetry;
    this.#settings = settings;
    this.#telemetry = next;
    this.#start.metrics.observeGenAi(otlp?.metrics ?? false);
    if (former === null) return;
    const closing = former.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  async #create(settings: OtlpSettings): Promise<Telemetry> {
    const { metrics, log, options } = this.#start;
    const { Telemetry } = await import('../telemetry/telemetry.ts');
    const { host } = new URL(settings.endpoint);
    return new Telemetry({
      upstream: this.#upstream,
      version: options.version,
      settings,
      metrics: metrics.source(),
      onDropped: (signal, count) => metrics.observeDropped(signal, count),
      onOutage: (reason) => {
        if (reason === null) log.info({ collector: host }, 'telemetry is accepted again');
        else log.warn({ collector: host, reason }, 'telemetry is not accepted by the collector');
      },
    });
  }

  /** Sends the remaining data, for three seconds at most. */
  async close(): Promise<void> {
    const telemetry = this.#telemetry;
    this.#telemetry = null;
    await Promise.all([telemetry?.close(), ...this.#closing]);
  }
}
