import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { Failure } from './failure.ts';
import { Answer } from './upstream/answer.ts';
import { inClear } from './upstream/decoded.ts';
import type { Exchange, ExchangeOptions } from './upstream/exchange.ts';
import { abortedFailure } from './upstream/failures.ts';
import {
  guardedConnector,
  type Resolve,
  resolveByDns,
  resolveBySystem,
} from './upstream/guarded-connector.ts';
import type { NetworkPolicy } from './upstream/network-policy.ts';

/**
 * Milliseconds that a connection is kept for the next request, where its server does not say. Longer
 * than undici's 4 s, since a handshake costs more than the odd connection that is closed meanwhile.
 */
const KEPT = 30_000;

/** Addresses that are remembered. */
const MOST_ADDRESSES = 256;

interface Address {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
}

interface UpstreamOptions {
  /** How guarded connections learn the addresses of a name; DNS, or the system where its own names are allowed. */
  readonly resolve?: Resolve;
}

/** The connections to other servers, kept open between requests. */
export class Upstream {
  /** By the milliseconds that a connection may take, which undici asks for once for all requests. */
  readonly #dispatchers = new Map<number, Dispatcher>();
  /** The same for requests that a policy governs. Their connections are shared with no other policy. */
  readonly #guarded = new Map<number, { policy: NetworkPolicy; dispatcher: Dispatcher }>();
  readonly #resolve: Resolve | undefined;
  /** Parsing an address takes as long as reading a small answer. */
  readonly #addresses = new Map<string, Address>();
  #closed = false;

  constructor({ resolve }: UpstreamOptions = {}) {
    this.#resolve = resolve;
  }

  /**
   * Sends a request once, and gives the answer as soon as its headers are here. Follows no redirect.
   *
   * @throws Failure `network_error` with code `unreachable` where nothing can have been received,
   *   `connection_lost` where the request may have been, and `aborted` where the signal said so (the
   *   signal's reason, where that is a Failure); `timeout` with code `connect_timeout`,
   *   `first_byte_timeout`, `idle_timeout` or `total_timeout`;
   *   `invalid_request` with code `private_address` or `address_denied` where the policy refuses
   *   the addresses of the host
   */
  async open(url: string, options: ExchangeOptions): Promise<Exchange> {
    const { origin, host, path } = this.#addressOf(url);
    const { signal, name: server = host } = options;
    if (signal.aborted || this.#closed) throw abortedFailure(server, signal.reason);
    const answer = await new Promise<Answer>((resolve, reject) => {
      this.#dispatcher(options).dispatch(
        {
          origin,
          path,
          method: options.method ?? 'POST',
          headers: { ...options.headers, 'accept-encoding': 'identity' },
          body: options.body ?? null,
        },
        new Answer(server, options, { resolve, reject }),
      );
    });
    return inClear(answer, server, signal);
  }

  /** Ends what is under way, and closes all connections. */
  async close(): Promise<void> {
    this.#closed = true;
    const guarded = [...this.#guarded.values()].map(({ dispatcher }) => dispatcher);
    const all = [...this.#dispatchers.values(), ...guarded];
    await Promise.all(all.map((each) => each.destroy()));
  }

  #addressOf(url: string): Address {
    let address = this.#addresses.get(url);
    if (address === undefined) {
      const { origin, host, pathname, search } = parsed(url);
      address = { origin, host, path: pathname + search };
      if (this.#addresses.size >= MOST_ADDRESSES) this.#addresses.clear();
      this.#addresses.set(url, address);
    }
    return address;
  }

  #dispatcher({ reach, timeouts: { connect } }: ExchangeOptions): Dispatcher {
    if (reach !== undefined) return this.#guardedDispatcher(reach, connect);
    let dispatcher = this.#dispatchers.get(connect);
    if (dispatcher === undefined) {
      dispatcher = newDispatcher({ timeout: connect });
      this.#dispatchers.set(connect, dispatcher);
    }
    return dispatcher;
  }

  #guardedDispatcher(policy: NetworkPolicy, connect: number): Dispatcher {
    const known = this.#guarded.get(connect);
    if (known?.policy === policy) return known.dispatcher;
    // A new configuration: what is under way ends, its connections are not used again.
    known?.dispatcher.close().catch(() => {});
    const { allowsPrivate } = policy;
    const resolve = this.#resolve ?? (allowsPrivate ? resolveBySystem : resolveByDns);
    const connector = guardedConnector(connect, policy, resolve);
    const dispatcher = allowsPrivate
      ? newDispatcher(connector)
      : // A proxy would look up the name again, and reach what only it reaches.
        new Agent({ ...KEEPING, connect: connector });
    this.#guarded.set(connect, { policy, dispatcher });
    return dispatcher;
  }
}

const KEEPING: Agent.Options = {
  keepAliveTimeout: KEPT,
  pipelining: 1,
  allowH2: false,
  // An answer watches its own time.
  headersTimeout: 0,
  bodyTimeout: 0,
};

function newDispatcher(connect: NonNullable<Agent.Options['connect']>): Dispatcher {
  const options: Agent.Options = { ...KEEPING, connect };
  // Plain HTTP goes straight: it is spoken to servers of one's own.
  return process.env['HTTPS_PROXY'] || process.env['https_proxy']
    ? new EnvHttpProxyAgent({ ...options, httpProxy: '' })
    : new Agent(options);
}

function parsed(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : null;
  if (address === null || !/^https?:$/.test(address.protocol)) {
    throw new Failure('service_error', 'The address of the provider is no http(s) URL', {
      code: 'upstream_request_invalid',
    });
  }
  return address;
}

/** What another server said, whatever its status. */
interface Reply {
  readonly status: number;
  /** Undefined where it is no JSON. */
  readonly body: unknown;
}

interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds until the last byte of the answer. */
  readonly timeout: number;
}

/** The longest answer that `postJson` takes. */
const REPLY = 64 * 1024 * 1024;

/**
 * Sends JSON to another server over a connection of its own and reads the JSON that it answers.
 * Nothing is sent twice.
 *
 * @throws Failure as `Upstream.open` does
 */
export async function postJson(url: string, body: unknown, options: PostOptions): Promise<Reply> {
  const { timeout } = options;
  const upstream = new Upstream();
  try {
    const exchange = await upstream.open(url, {
      headers: { 'content-type': 'application/json', ...options.headers },
      body: JSON.stringify(body),
      timeouts: { connect: timeout, firstByte: 0, idle: 0, total: timeout },
      signal: NEVER,
    });
    return { status: exchange.status, body: parse(await exchange.bytes(REPLY)) };
  } finally {
    await upstream.close();
  }
}

const NEVER = new AbortController().signal;

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
