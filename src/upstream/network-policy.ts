import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import { embeddedIpv4, isPublicAddress } from './public-address.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [address: Address, bits: number];

/** What a connection is for; each has ports of its own. Results come from providers, at any port. */
export type Purpose = 'input' | 'callback' | 'result';

/** Why a host or an address is not connected to. */
export type Refusal = 'private' | 'denied';

/** The part of the configuration that says where clients may send this server. */
export interface NetworkSettings {
  readonly allowPrivateAddresses: boolean;
  readonly inputPorts: readonly (number | string)[];
  readonly callbackPorts: readonly (number | string)[];
  /** IP addresses, CIDR ranges and host names, each of which stands for all names below it too. */
  readonly deny: readonly string[];
  readonly allow: readonly string[];
}

/**
 * Where hosts of virtual machines and containers give credentials to whoever asks: all link-local
 * addresses (AWS, Google, Azure, Oracle and others), and those that some clouds have elsewhere.
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

/** IP addresses and host names that a list of the operator names. */
class Destinations {
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

  /** Whether an address is in the list by itself, and not only within a range. */
  namesAddress(address: Address): boolean {
    const whole = address.kind() === 'ipv4' ? 32 : 128;
    return isWithin(
      address,
      this.#ranges.filter(([, bits]) => bits === whole),
    );
  }

  /** Whether a name is in the list, or below one that is. */
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

/** Where this server connects to on behalf of clients. */
export class NetworkPolicy {
  /** Private addresses are open at every port. */
  readonly allowsPrivate: boolean;
  readonly #deny: Destinations;
  readonly #allow: Destinations;
  readonly #ports: Readonly<Record<Purpose, readonly (readonly [from: number, to: number])[]>>;

  constructor(settings: NetworkSettings) {
    this.allowsPrivate = settings.allowPrivateAddresses;
    this.#deny = new Destinations(settings.deny);
    this.#allow = new Destinations(settings.allow);
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

  /** Whether the operator allows a name, or everything private. */
  allowsName(hostname: string): boolean {
    return this.allowsPrivate || this.#allow.hasName(bare(hostname));
  }

  /**
   * Why a host is refused; null where it is not. What a name leads to is not known here.
   *
   * @param hostname as URL has it: IPv4 in dotted decimals, IPv6 in brackets, names in lower case
   */
  refusalOfHost(hostname: string): Refusal | null {
    const host = bare(hostname);
    if (isIP(host) !== 0) return this.refusalOfAddress(host, host);
    if (this.#deny.hasName(host)) return 'denied';
    if (this.allowsName(host)) return null;
    return host === 'localhost' || host.endsWith('.localhost') ? 'private' : null;
  }

  /**
   * Why an address is refused that a host leads to; null where it is not.
   *
   * @param hostname the address itself where the URL has no name
   */
  refusalOfAddress(address: string, hostname: string): Refusal | null {
    if (isIP(address) === 0) return 'private';
    // An IPv4 address that is mapped into IPv6 is the same one.
    const parsed = ipaddr.process(address);
    const within = parsed.kind() === 'ipv6' ? embeddedIpv4(parsed as ipaddr.IPv6) : null;
    const both = within === null ? [parsed] : [parsed, within];
    const name = bare(hostname);
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

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '');
}

/** @param ports 443, or 1024-65535 */
function portsOf(ports: number | string): readonly [from: number, to: number] {
  const [from = 0, to = from] = String(ports).split('-').map(Number);
  return [from, to];
}

const POLICIES = new WeakMap<NetworkSettings, NetworkPolicy>();

/** The policy of a configuration: always the same one, so that its connections can be kept. */
export function networkPolicyOf(settings: NetworkSettings): NetworkPolicy {
  let policy = POLICIES.get(settings);
  if (policy === undefined) {
    policy = new NetworkPolicy(settings);
    POLICIES.set(settings, policy);
  }
  return policy;
}
