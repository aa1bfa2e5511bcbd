import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type * as undici from 'undici';
import type { NetworkPolicy, Refusal } from './network-policy.ts';
import { refusedAddressFailure } from './public-url.ts';
import { buildConnector } from './undici.ts';

/** Resolves a host name to its IP addresses. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** Timeout of the first query to a name server; doubled for each retry. */
const DNS_TIMEOUT_MS = 2000;

/**
 * Queries DNS directly. `dns.lookup` would occupy one of libuv's four threads until a silent name
 * server times out, and lookups of providers' names need the same threads. Names of the local network
 * do not resolve this way; guarded connections do not go there anyway.
 *
 * @param servers name servers; by default the system's
 */
export async function resolveByDns(
  hostname: string,
  servers?: readonly string[],
): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  const [four, six] = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ]);
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
  return [
    ...(four.status === 'fulfilled' ? four.value : []),
    ...(six.status === 'fulfilled' ? six.value : []),
  ];
}

/** Resolves by the system, which also knows the names of the local network. */
export async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
}

/**
 * Connects only to addresses that a policy allows. Each connection resolves the name once and connects
 * to an address of that very result, so that DNS rebinding has no effect.
 *
 * @param connect timeout in milliseconds
 */
export function guardedConnector(
  connect: number,
  policy: NetworkPolicy,
  resolve: Resolve,
): undici.buildConnector.connector {
  const connector = buildConnector({
    timeout: connect,
    allowH2: false,
    lookup: guardedLookup(policy, resolve),
  } as undici.buildConnector.BuildOptions);
  return (options, callback) => {
    // IP addresses skip the lookup. Undici passes IPv6 addresses without brackets.
    const { hostname } = options;
    const refusal = policy.refusalOfHost(hostname);
    if (refusal === null) connector(options, callback);
    else process.nextTick(callback, refusedAddressFailure(hostname, refusal), null);
  };
}

function guardedLookup(policy: NetworkPolicy, resolve: Resolve): LookupFunction {
  return (hostname, { all }, callback) => {
    const found = async () => {
      const refusals = new Set<Refusal>();
      const addresses = (await resolve(hostname)).filter((address) => {
        const refusal = policy.refusalOfAddress(address, hostname);
        if (refusal !== null) refusals.add(refusal);
        return refusal === null;
      });
      if (addresses.length === 0) {
        throw refusedAddressFailure(hostname, refusals.has('denied') ? 'denied' : 'private');
      }
      return addresses.map((address) => ({ address, family: isIP(address) }));
    };
    found().then(
      (addresses) => {
        if (all === true) callback(null, addresses);
        else callback(null, addresses[0]!.address, addresses[0]!.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}
