import type { TextRoute } from '../../config/catalog.ts';
import { kindOf, type RemoteProvider } from '../../config/provider-kinds.ts';
import type { ProviderOrigin } from '../../routing/redaction.ts';
import { upstreamFailure } from '../../routing/upstream-failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import type { AbortSignalLike } from '../../upstream/abort-signal.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { Json } from '../canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import type { TextExecution } from './execution.ts';

/** Bytes that are read of a response that reports a failure. */
const MAX_FAILURE_BYTES = 1024 * 1024;

/** A route to a provider that is asked over the network. */
export interface RemoteRoute {
  readonly route: TextRoute;
  readonly provider: RemoteProvider;
  readonly target: Target;
  /** The provider's name, key and address, which no failure may show to clients. */
  readonly origin: ProviderOrigin;
  readonly timeouts: Timeouts;
}

/** @throws Failure where the upstream cannot be reached, or answers with another status than 2xx */
export async function openUpstream(
  execution: TextExecution,
  { provider, target, timeouts }: RemoteRoute,
  body: Json,
  signal: AbortSignalLike,
): Promise<UpstreamResponse> {
  const { upstream, request } = execution;
  const { path } = dialectNamed(target.dialect);
  const exchange = await upstream.open(provider.baseUrl + path(target, request.stream), {
    name: 'The provider',
    headers: headersOf(execution, provider, target),
    body: JSON.stringify(body),
    timeouts,
    signal,
  });
  if (exchange.status >= 200 && exchange.status < 300) return exchange;
  const text = await exchange.bytes(MAX_FAILURE_BYTES).then(String, () => '');
  throw upstreamFailure(exchange.status, tryParseJson(text) ?? text, {
    retryAfter: exchange.headers['retry-after'],
    retryAfterMs: exchange.headers['retry-after-ms'],
    apiKey: provider.apiKey,
  });
}

function headersOf(
  { request, forwarded }: TextExecution,
  provider: RemoteProvider,
  { dialect }: Target,
): Record<string, string> {
  const { apiKey } = provider;
  return {
    'content-type': 'application/json',
    ...(apiKey !== undefined && kindOf(provider).credentials(apiKey)),
    ...dialectNamed(dialect).headers,
    ...(request.dialect === dialect && forwarded.sent),
  };
}
