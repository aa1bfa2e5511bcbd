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

/** Within the public ranges, but answered by the host of a virtual machine (Azure's WireServer). */
const HOST_SERVICES = ['168.63.129.16'];

function isPublicIpv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !HOST_SERVICES.includes(address.toString());
}

/** The IPv4 address that an IPv6 address leads to; null where it leads to none. */
export function embeddedIpv4(address: ipaddr.IPv6): ipaddr.IPv4 | null {
  const at = embeddedAt(address);
  return at === null ? null : new ipaddr.IPv4(address.toByteArray().slice(at, at + 4));
}

/**
 * Where the IPv4 address begins that an IPv6 address leads to; null where it leads to none. ISATAP
 * (RFC 5214, section 6.1) has it behind the interface identifier 0:5efe or 200:5efe of any prefix.
 */
function embeddedAt(address: ipaddr.IPv6): number | null {
  const [, , , , high = 0, low = 0] = address.parts;
  if ((high & ~0x200) === 0 && low === 0x5efe) return 12;
  return EMBEDDINGS.find(([range]) => address.match(range))?.[1] ?? null;
}

/**
 * Whether an IP address is one that everybody on the internet may reach: not private, loopback,
 * link-local, multicast, reserved, nor an IPv6 address that leads to such an IPv4 address.
 *
 * @param address as `net.isIP` takes it; anything else is not public
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
