import {
  headersOf,
  kindOf,
  type RemoteProvider,
  urlOf,
} from '../config/providers/provider-kinds.ts';
import type { Failure } from '../failure.ts';
import { tryParseJson } from '../schema/json.ts';
import type { UpstreamRequest } from '../upstream/request.ts';
import type { Upstream, UpstreamResponse } from '../upstream/response.ts';
import { upstreamFailure } from './upstream-failure.ts';

/** Bytes that are read of a response that reports a failure. */
const MAX_FAILURE_BYTES = 1024 * 1024;

type Json = Readonly<Record<string, unknown>>;

/** A request of any endpoint to a provider: a GET, unless it has a body. */
export interface ProviderRequest extends Pick<UpstreamRequest, 'timeouts' | 'signal'> {
  /** The endpoint's path below the base URL. */
  readonly path: string;
  /** The provider's name of the model; empty for a request to none, which is not recorded. */
  readonly model: string;
  /** Whether the answer is streamed. */
  readonly stream?: boolean;
  /** Headers of the format, beside those with the key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The span of the attempt; absent or null where the provider is sent none. */
  readonly traceparent?: string | null | undefined;
  /** A body of JSON. */
  readonly json?: Json;
  /** A body of another type, which a header names unless it is a form. */
  readonly content?: UpstreamRequest['body'];
}

/** @throws Failure where the provider cannot be reached, or answers with another status than 2xx */
export async function openProvider(
  upstream: Upstream,
  provider: RemoteProvider,
  { headers: own, traceparent, json, content, timeouts, signal, ...address }: ProviderRequest,
): Promise<UpstreamResponse> {
  const { path, model } = address;
  const kind = kindOf(provider);
  const headers: Record<string, string> = json
    ? { 'content-type': 'application/json', ...own }
    : { ...own };
  if (traceparent) headers['traceparent'] = traceparent;
  addOwnHeaders(headers, provider);
  const body = json
    ? JSON.stringify(kind.body?.(json, address, headers, provider) ?? json)
    : content;
  const exchange = await upstream.open(urlOf(provider, address), {
    name: 'The provider',
    ...(model !== '' && { exchange: { model, path } }),
    ...(body === undefined ? { method: 'GET' } : { body }),
    headers,
    authorize: kind.authorize?.(provider),
    timeouts,
    proxy: provider.proxy,
    signal,
  });
  if (exchange.status >= 200 && exchange.status < 300) return exchange;
  throw await failureIn(exchange, provider.apiKey);
}

async function failureIn(exchange: UpstreamResponse, apiKey: string | undefined): Promise<Failure> {
  const text = await exchange.bytes(MAX_FAILURE_BYTES).then(String, () => '');
  const { status, headers } = exchange;
  return upstreamFailure(status, tryParseJson(text) ?? text, {
    retryAfter: headers['retry-after'],
    retryAfterMs: headers['retry-after-ms'],
    location: headers['location'],
    apiKey,
  });
}

/** Adds the headers with the key, and those of the provider's settings. */
function addOwnHeaders(headers: Record<string, string>, provider: RemoteProvider): void {
  const own = headersOf(provider);
  for (const name in own) {
    // Betas of the client and of the settings are one list.
    const isList = name === 'anthropic-beta' && headers[name] !== undefined;
    headers[name] = isList ? `${own[name]},${headers[name]}` : own[name]!;
  }
}
