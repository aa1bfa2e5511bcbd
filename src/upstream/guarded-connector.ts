import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { NetworkPolicy, Refusal } from './network-policy.ts';
import { refusedAddress } from './public-url.ts';

/** Tells the IP addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** Milliseconds for the first question to a name server; each repetition takes twice as long. */
const PATIENCE = 2000;

/**
 * Asks DNS itself. The system's own lookup would hold one of the few threads that may look up names
 * for as long as a name server keeps silent, and providers' names wait for those, too. Hence names of
 * this machine and its network are not known here, which a guarded connection does not go to anyway.
 *
 * @param servers whom to ask; unless said, those that the system asks
 */
export async function resolveByDns(
  hostname: string,
  servers?: readonly string[],
): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: PATIENCE, tries: 2 });
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

/** Asks the system, which knows the names of its own network too. */
export async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
}

/**
 * Connects to addresses only that a policy does not refuse. A name is asked for once a connection, and the connection goes
 * to an address of that very answer that passed, so that an answer which changes is of no use.
 *
 * @param connect milliseconds that a connection may take
 */
export function guardedConnector(
  connect: number,
  policy: NetworkPolicy,
  resolve: Resolve,
): buildConnector.connector {
  const connector = buildConnector({
    timeout: connect,
    allowH2: false,
    lookup: guardedLookup(policy, resolve),
  } as buildConnector.BuildOptions);
  return (options, callback) => {
    // Addresses are not looked up. Undici gives them without their brackets.
    const { hostname } = options;
    const refusal = policy.refusalOfHost(hostname);
    if (refusal === null) connector(options, callback);
    else process.nextTick(callback, refusedAddress(hostname, refusal), null);
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
        throw refusedAddress(hostname, refusals.has('denied') ? 'denied' : 'private');
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
