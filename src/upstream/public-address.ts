import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** IANA assigns global addresses from 2000::/3 only. */
const GLOBAL = ipaddr.IPv6.parseCIDR('2000::/3');

/** Ranges of IPv6 addresses that embed an IPv4 address, and the byte offset of that. */
const EMBEDDINGS: readonly (readonly [
  range: ReturnType<typeof ipaddr.IPv6.parseCIDR>,
  at: number,
])[] = [
  // Mapped (RFC 4291 2.5.5.2), NAT64 (RFC 6052) and 6to4 (RFC 3056).
  [ipaddr.IPv6.parseCIDR('::ffff:0:0/96'), 12],
  [ipaddr.IPv6.parseCIDR('64:ff9b::/96'), 12],
  [ipaddr.IPv6.parseCIDR('2002::/16'), 2],
];

/** In a public range, but served by the host of a virtual machine (Azure's WireServer). */
const HOST_SERVICES = ['168.63.129.16'];

function isPublicIpv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !HOST_SERVICES.includes(address.toString());
}

/** The IPv4 address embedded in an IPv6 address; null where there is none. */
export function embeddedIpv4(address: ipaddr.IPv6): ipaddr.IPv4 | null {
  const at = embeddedAt(address);
  return at === null ? null : new ipaddr.IPv4(address.toByteArray().slice(at, at + 4));
}

/**
 * Byte offset of the IPv4 address embedded in an IPv6 address; null where there is none. ISATAP
 * (RFC 5214, section 6.1) puts it behind the interface identifier 0:5efe or 200:5efe of any prefix.
 */
function embeddedAt(address: ipaddr.IPv6): number | null {
  const [, , , , high = 0, low = 0] = address.parts;
  if ((high & ~0x200) === 0 && low === 0x5efe) return 12;
  return EMBEDDINGS.find(([range]) => address.match(range))?.[1] ?? null;
}

/**
 * Whether an IP address is reachable from the whole internet: not private, loopback, link-local,
 * multicast or reserved, nor an IPv6 address that embeds such an IPv4 address.
 *
 * @param address as `net.isIP` accepts it; anything else is not public
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  if (family === 4) return isPublicIpv4(ipaddr.IPv4.parse(address));
  const parsed = ipaddr.IPv6.parse(address);
  const embedded = embeddedIpv4(parsed);
  if (embedded !== null) return isPublicIpv4(embedded);
  return parsed.match(GLOBAL) && parsed.range() === 'unicast';
}
