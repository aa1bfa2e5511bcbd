import { createHash } from 'node:crypto';
import type { Config } from '../config/settings/schema.ts';
import { isInSample, parseTraceparent, randomId, Trace, type TraceContext } from './trace.ts';

export type OtlpSettings = NonNullable<Config['telemetry']['otlp']>;

/** A task as far as its identifiers in a trace depend on it. */
export interface TracedTask {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The header of the request that created it. */
  readonly traceparent?: string;
}

/** Begins the spans of requests and tasks. */
export class Tracer {
  readonly #settings: Pick<OtlpSettings, 'sampling' | 'propagate'>;
  readonly #send: (span: string) => void;

  /** @param send takes an ended span in JSON */
  constructor(
    settings: Pick<OtlpSettings, 'sampling' | 'propagate'>,
    send: (span: string) => void,
  ) {
    this.#settings = settings;
    this.#send = send;
  }

  /**
   * Begins the span of a request that arrives now.
   *
   * @param traceparent the header of the request
   * @returns null where the trace is neither sampled nor propagated
   */
  request(traceparent: unknown): Trace | null {
    const parent = parseTraceparent(traceparent);
    const traceId = parent?.traceId ?? randomId() + randomId();
    const isSampled = parent?.isSampled ?? isInSample(traceId, this.#settings.sampling);
    const parentId = parent?.spanId ?? null;
    return this.#trace({ traceId, spanId: randomId(), parentId, isSampled });
  }

  /**
   * The span of a task. Its identifiers derive from the task, so that spans of several processes form one trace.
   *
   * @returns null as `request` does
   */
  task({ id, createdAt, traceparent }: TracedTask): Trace | null {
    const hash = createHash('sha256').update(id).digest('hex');
    const parent = parseTraceparent(traceparent);
    const traceId = parent?.traceId ?? hash.slice(0, 32);
    const isSampled = parent?.isSampled ?? isInSample(traceId, this.#settings.sampling);
    const context = { traceId, spanId: hash.slice(32, 48), isSampled };
    const trace = this.#trace({ ...context, parentId: parent?.spanId ?? null }, createdAt);
    if (trace !== null) trace.operation = 'generate_content';
    return trace;
  }

  #trace(context: TraceContext, createdAt?: number): Trace | null {
    const { propagate } = this.#settings;
    if (!context.isSampled && !propagate) return null;
    return new Trace(context, { send: this.#send, propagate, createdAt });
  }
}
