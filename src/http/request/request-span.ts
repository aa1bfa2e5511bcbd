import type { FastifyRequest } from 'fastify';
import { genAiNameIn } from '../../config/providers/provider-kinds.ts';
import { toCredits } from '../../store/credits.ts';
import { Attributes } from '../../telemetry/attributes.ts';
import {
  addressAttributes,
  errorTypeOf,
  parseTraceparent,
  type Trace,
} from '../../telemetry/trace.ts';
import type { Tracer } from '../../telemetry/tracer.ts';
import type { TextReport } from '../../text/canonical/report.ts';
import type { GenAiMetrics } from '../observability/gen-ai-metrics.ts';
import type { AppContext } from './app-context.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `gen_ai.operation.name` of requests of the endpoint, or `batch`; endpoints without it have no spans. */
    readonly operation?: string;
  }
  interface FastifyRequest {
    /** Null where the request is not traced. */
    trace: Trace | null;
  }
}

/** Requests for batches of images, which no model answers. */
const BATCH = 'batch';

interface EndedRequest {
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  readonly context: AppContext;
}

/** Begins the span of a request, if its endpoint has spans. */
export function beginSpan(request: FastifyRequest, tracer: Tracer): void {
  const { operation } = request.routeOptions.config;
  if (operation === undefined) return;
  request.trace = tracer.request(request.headers.traceparent);
  if (request.trace !== null) request.trace.operation = operation;
}

/** The client's span, for the task that a request creates; nothing without one, or without traces. */
export function traceOf(
  { headers: { traceparent } }: FastifyRequest,
  { tracer }: AppContext,
): { readonly traceparent?: string } {
  const isUsed = tracer !== null && parseTraceparent(traceparent) !== null;
  return isUsed ? { traceparent: traceparent as string } : {};
}

let own = { url: '', attributes: new Attributes() };

/** The attributes that all requests have; made once for each address of the server. */
function ownAttributes(url: string): Attributes {
  if (own.url !== url) {
    const scheme = url.slice(0, url.indexOf(':'));
    own = {
      url,
      attributes: new Attributes().text('url.scheme', scheme).all(addressAttributes(url)),
    };
  }
  return own.attributes;
}

/** Ends the span of a request. Without a valid key it has none: strangers could fill the queue of spans. */
export function endSpan(
  request: FastifyRequest,
  trace: Trace,
  { path, status, context }: EndedRequest,
): void {
  if (!request.holder) return;
  const { method, routeOptions, textReport: report, firstFrameMs, failure: refusal } = request;
  const failure = refusal ?? report?.failure ?? null;
  const attributes = new Attributes()
    .text('http.request.method', method)
    .text('http.route', routeOptions.url)
    .text('url.path', path)
    .all(ownAttributes(context.publicUrl))
    .integer('http.response.status_code', status)
    .text('oriel.request.id', request.id)
    .text('oriel.key.id', request.holder.key.id);
  if (failure !== null) attributes.text('error.type', errorTypeOf(failure));
  const isBatch = trace.operation === BATCH;
  if (!isBatch) addModel(attributes, trace, report, context);
  if (firstFrameMs !== null) {
    attributes.double('gen_ai.response.time_to_first_chunk', firstFrameMs / 1000);
  }
  trace.close({
    name: isBatch
      ? `${method} ${routeOptions.url}`
      : [trace.operation, report?.model].filter((part) => part).join(' '),
    attributes,
    // A failure inside a stream has status 200. Neither refusals nor clients that leave are errors of a server.
    isError: status >= 500 || (status < 400 && (report?.failure ?? null) !== null),
  });
}

/** Observes a request for text or embeddings. @param ended `elapsed` in milliseconds */
export function observeGenAi(
  { textReport: report, firstFrameMs, failure: refusal, routeOptions }: FastifyRequest,
  metrics: GenAiMetrics,
  { elapsed, context }: { readonly elapsed: number; readonly context: AppContext },
): void {
  if (report === null) return;
  const failure = refusal ?? report.failure;
  metrics.observe({
    report,
    operation: routeOptions.config.operation ?? 'chat',
    provider: genAiNameIn(context.config.providers, report.provider),
    error: failure && errorTypeOf(failure),
    firstFrameMs,
    elapsed,
  });
}

/** Adds what the semantic conventions for generative AI have of a request, and Oriel's own attempts and credits. */
function addModel(
  attributes: Attributes,
  trace: Trace,
  report: TextReport | null,
  context: AppContext,
): void {
  attributes.text('gen_ai.operation.name', trace.operation);
  if (report === null) return;
  const { model, provider, attempts, usage, charge } = report;
  attributes
    .text('gen_ai.provider.name', genAiNameIn(context.config.providers, provider))
    .text('gen_ai.request.model', model)
    .text('gen_ai.response.model', trace.responseModel)
    .texts('gen_ai.response.finish_reasons', trace.finishReasons)
    .text('oriel.provider', provider)
    .integer('oriel.attempts', attempts);
  if (usage === null) return;
  attributes
    .integer('gen_ai.usage.input_tokens', usage.input)
    .integer('gen_ai.usage.output_tokens', usage.output)
    .integer('gen_ai.usage.cache_read.input_tokens', usage.cachedInput)
    .integer('gen_ai.usage.cache_creation.input_tokens', usage.cacheWrite)
    .integer('gen_ai.usage.reasoning.output_tokens', usage.reasoning)
    .double('oriel.credits', toCredits(charge));
}
