import { BlockList, isIPv6 } from 'node:net';
import type { FastifyInstance } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../config/schema.ts';
import { Failure } from '../../failure.ts';

/** Part of all connections that one public address may have where the operator sets no limit. */
const SHARE_OF_CONNECTIONS = 1 / 4;

/** Addresses whose failed keys are remembered. */
const MAX_ADDRESSES = 10_000;

/** Milliseconds in which failed keys are counted together. */
const WINDOW = 60_000;

/** Milliseconds between two lines of the log about connections that were refused. */
const LOG_INTERVAL = 60_000;

/**
 * The network that one client controls: its IPv4 address, or the /64 of its IPv6 address.
 *
 * @param address of a socket, or what a proxy forwarded; undefined where the socket is closed
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return '';
  if (!isIPv6(address)) return address.slice(0, 64);
  const parsed = ipaddr.process(address.split('%', 1)[0]!);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return parsed.parts.slice(0, 4).join(':');
}

/**
 * Bounds the open connections of one address. Trusted proxies are exempt, and without a limit of the
 * operator all private addresses: many clients share the address of a proxy.
 */
export function limitConnectionsByAddress(
  { server: http, log }: FastifyInstance,
  { server, limits }: Config,
  maxConnections: number,
): void {
  const { connections } = limits.address;
  const limit = connections ?? Math.max(1, Math.floor(maxConnections * SHARE_OF_CONNECTIONS));
  const isTrusted = trusts(server.trustProxy);
  const isExempt = (address: string) =>
    isTrusted(address) || (connections === undefined && !isPublic(address));
  const open = new Map<string, number>();
  let loggedAt = -Infinity;

  http.on('connection', (socket) => {
    const { remoteAddress: address } = socket;
    // Closed already.
    if (address === undefined || isExempt(address)) return;
    const network = networkOf(address);
    const count = open.get(network) ?? 0;
    if (count >= limit) {
      socket.destroy();
      if (performance.now() - loggedAt < LOG_INTERVAL) return;
      loggedAt = performance.now();
      log.warn({ ip: address, limit }, 'connections beyond limits.address.connections were closed');
      return;
    }
    open.set(network, count + 1);
    socket.once('close', () => {
      const rest = open.get(network)! - 1;
      if (rest === 0) open.delete(network);
      else open.set(network, rest);
    });
  });
}

/** Which addresses are those of trusted proxies. */
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

interface Failures {
  count: number;
  /** When the count begins anew, in milliseconds of `performance.now()`. */
  readonly endsAt: number;
}

/**
 * Counts requests with keys that are not good by address. It only changes the response to them, since
 * the addresses of a proxy are shared: a good key is always accepted.
 */
export class FailedKeys {
  /** By network, the longest unused first. */
  readonly #networks = new Map<string, Failures>();

  /**
   * Counts one failed key.
   *
   * @param limit failed keys in a minute
   * @throws Failure rate_limit where the address had more
   */
  count(address: string, limit: number): void {
    const network = networkOf(address);
    const now = performance.now();
    let failures = this.#networks.get(network);
    if (failures === undefined || failures.endsAt <= now) {
      failures = { count: 0, endsAt: now + WINDOW };
    }
    this.#networks.delete(network);
    this.#networks.set(network, failures);
    if (this.#networks.size > MAX_ADDRESSES) {
      this.#networks.delete(this.#networks.keys().next().value!);
    }
    if (failures.count < limit) {
      failures.count += 1;
      return;
    }
    throw new Failure('rate_limit', 'too many invalid API keys came from this address', {
      code: 'too_many_invalid_api_keys',
      retryAfter: (failures.endsAt - now) / 1000,
    });
  }
}
