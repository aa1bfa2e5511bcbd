import { BlockList, isIPv6 } from 'node:net';
import type { FastifyInstance } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../config/settings/schema.ts';
import { codedFailure, type Failure } from '../../failure.ts';
import { remember } from '../../maps.ts';
import { Sums } from '../../store/sums.ts';

/** Share of all connections that one public address may have, unless the operator sets a limit. */
const CONNECTION_SHARE = 1 / 4;

/** Networks whose invalid keys are counted. */
const MAX_NETWORKS = 10_000;

/** Length of a window in which invalid keys are counted. */
const WINDOW_MS = 60_000;

/** Milliseconds between two log lines about refused connections. */
const LOG_INTERVAL_MS = 60_000;

/**
 * The network that one client controls: its IPv4 address, or the /64 of its IPv6 address.
 *
 * @param address of a socket, or from a trusted proxy; undefined if the socket is closed
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return '';
  if (!isIPv6(address)) return address.slice(0, 64);
  const parsed = ipaddr.process(address.split('%', 1)[0]!);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return parsed.parts.slice(0, 4).join(':');
}

/**
 * Limits the open connections of one address. Trusted proxies are exempt, as many clients share their
 * address; unless the operator sets a limit, private addresses are exempt too.
 */
export function limitConnectionsByAddress(
  { server: http, log }: FastifyInstance,
  { server, limits }: Config,
  maxConnections: number,
): void {
  const { connections } = limits.address;
  const limit = connections ?? Math.max(1, Math.floor(maxConnections * CONNECTION_SHARE));
  const isTrusted = trusts(server.trustProxy);
  const isExempt = (address: string) =>
    isTrusted(address) || (connections === undefined && !isPublic(address));
  const open = new Sums();
  let loggedAt = -Infinity;

  http.on('connection', (socket) => {
    const { remoteAddress: address } = socket;
    // The socket is closed already.
    if (address === undefined || isExempt(address)) return;
    const network = networkOf(address);
    if (open.of(network) >= limit) {
      socket.destroy();
      if (performance.now() - loggedAt < LOG_INTERVAL_MS) return;
      loggedAt = performance.now();
      log.warn({ ip: address, limit }, 'connections beyond limits.address.connections were closed');
      return;
    }
    open.add(network, 1);
    socket.once('close', () => open.add(network, -1));
  });
}

/** A predicate for the addresses of trusted proxies. */
function trusts(trustProxy: Config['server']['trustProxy']): (address: string) => boolean {
  if (typeof trustProxy === 'boolean') return () => trustProxy;
  const list = new BlockList();
  for (const range of trustProxy) {
    const [address = '', bits] = range.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const parsed = ipaddr.process(address.split('%', 1)[0]!);
    return list.check(parsed.toString(), parsed.kind());
  };
}

function isPublic(address: string): boolean {
  return ipaddr.process(address.split('%', 1)[0]!).range() === 'unicast';
}

interface FailureWindow {
  count: number;
  /** End of the window, in milliseconds of `performance.now()`. */
  readonly endsAt: number;
}

/** @param retryAfter seconds */
export function tooManyInvalidKeys(retryAfter: number): Failure {
  return codedFailure(
    'too_many_invalid_api_keys',
    'too many invalid API keys came from this address',
    { retryAfter },
  );
}

/**
 * Counts requests with invalid API keys by network. Only their own response changes, since clients may
 * share an address: a valid key is always accepted.
 */
export class InvalidKeyLimit {
  /** By network, the least recently counted first. */
  readonly #networks = new Map<string, FailureWindow>();

  /**
   * Counts one invalid key.
   *
   * @param limit invalid keys in a minute
   * @throws Failure rate_limit if the network sent more
   */
  count(address: string, limit: number): void {
    const network = networkOf(address);
    const now = performance.now();
    let failures = this.#networks.get(network);
    if (failures === undefined || failures.endsAt <= now) {
      failures = { count: 0, endsAt: now + WINDOW_MS };
    }
    remember(this.#networks, network, failures, MAX_NETWORKS);
    if (failures.count < limit) {
      failures.count += 1;
      return;
    }
    throw tooManyInvalidKeys((failures.endsAt - now) / 1000);
  }
}
