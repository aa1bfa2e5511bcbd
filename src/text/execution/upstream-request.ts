import type { TextRoute } from '../../config/catalog/catalog.ts';
import type { RemoteProvider } from '../../config/providers/provider-kinds.ts';
import { openProvider, type ProviderRequest } from '../../routing/provider-request.ts';
import type { ProviderOrigin } from '../../routing/redaction.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { Json } from '../canonical/canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { upstreamFor } from './answer-cache.ts';
import type { TextExecution } from './execution.ts';

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
interface UpstreamRequest extends Pick<ProviderRequest, 'signal'> {
  readonly body: Json;
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
    traceparent: call.report.trace?.traceparent,
    json: isMarked && withCacheMarks ? withCacheMarks(body) : body,
    timeouts,
    signal,
  });
}

/** Whether a prompt is long enough for a cache, and its client has not decided itself what is cached. */
function mayBeMarked({ request, inputTokens }: TextExecution): boolean {
  const isLong = inputTokens.some((tokens) => tokens >= LEAST_CACHED_TOKENS);
  return isLong && !request.advice.some((path) => CLIENT_MARK.test(path));
}
