import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isPublicAddress } from './public-address.ts';
import { mayBePublic, privateAddress } from './public-url.ts';

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

/**
 * Connects to public addresses only. A name is asked for once a connection, and the connection goes
 * to an address of that very answer that passed, so that an answer which changes is of no use.
 *
 * @param connect milliseconds that a connection may take
 */
export function guardedConnector(connect: number, resolve: Resolve): buildConnector.connector {
  const connector = buildConnector({
    timeout: connect,
    allowH2: false,
    lookup: guardedLookup(resolve),
  } as buildConnector.BuildOptions);
  return (options, callback) => {
    // Addresses are not looked up. Undici gives them without their brackets.
    if (mayBePublic(options.hostname)) connector(options, callback);
    else process.nextTick(callback, privateAddress(options.hostname), null);
  };
}

function guardedLookup(resolve: Resolve): LookupFunction {
  return (hostname, { all }, callback) => {
    const found = async () => {
      const addresses = (await resolve(hostname))
        .filter(isPublicAddress)
        .map((address) => ({ address, family: isIP(address) }));
      if (addresses.length === 0) throw privateAddress(hostname);
      return addresses;
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
