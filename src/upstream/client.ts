import type * as undici from 'undici';
import type { Dispatcher } from 'undici';
import { codedFailure } from '../failure.ts';
import { getOrInsert } from '../maps.ts';
import { decompressed } from './decompressed-response.ts';
import { abortedFailure } from './failures.ts';
import {
  guardedConnector,
  type Resolve,
  resolveByDns,
  resolveBySystem,
} from './guarded-connector.ts';
import type { NetworkPolicy } from './network-policy.ts';
import type { UpstreamRequest } from './request.ts';
import type { AuthorizedRequest, UpstreamResponse } from './response.ts';
import { ResponseHandler } from './response-handler.ts';
import { Agent, EnvHttpProxyAgent, Pool, ProxyAgent } from './undici.ts';

/**
 * Milliseconds that an idle connection is kept open where its server does not say. Longer than
 * undici's 4 s, since a handshake costs more than the odd connection that the server closes meanwhile.
 */
const KEEP_ALIVE_TIMEOUT_MS = 30_000;

/** Entries of the cache of parsed URLs. */
const MAX_PARSED_URLS = 256;

/** Dispatchers of proxies: reloads may change the proxies of providers any number of times. */
const MAX_PROXIES = 64;

interface ParsedUrl {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
}

interface UpstreamClientOptions {
  /** Name resolution of guarded connections; by default DNS, or the system where private addresses are allowed. */
  readonly resolve?: Resolve;
}

/** HTTP client for other servers; keeps connections open between requests. */
export class UpstreamClient {
  /** Dispatchers by connect timeout in milliseconds, which undici takes once for all requests. */
  readonly #dispatchers = new Map<number, Dispatcher>();
  /** Dispatchers of requests with a network policy. No two policies share connections. */
  readonly #guarded = new Map<number, { policy: NetworkPolicy; dispatcher: Dispatcher }>();
  readonly #resolve: Resolve | undefined;
  /** Dispatchers by proxy and connect timeout. */
  readonly #proxied = new Map<string, Dispatcher>();
  /** Parsed URLs by text: parsing a URL takes as long as reading a small response. */
  readonly #urls = new Map<string, ParsedUrl>();
  #closed = false;

  constructor({ resolve }: UpstreamClientOptions = {}) {
    this.#resolve = resolve;
  }

  /**
   * Sends a request once, and resolves as soon as the response headers are here. Follows no redirect.
   *
   * @throws Failure `network_error` with code `unreachable` where the server cannot have received the
   *   request, `connection_lost` where it may have, and `aborted` where the signal was aborted (the
   *   signal's reason, where that is a Failure); `timeout` with code `connect_timeout`,
   *   `first_byte_timeout`, `idle_timeout` or `total_timeout`;
   *   `invalid_request` with code `private_address` or `address_denied` where the network policy
   *   refuses the addresses of the host
   */
  open(url: string, request: AuthorizedRequest): Promise<UpstreamResponse> {
    if (request.authorize === undefined) return this.#send(url, request);
    return request.authorize(url, request, this).then(async ({ headers, read }) => {
      const all = { ...request.headers, ...headers };
      const response = await this.#send(url, { ...request, headers: all });
      return read?.(response) ?? response;
    });
  }

  #send(url: string, request: UpstreamRequest): Promise<UpstreamResponse> {
    return new Promise((resolve, reject) => {
      const { origin, host, path } = this.#parse(url);
      const { signal, name: server = host } = request;
      if (signal.aborted || this.#closed) throw abortedFailure(server, signal.reason);
      const onHeaders = (response: ResponseHandler) => {
        try {
          resolve(decompressed(response, server, signal));
        } catch (error) {
          reject(error);
        }
      };
      this.#dispatcher(request).dispatch(
        {
          origin,
          path,
          method: request.method ?? 'POST',
          headers: { ...request.headers, 'accept-encoding': 'identity' },
          // undici also sends async iterables, which its types lack.
          body: (request.body ?? null) as NonNullable<Dispatcher.DispatchOptions['body']> | null,
        },
        new ResponseHandler(server, request, { resolve: onHeaders, reject }),
      );
    });
  }

  /** Aborts the requests under way, and closes all connections. */
  async close(): Promise<void> {
    this.#closed = true;
    const guarded = [...this.#guarded.values()].map(({ dispatcher }) => dispatcher);
    const all = [...this.#dispatchers.values(), ...this.#proxied.values(), ...guarded];
    await Promise.all(all.map((each) => each.destroy()));
  }

  #parse(url: string): ParsedUrl {
    let parsed = this.#urls.get(url);
    if (parsed === undefined) {
      const { origin, host, pathname, search } = parseUrl(url);
      parsed = { origin, host, path: pathname + search };
      if (this.#urls.size >= MAX_PARSED_URLS) this.#urls.clear();
      this.#urls.set(url, parsed);
    }
    return parsed;
  }

  #dispatcher({ networkPolicy, proxy, timeouts: { connect } }: UpstreamRequest): Dispatcher {
    // A proxy would resolve the name again, past the policy.
    if (networkPolicy !== undefined) return this.#guardedDispatcher(networkPolicy, connect);
    if (proxy !== undefined) return this.#proxiedDispatcher(proxy, connect);
    return getOrInsert(this.#dispatchers, connect, () => newDispatcher({ timeout: connect }));
  }

  #proxiedDispatcher(proxy: string, connect: number): Dispatcher {
    const name = `${connect} ${proxy}`;
    let dispatcher = this.#proxied.get(name);
    if (dispatcher === undefined) {
      dispatcher = proxyDispatcher(proxy, connect, AGENT_OPTIONS);
      this.#proxied.set(name, dispatcher);
      const [oldest] = this.#proxied;
      if (this.#proxied.size > MAX_PROXIES) {
        // Requests under way may end.
        this.#proxied.delete(oldest![0]);
        oldest![1].close().catch(() => {});
      }
    }
    return dispatcher;
  }

  #guardedDispatcher(policy: NetworkPolicy, connect: number): Dispatcher {
    const known = this.#guarded.get(connect);
    if (known?.policy === policy) return known.dispatcher;
    // After a reload: requests under way may end, but the old policy's connections serve no new ones.
    known?.dispatcher.close().catch(() => {});
    const { allowsPrivate } = policy;
    const resolve = this.#resolve ?? (allowsPrivate ? resolveBySystem : resolveByDns);
    const connector = guardedConnector(connect, policy, resolve);
    const dispatcher = allowsPrivate
      ? newDispatcher(connector)
      : // A proxy would resolve the name again, and reach addresses that only the proxy reaches.
        new Agent({ ...AGENT_OPTIONS, connect: connector });
    this.#guarded.set(connect, { policy, dispatcher });
    return dispatcher;
  }
}

const AGENT_OPTIONS: undici.Agent.Options = {
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  pipelining: 1,
  allowH2: false,
  // ResponseHandler enforces the timeouts.
  headersTimeout: 0,
  bodyTimeout: 0,
};

function newDispatcher(connect: NonNullable<undici.Agent.Options['connect']>): Dispatcher {
  const options: undici.Agent.Options = { ...AGENT_OPTIONS, connect };
  // Plain HTTP bypasses the proxy: only the operator's own servers are reached by it.
  return process.env['HTTPS_PROXY'] || process.env['https_proxy']
    ? new EnvHttpProxyAgent({ ...options, httpProxy: '' })
    : new Agent(options);
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw codedFailure('upstream_request_invalid', 'The address of the provider is no http(s) URL');
  }
  return url;
}

/**
 * A dispatcher whose connections are tunnels through an HTTP proxy, also for plain HTTP.
 *
 * @param proxy its URL, with its credentials
 * @param connect milliseconds until the connection to the proxy, the tunnel and its TLS are there, each
 */
function proxyDispatcher(
  proxy: string,
  connect: number,
  options: undici.Agent.Options,
): Dispatcher {
  const { origin, username, password } = new URL(proxy);
  const hasCredentials = username !== '' || password !== '';
  const tls = { timeout: connect, allowH2: false };
  return new ProxyAgent({
    ...options,
    uri: origin,
    // Undici sends credentials in the URL only if both the name and the password are there.
    ...(hasCredentials && { token: `Basic ${basicCredentials(username, password)}` }),
    requestTls: tls,
    proxyTls: tls,
    // The proxy's answer to CONNECT has this limit.
    clientFactory: (url, pool) => new Pool(url, { ...pool, headersTimeout: connect }),
  });
}

function basicCredentials(username: string, password: string): string {
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return Buffer.from(text).toString('base64');
}
