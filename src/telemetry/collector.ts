import { codedFailure, Failure } from '../failure.ts';
import { tryParseJson } from '../schema/json.ts';
import { isObject } from '../schema/untrusted.ts';
import { LightAbortSignal } from '../upstream/abort-signal.ts';
import type { Upstream } from '../upstream/response.ts';
import type { OtlpSettings } from './tracer.ts';

/** Statuses after which the same data may be sent again (OTLP, 1.10: retryable response codes). */
const RETRIABLE = new Set([429, 502, 503, 504]);

/** Bytes of a response that are read. */
const MAX_RESPONSE = 64 * 1024;

/** Sends telemetry to a collector, which can be slow, absent or hostile. */
export class Collector {
  readonly #upstream: Upstream;
  readonly #settings: OtlpSettings;
  /** Aborted when the time to send is over. */
  readonly #signal = new LightAbortSignal();

  constructor(upstream: Upstream, settings: OtlpSettings) {
    this.#upstream = upstream;
    this.#settings = settings;
  }

  /** Sends one request. Never throws. @param signal `traces` or `metrics` */
  async post(signal: 'traces' | 'metrics', body: string | Buffer) {
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
        /** Spans or data points that an accepting collector refused. */
        rejected: isAccepted ? rejectedIn(text) : 0,
        isRetriable: RETRIABLE.has(status),
        /** Seconds until the collector wants the next request; null without its word. */
        retryAfter: Number.isNaN(after) ? null : after,
        /** Why it failed, for the log: a status or a code. The words of a collector are not logged. */
        reason: `HTTP ${status}`,
      };
    } catch (error) {
      const reason = error instanceof Failure ? (error.code ?? error.type) : String(error);
      return { isAccepted: false, rejected: 0, isRetriable: true, retryAfter: null, reason };
    }
  }

  /** Aborts requests under way; later ones fail at once. */
  abort(): void {
    this.#signal.abort(codedFailure('aborted', 'the server stops'));
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

/** Spans of one request to the collector, and milliseconds for which the first of them waits. */
const BATCH = 512;
const DELAY_MS = 1000;

/** Spans and their bytes that wait for the collector; further ones are dropped. */
const MAX_SPANS = 4096;
const MAX_LENGTH = 16 * 1024 * 1024;

/** Requests for the same spans, and milliseconds before the second one, which double. */
const MAX_TRIES = 5;
const BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 30_000;

interface SpanQueueOptions {
  readonly collector: Collector;
  /** JSON before and after the list of spans of a request. */
  readonly frame: readonly [before: string, after: string];
  /** Called with spans that the collector did not get. */
  readonly onDropped: (spans: number) => void;
  /** Called after each request. @param reason of a failure; null for success */
  readonly onSent: (reason: string | null) => void;
}

/** Spans that wait for the collector. No request waits for it. */
export class SpanQueue {
  readonly #options: SpanQueueOptions;
  /** Spans, each after a comma. Outside of the heap, where thousands of texts would delay each collection. */
  #spans: Buffer[] = [];
  #length = 0;
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;
  #closing = false;
  /** Ends a wait between two tries. */
  #wake: () => void = () => {};

  constructor(options: SpanQueueOptions) {
    this.#options = options;
  }

  push(span: string): void {
    if (this.#spans.length >= MAX_SPANS || this.#length + span.length > MAX_LENGTH) {
      this.#options.onDropped(1);
      return;
    }
    const bytes = Buffer.from(`,${span}`);
    this.#spans.push(bytes);
    this.#length += bytes.length;
    if (this.#sending !== null) return;
    if (this.#spans.length >= BATCH || this.#closing) this.#start();
    else this.#timer ??= setTimeout(() => this.#start(), DELAY_MS).unref();
  }

  /** Sends what waits, each batch once. The caller aborts the collector when the time is over. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#wake();
    await this.#sending;
    if (this.#spans.length > 0) this.#start();
    await this.#sending;
  }

  #start(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
      // Spans may have come since the last batch.
      if (this.#spans.length > 0) this.#timer = setTimeout(() => this.#start(), DELAY_MS).unref();
    });
  }

  async #sendAll(): Promise<void> {
    do {
      const batch = this.#spans.splice(0, BATCH);
      for (const span of batch) this.#length -= span.length;
      await this.#send(batch);
    } while (this.#spans.length >= BATCH || (this.#closing && this.#spans.length > 0));
  }

  async #send(batch: readonly Buffer[]): Promise<void> {
    const { collector, frame, onDropped, onSent } = this.#options;
    const [first, ...others] = batch as [Buffer, ...Buffer[]];
    const parts = [Buffer.from(frame[0]), first.subarray(1), ...others, Buffer.from(frame[1])];
    const body = Buffer.concat(parts);
    for (let tries = 1; ; tries += 1) {
      const { isAccepted, isRetriable, rejected, retryAfter, reason } = await collector.post(
        'traces',
        body,
      );
      const isPartial = isAccepted && rejected > 0;
      onSent(isAccepted && !isPartial ? null : isPartial ? 'spans were rejected' : reason);
      if (isPartial) onDropped(Math.min(rejected, batch.length));
      if (isAccepted) return;
      if (!isRetriable || this.#closing || tries === MAX_TRIES) {
        onDropped(batch.length);
        return;
      }
      const backoff = BACKOFF_MS * 2 ** (tries - 1) * (1 - Math.random() / 2);
      await this.#wait(Math.min(MAX_BACKOFF_MS, Math.max(backoff, (retryAfter ?? 0) * 1000)));
    }
  }

  #wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
