import { headersOf, type RemoteProvider, urlOf } from '../../config/provider-kinds.ts';
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
  readonly provider: RemoteProvider;
  readonly target: Target;
  /** The provider's name, key and address, which no failure may show to clients. */
  readonly origin: ProviderOrigin;
  readonly timeouts: Timeouts;
}

/** One request of the `n` that answer a client's. */
interface UpstreamRequest {
  readonly body: Json;
  /** Whether it asks for a stream. */
  readonly stream: boolean;
  readonly signal: AbortSignalLike;
}

/** @throws Failure where the upstream cannot be reached, or answers with another status than 2xx */
export async function openUpstream(
  execution: TextExecution,
  { provider, target, timeouts }: RemoteRoute,
  { body, stream, signal }: UpstreamRequest,
): Promise<UpstreamResponse> {
  const { upstream } = execution;
  const { path } = dialectNamed(target.dialect);
  const at = { path: path(target, stream), model: target.model };
  const exchange = await upstream.open(urlOf(provider, at), {
    name: 'The provider',
    headers: requestHeaders(execution, provider, target),
    body: JSON.stringify(body),
    timeouts,
    proxy: provider.proxy,
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

function requestHeaders(
  { request, forwarded }: TextExecution,
  provider: RemoteProvider,
  { dialect }: Target,
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...dialectNamed(dialect).headers,
    ...(request.dialect === dialect && forwarded.sent),
  };
  const own = headersOf(provider);
  // Betas of the client and of the provider's settings are one list.
  for (const name in own) {
    const isList = name === 'anthropic-beta' && headers[name] !== undefined;
    headers[name] = isList ? `${own[name]},${headers[name]}` : own[name]!;
  }
  return headers;
}
