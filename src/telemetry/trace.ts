import { genAiNameOf, isRemote, type Provider } from '../config/providers/provider-kinds.ts';
import { ERROR_CODES } from '../error-codes.ts';
import type { Failure } from '../failure.ts';
import { randomHex } from '../store/identifier.ts';
import { Attributes, jsonText } from './attributes.ts';

/** Kinds of spans and codes of their status, as OTLP numbers them. */
const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

/** Flags of a span: sampled, and whether its parent is known to be in another process. */
const SAMPLED = 0x101;
const REMOTE = 0x200;

/** The longest finish reason that is kept, and how many of one answer. */
const MAX_REASON = 64;
const MAX_REASONS = 16;

interface TraceOptions {
  /** Takes an ended span in JSON. */
  readonly send: (span: string) => void;
  /** Whether providers are sent a traceparent. */
  readonly propagate: boolean;
  /** Milliseconds since the epoch; now by default. */
  readonly createdAt: number | undefined;
}

interface Attempt {
  readonly spanId: string;
  /** Time of `performance.now()`. */
  readonly startedAt: number;
  readonly provider: Provider;
  /** The provider's name in the configuration, and its name of the model. */
  readonly route: { readonly provider: string; readonly model: string };
}

const PROVIDERS = new WeakMap<Provider, Attributes>();

/** The attributes that all attempts at a provider have; made once for each loaded configuration. */
function attributesOf(provider: Provider): Attributes {
  let attributes = PROVIDERS.get(provider);
  if (attributes === undefined) {
    attributes = new Attributes().text('gen_ai.provider.name', genAiNameOf(provider));
    if (isRemote(provider)) attributes.all(addressAttributes(provider.baseUrl));
    PROVIDERS.set(provider, attributes);
  }
  return attributes;
}

/** `server.address` and `server.port` of a URL. */
export function addressAttributes(url: string): Attributes {
  const { hostname, port, protocol } = new URL(url);
  return new Attributes()
    .text('server.address', hostname)
    .integer('server.port', Number(port) || (protocol === 'https:' ? 443 : 80));
}

/** What ends a span beside its time. */
export interface SpanEnd {
  readonly name: string;
  readonly attributes: Attributes;
  readonly isError: boolean;
}

/** `error.type` of a span: a code of Oriel's, else the type, since providers choose other codes. */
export function errorTypeOf({ type, code }: Pick<Failure, 'type' | 'code'>): string {
  return code !== null && Object.hasOwn(ERROR_CODES, code) ? code : type;
}

/** The span of one request or task, and those of its attempts at providers, which follow one another. */
export class Trace {
  readonly context: TraceContext;
  /** `gen_ai.operation.name`. */
  operation = 'chat';
  /** The model that the last attempt's answer names, by the provider's word. */
  responseModel: string | null = null;
  /** Why the answers of the last attempt ended, in the provider's words. */
  finishReasons: string[] = [];
  readonly #options: TraceOptions;
  /** Time of `performance.now()`, and the same in milliseconds since the epoch. */
  readonly #createdAt = performance.now();
  readonly #createdMs = Date.now();
  #attempt: Attempt | null = null;

  constructor(context: TraceContext, options: TraceOptions) {
    this.context = context;
    this.#options = options;
  }

  /** The header for the attempt under way; null where providers are sent none. */
  get traceparent(): string | null {
    if (!this.#options.propagate || this.#attempt === null) return null;
    const { traceId, isSampled } = this.context;
    return `00-${traceId}-${this.#attempt.spanId}-${isSampled ? '01' : '00'}`;
  }

  /** Begins an attempt at a provider. */
  begin(route: Attempt['route'], provider: Provider): void {
    this.responseModel = null;
    this.finishReasons = [];
    this.#attempt = { spanId: randomId(), startedAt: performance.now(), route, provider };
  }

  /** Records the model that an answer names. */
  named(model: string | null): void {
    this.responseModel ??= model;
  }

  /** Records why one answer ended. */
  finished(reason: string): void {
    if (this.finishReasons.length < MAX_REASONS) {
      this.finishReasons.push(reason.slice(0, MAX_REASON));
    }
  }

  /** Forgets an attempt that was not sent. */
  discard(): void {
    this.#attempt = null;
  }

  /**
   * Ends the attempt under way.
   *
   * @param failure null for success
   * @param key names one of several keys of the provider; null for an only key
   */
  end(failure: Failure | null, key: string | null): void {
    const attempt = this.#attempt;
    if (attempt === null) return;
    this.#attempt = null;
    if (!this.context.isSampled) return;
    const { route, provider } = attempt;
    const attributes = new Attributes()
      .text('gen_ai.operation.name', this.operation)
      .all(attributesOf(provider))
      .text('gen_ai.request.model', route.model)
      .text('gen_ai.response.model', this.responseModel)
      .texts('gen_ai.response.finish_reasons', this.finishReasons)
      .text('oriel.provider', route.provider)
      .text('oriel.provider.key', key);
    if (isRemote(provider)) {
      const status = failure === null ? 200 : failure.upstreamStatus;
      attributes.integer('http.response.status_code', status);
    }
    if (failure !== null) attributes.text('error.type', errorTypeOf(failure));
    this.#send({
      spanId: attempt.spanId,
      parentId: this.context.spanId,
      kind: CLIENT,
      flags: SAMPLED,
      start: this.#epoch(attempt.startedAt),
      end: this.#epoch(performance.now()),
      ...{ name: `${this.operation} ${route.model}`, attributes, isError: failure !== null },
    });
  }

  /** Ends the span of the request or task. @param at milliseconds since the epoch; now by default */
  close(end: SpanEnd, at: number = this.#epoch(performance.now())): void {
    const { spanId, parentId, isSampled } = this.context;
    if (!isSampled) return;
    this.#send({
      spanId,
      parentId,
      kind: SERVER,
      flags: parentId === null ? SAMPLED : SAMPLED | REMOTE,
      start: this.#options.createdAt ?? this.#createdMs,
      end: at,
      ...end,
    });
  }

  /** Milliseconds since the epoch of a time of `performance.now()`. */
  #epoch(time: number): number {
    return this.#createdMs + time - this.#createdAt;
  }

  #send(span: SpanEnd & SpanFrame): void {
    const parent = span.parentId === null ? '' : `,"parentSpanId":"${span.parentId}"`;
    this.#options.send(
      `{"traceId":"${this.context.traceId}","spanId":"${span.spanId}"${parent},"flags":${span.flags},` +
        `"name":${jsonText(span.name)},"kind":${span.kind},` +
        `"startTimeUnixNano":"${nanoseconds(span.start)}",` +
        `"endTimeUnixNano":"${nanoseconds(Math.max(span.start, span.end))}",` +
        `"attributes":${span.attributes},"status":${span.isError ? `{"code":${ERROR}}` : '{}'}}`,
    );
  }
}

interface SpanFrame {
  readonly spanId: string;
  readonly parentId: string | null;
  readonly kind: number;
  readonly flags: number;
  /** Milliseconds since the epoch. */
  readonly start: number;
  readonly end: number;
}

/** Nanoseconds since the epoch, which have more digits than a number. @param time in milliseconds */
export function nanoseconds(time: number): string {
  const whole = Math.floor(time);
  return `${whole}${String(Math.floor((time - whole) * 1e6)).padStart(6, '0')}`;
}

/** The identity of a span (W3C Trace Context). Identifiers are in hexadecimal. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** The span of the client; null for the first span of a trace. */
  readonly parentId: string | null;
  readonly isSampled: boolean;
}

/** Version, trace, span and flags; later versions may append fields (W3C Trace Context, 3.2 and 4). */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

const MAX_TRACEPARENT = 256;

/** The client's span; null without a valid header. */
export function parseTraceparent(header: unknown) {
  if (typeof header !== 'string' || header.length > MAX_TRACEPARENT) return null;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(header) ?? [];
  if (traceId === undefined || (version === '00' && more !== undefined)) return null;
  return { traceId, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

/** A random identifier of a span; two of them are one of a trace. */
export function randomId(): string {
  const id = randomHex(8);
  return id === '0000000000000000' ? randomId() : id;
}

/** Whether a trace is in a share of all traces, by its identifier: all spans of a trace agree. */
export function isInSample(traceId: string, share: number): boolean {
  return Number.parseInt(traceId.slice(-12), 16) < share * 2 ** 48;
}
