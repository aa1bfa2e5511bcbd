import type { TextRoute } from '../../config/catalog/catalog.ts';
import {
  headersOf,
  kindOf,
  type RemoteProvider,
  urlOf,
} from '../../config/providers/provider-kinds.ts';
import type { Config } from '../../config/settings/schema.ts';
import type { ProviderOrigin } from '../../routing/redaction.ts';
import { timeoutsOf } from '../../routing/retry-policy.ts';
import { upstreamFailure } from '../../routing/upstream-failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import type { Trace } from '../../telemetry/trace.ts';
import type { AbortSignalLike } from '../../upstream/abort-signal.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { Upstream, UpstreamResponse } from '../../upstream/response.ts';
import type { Json } from '../canonical/canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { upstreamFor } from './answer-cache.ts';
import type { TextExecution } from './execution.ts';

/** Bytes that are read of a response that reports a failure. */
const MAX_FAILURE_BYTES = 1024 * 1024;

/** Half of the smallest input that Anthropic caches: the tokens are estimated, and too many marks cost nothing. */
const LEAST_CACHED_TOKENS = 512;

/** Paths of fields by which clients of all formats choose what is cached. */
const CLIENT_MARK = /(?:^|\.)(?:cache_control|prompt_cache_(?:breakpoint|options))$/;

/** A route to a provider that is asked over the network. */
export interface RemoteRoute {
  readonly route: TextRoute;
  readonly provider: RemoteProvider;
  readonly target: Target;
  /** The provider's name, key and address, which no failure may show to clients. */
  readonly origin: ProviderOrigin;
  readonly timeouts: Timeouts;
}

/** One request of the `n` that answer a client's. */
interface UpstreamRequest extends Pick<ProviderRequest, 'body' | 'signal'> {
  /** Whether it asks for a stream. */
  readonly stream: boolean;
  /** Which of several answers it is for. */
  readonly choice?: number;
}

/** @throws Failure where the upstream cannot be reached, or answers with another status than 2xx */
export function openUpstream(
  execution: TextExecution,
  { route, provider, target, timeouts }: RemoteRoute,
  { body, stream, signal, choice = 0 }: UpstreamRequest,
): Promise<UpstreamResponse> {
  const { call, request, forwarded } = execution;
  const upstream = upstreamFor(execution, target.dialect, body, choice);
  const { path, headers, withCacheMarks } = dialectNamed(target.dialect);
  const isMarked = route.promptCaching === 'auto' && mayBeMarked(execution);
  return openProvider(upstream, provider, {
    path: path(target, stream) + (call.isCompaction ? '/compact' : ''),
    model: target.model,
    stream,
    headers: { ...headers, ...(request.dialect === target.dialect && forwarded.sent) },
    trace: call.report.trace,
    body: isMarked && withCacheMarks ? withCacheMarks(body) : body,
    timeouts,
    signal,
  });
}

/** Whether a prompt is long enough for a cache, and its client has not decided itself what is cached. */
function mayBeMarked({ request, inputTokens }: TextExecution): boolean {
  const isLong = inputTokens.some((tokens) => tokens >= LEAST_CACHED_TOKENS);
  return isLong && !request.advice.some((path) => CLIENT_MARK.test(path));
}

/** The timeouts of a request whose answer is needed by a deadline, in `performance.now()`. */
export function timeoutsUntil(
  deadline: number,
  config: Config,
  provider: RemoteProvider,
  isStreamed = false,
): Timeouts {
  const timeouts = timeoutsOf(config, provider);
  const remaining = deadline - performance.now();
  return {
    ...timeouts,
    // A whole answer begins when it is complete, so that only a stream has a limit for its first byte.
    firstByte: isStreamed ? timeouts.firstByte : 0,
    total: Math.max(1, Math.min(remaining, timeouts.total)),
  };
}

/** A request of any endpoint to a provider. */
export interface ProviderRequest {
  /** The endpoint's path below the base URL. */
  readonly path: string;
  /** The provider's name of the model. */
  readonly model: string;
  /** Whether the answer is streamed. */
  readonly stream?: boolean;
  /** Headers of the format, beside those with the key. */
  readonly headers: Readonly<Record<string, string>>;
  /** Absent or null where the request is not traced. */
  readonly trace?: Trace | null;
  /** POST by default. */
  readonly method?: 'GET';
  readonly body: Json;
  /** What is sent in place of the body. */
  readonly content?: AsyncGenerator<Buffer, void>;
  readonly timeouts: Timeouts;
  readonly signal: AbortSignalLike;
}

/** @throws Failure where the provider cannot be reached, or answers with another status than 2xx */
export function openProvider(
  upstream: Upstream,
  provider: RemoteProvider,
  { headers: own, trace, method, body, content, timeouts, signal, ...address }: ProviderRequest,
): Promise<UpstreamResponse> {
  const { apiKey } = provider;
  const { path, model } = address;
  const kind = kindOf(provider);
  const traceparent = trace?.traceparent;
  const headers = requestHeaders(provider, traceparent ? { ...own, traceparent } : own);
  const opening = upstream.open(urlOf(provider, address), {
    name: 'The provider',
    // What is no request to a model is not recorded.
    ...(model !== '' && { exchange: { model, path } }),
    ...(method
      ? { method }
      : { body: content ?? JSON.stringify(kind.body?.(body, address, headers, provider) ?? body) }),
    headers,
    authorize: kind.authorize?.(provider),
    timeouts,
    proxy: provider.proxy,
    signal,
  });
  return opening.then((exchange) => {
    if (exchange.status >= 200 && exchange.status < 300) return exchange;
    return throwFailure(exchange, apiKey);
  });
}

async function throwFailure(
  exchange: UpstreamResponse,
  apiKey: string | undefined,
): Promise<never> {
  const text = await exchange.bytes(MAX_FAILURE_BYTES).then(String, () => '');
  throw upstreamFailure(exchange.status, tryParseJson(text) ?? text, {
    retryAfter: exchange.headers['retry-after'],
    retryAfterMs: exchange.headers['retry-after-ms'],
    location: exchange.headers['location'],
    apiKey,
  });
}

function requestHeaders(
  provider: RemoteProvider,
  headers: Readonly<Record<string, string>>,
): Record<string, string> {
  const all: Record<string, string> = { 'content-type': 'application/json', ...headers };
  const own = headersOf(provider);
  // Betas of the client and of the provider's settings are one list.
  for (const name in own) {
    const isList = name === 'anthropic-beta' && all[name] !== undefined;
    all[name] = isList ? `${own[name]},${all[name]}` : own[name]!;
  }
  return all;
}
