import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import { embeddedIpv4, isPublicAddress } from './public-address.ts';

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
  return hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '');
}

/** @param ports `443` or `1024-65535` */
function portsOf(ports: number | string): readonly [from: number, to: number] {
  const [from = 0, to = from] = String(ports).split('-').map(Number);
  return [from, to];
}

const POLICIES = new WeakMap<NetworkSettings, NetworkPolicy>();

/** The policy of a configuration; always the same instance, so that the client can reuse connections. */
export function networkPolicyOf(settings: NetworkSettings): NetworkPolicy {
  let policy = POLICIES.get(settings);
  if (policy === undefined) {
    policy = new NetworkPolicy(settings);
    POLICIES.set(settings, policy);
  }
  return policy;
}
