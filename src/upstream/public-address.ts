import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The 2000::/3 of which IANA gives global addresses; everything outside is local or not given yet. */
const GLOBAL = ipaddr.IPv6.parseCIDR('2000::/3');

/** Ranges whose addresses lead to the IPv4 address within them, and the byte where that begins. */
const EMBEDDINGS: readonly (readonly [
  range: ReturnType<typeof ipaddr.IPv6.parseCIDR>,
  at: number,
])[] = [
  // Mapped (RFC 4291 2.5.5.2), NAT64 (RFC 6052) and 6to4 (RFC 3056).
  [ipaddr.IPv6.parseCIDR('::ffff:0:0/96'), 12],
  [ipaddr.IPv6.parseCIDR('64:ff9b::/96'), 12],
  [ipaddr.IPv6.parseCIDR('2002::/16'), 2],
];

/**
 * Whether an IP address is one that everybody on the internet may reach: not private, loopback,
 * link-local, multicast, reserved, nor an IPv6 address that leads to such an IPv4 address.
 *
 * @param address as `net.isIP` takes it; anything else is not public
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  if (family === 4) return ipaddr.IPv4.parse(address).range() === 'unicast';
  const parsed = ipaddr.IPv6.parse(address);
  const bytes = parsed.toByteArray();
  const embedding = EMBEDDINGS.find(([range]) => parsed.match(range));
  if (embedding !== undefined) {
    const [, at] = embedding;
    return new ipaddr.IPv4(bytes.slice(at, at + 4)).range() === 'unicast';
  }
  return parsed.match(GLOBAL) && parsed.range() === 'unicast';
}
