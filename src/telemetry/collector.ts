import { Failure } from '../failure.ts';
import { tryParseJson } from '../schema/json.ts';
import { isObject } from '../schema/untrusted.ts';
import { LightAbortSignal } from '../upstream/abort-signal.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import type { OtlpSettings } from './tracer.ts';

/** Statuses after which the same data may be sent again (OTLP, 1.10: retryable response codes). */
const RETRIABLE = new Set([429, 502, 503, 504]);

/** Bytes of a response that are read. */
const MAX_RESPONSE = 64 * 1024;

/** The outcome of one request. */
export interface Delivery {
  /** Whether the collector answered with success. */
  readonly isAccepted: boolean;
  /** Spans or data points that an accepting collector refused. */
  readonly rejected: number;
  readonly isRetriable: boolean;
  /** Seconds until the collector wants the next request; null without its word. */
  readonly retryAfter: number | null;
  /** Why it failed, for the log: a status or a code. The words of a collector are not logged. */
  readonly reason: string;
}

/** Sends telemetry to a collector, which can be slow, absent or hostile. */
export class Collector {
  readonly #upstream: UpstreamClient;
  readonly #settings: OtlpSettings;
  /** Aborted when the time to send is over. */
  readonly #signal = new LightAbortSignal();

  constructor(upstream: UpstreamClient, settings: OtlpSettings) {
    this.#upstream = upstream;
    this.#settings = settings;
  }

  /** Sends one request. Never throws. @param signal `traces` or `metrics` */
  async post(signal: 'traces' | 'metrics', body: string | Buffer): Promise<Delivery> {
    const { endpoint, headers, timeout } = this.#settings;
    try {
      const response = await this.#upstream.open(`${endpoint}/v1/${signal}`, {
        name: 'The collector',
        headers: { 'content-type': 'application/json', ...headers },
        body,
        timeouts: { connect: timeout, firstByte: timeout, idle: timeout, total: timeout },
        signal: this.#signal,
      });
      const text = await response.bytes(MAX_RESPONSE).then(String, () => '');
      const { status } = response;
      const isAccepted = status >= 200 && status < 300;
      const after = Number.parseInt(response.headers['retry-after'] ?? '', 10);
      return {
        isAccepted,
        rejected: isAccepted ? rejectedIn(text) : 0,
        isRetriable: RETRIABLE.has(status),
        retryAfter: Number.isNaN(after) ? null : after,
        reason: `HTTP ${status}`,
      };
    } catch (error) {
      const reason = error instanceof Failure ? (error.code ?? error.type) : String(error);
      return { isAccepted: false, rejected: 0, isRetriable: true, retryAfter: null, reason };
    }
  }

  /** Aborts requests under way; later ones fail at once. */
  abort(): void {
    this.#signal.abort(new Failure('network_error', 'the server stops', { code: 'aborted' }));
  }
}

/** The number of spans or data points that a partial success refuses; 64-bit integers are texts in JSON. */
function rejectedIn(text: string): number {
  const answer = tryParseJson(text);
  const partial = isObject(answer) ? answer['partialSuccess'] : null;
  if (!isObject(partial)) return 0;
  const count = Number(partial['rejectedSpans'] ?? partial['rejectedDataPoints'] ?? 0);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}
