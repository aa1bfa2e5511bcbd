import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import { getOrInsert } from '../maps.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [address: Address, bits: number];

/** What a connection is for, each with its own allowed ports. Providers' results may be at any port. */
export type Purpose = 'input' | 'callback' | 'result';

/** Why the policy refuses a host or an address. */
export type Refusal = 'private' | 'denied';

/** The `network` section of the configuration. */
export interface NetworkSettings {
  readonly allowPrivateAddresses: boolean;
  readonly inputPorts: readonly (number | string)[];
  readonly callbackPorts: readonly (number | string)[];
  /** IP addresses, CIDR ranges and host names, each of which stands for all names below it too. */
  readonly deny: readonly string[];
  readonly allow: readonly string[];
}

/**
 * Metadata services of virtual machines and containers, which give credentials to any process: all
 * link-local addresses (AWS, Google, Azure, Oracle and others), and those that some clouds have elsewhere.
 */
const METADATA = [
  '169.254.0.0/16',
  'fe80::/10',
  // AWS; Google; Scaleway
  'fd00:ec2::/32',
  'fd20:ce::254',
  'fd00:42::42',
  // Azure; Alibaba; Oracle
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
].map(rangeOf);

function rangeOf(text: string): Range {
  const [address = '', bits] = text.split('/');
  const parsed = ipaddr.parse(address);
  const width = parsed.kind() === 'ipv4' ? 32 : 128;
  return [parsed, bits === undefined ? width : Number(bits)];
}

/** A list of the operator's: IP addresses, ranges and host names. */
class HostList {
  readonly #ranges: readonly Range[];
  readonly #names: ReadonlySet<string>;

  constructor(list: readonly string[]) {
    const isAddress = (text: string) => isIP(text.split('/', 1)[0]!) !== 0;
    this.#ranges = list.filter(isAddress).map(rangeOf);
    this.#names = new Set(list.filter((text) => !isAddress(text)).map(domainToASCII));
  }

  hasAddress(address: Address): boolean {
    return isWithin(address, this.#ranges);
  }

  /** Whether the list names the address itself, and not only a range around it. */
  namesAddress(address: Address): boolean {
    const whole = address.kind() === 'ipv4' ? 32 : 128;
    return isWithin(
      address,
      this.#ranges.filter(([, bits]) => bits === whole),
    );
  }

  /** Whether the list names the host or one of its parent domains. */
  hasName(name: string): boolean {
    if (this.#names.size === 0) return false;
    for (let at = 0; at !== -1; ) {
      if (this.#names.has(name.slice(at))) return true;
      const dot = name.indexOf('.', at);
      at = dot === -1 ? -1 : dot + 1;
    }
    return false;
  }
}

function isWithin(address: Address, ranges: readonly Range[]): boolean {
  return ranges.some(
    ([range, bits]) => range.kind() === address.kind() && address.match(range as ipaddr.IPv6, bits),
  );
}

/** Decides which hosts, addresses and ports this server connects to for URLs from outside. */
export class NetworkPolicy {
  /** Whether private addresses are allowed, at every port. */
  readonly allowsPrivate: boolean;
  readonly #deny: HostList;
  readonly #allow: HostList;
  readonly #ports: Readonly<Record<Purpose, readonly (readonly [from: number, to: number])[]>>;

  constructor(settings: NetworkSettings) {
    this.allowsPrivate = settings.allowPrivateAddresses;
    this.#deny = new HostList(settings.deny);
    this.#allow = new HostList(settings.allow);
    this.#ports = {
      input: settings.inputPorts.map(portsOf),
      callback: settings.callbackPorts.map(portsOf),
      result: [[1, 65_535]],
    };
  }

  hasPort(port: number, purpose: Purpose): boolean {
    return (
      this.allowsPrivate || this.#ports[purpose].some(([from, to]) => port >= from && port <= to)
    );
  }

  /** Whether the operator allows the name or all private addresses. */
  allowsName(hostname: string): boolean {
    return this.allowsPrivate || this.#allow.hasName(withoutBrackets(hostname));
  }

  /**
   * Why a host is refused; null where it is allowed. Names are not resolved here.
   *
   * @param hostname as URL has it: IPv4 in dotted decimals, IPv6 in brackets, names in lower case
   */
  refusalOfHost(hostname: string): Refusal | null {
    const host = withoutBrackets(hostname);
    if (isIP(host) !== 0) return this.refusalOfAddress(host, host);
    if (this.#deny.hasName(host)) return 'denied';
    if (this.allowsName(host)) return null;
    return host === 'localhost' || host.endsWith('.localhost') ? 'private' : null;
  }

  /**
   * Why an address that a host name resolved to is refused; null where it is allowed.
   *
   * @param hostname of the URL, which may be the address itself
   */
  refusalOfAddress(address: string, hostname: string): Refusal | null {
    if (isIP(address) === 0) return 'private';
    // `process` turns IPv4-mapped IPv6 addresses into IPv4.
    const parsed = ipaddr.process(address);
    const embedded = parsed.kind() === 'ipv6' ? embeddedIpv4(parsed as ipaddr.IPv6) : null;
    const both = embedded === null ? [parsed] : [parsed, embedded];
    const name = withoutBrackets(hostname);
    if (this.#deny.hasName(name) || both.some((each) => this.#deny.hasAddress(each))) {
      return 'denied';
    }
    if (both.some((each) => isWithin(each, METADATA))) {
      return this.#allow.namesAddress(parsed) ? null : 'private';
    }
    if (this.allowsPrivate || isPublicAddress(address)) return null;
    return this.#allow.hasAddress(parsed) || this.#allow.hasName(name) ? null : 'private';
  }
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/(?<!\.)\.+$/, '');
}

/** @param ports `443` or `1024-65535` */
function portsOf(ports: number | string): readonly [from: number, to: number] {
  const [from = 0, to = from] = String(ports).split('-').map(Number);
  return [from, to];
}

const POLICIES = new WeakMap<NetworkSettings, NetworkPolicy>();

/** The policy of a configuration; always the same instance, so that the client can reuse connections. */
export function networkPolicyOf(settings: NetworkSettings): NetworkPolicy {
  return getOrInsert(POLICIES, settings, () => new NetworkPolicy(settings));
}

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
function embeddedIpv4(address: ipaddr.IPv6): ipaddr.IPv4 | null {
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
