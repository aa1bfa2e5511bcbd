import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import * as v from 'valibot';
import { withDefault } from '../../schema/fields.ts';
import { checked } from '../fields/text.ts';

/** Whether a text is an IP address or a CIDR range. */
export function isRange(value: string): boolean {
  const [address = '', bits, ...rest] = value.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%') || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
  );
}

/** A host name in ASCII. URLs read a last label of digits alone as an IPv4 address. */
const HOST_NAME =
  /^(?=.{1,253}$)(?:(?!-)[a-z0-9_-]{1,63}(?<!-)\.)*(?!-|[0-9]+$)[a-z0-9_-]{1,63}(?<!-)$/;

function isDestination(value: string): boolean {
  return isRange(value) || HOST_NAME.test(domainToASCII(value));
}

function isPorts(value: number | string): boolean {
  const [from = 0, to = from] = String(value).split('-').map(Number);
  return /^\d{1,5}(-\d{1,5})?$/.test(String(value)) && from >= 1 && from <= to && to <= 65_535;
}

/** A port, or a range of ports. */
const ports = v.pipe(
  v.union([v.number(), v.string()]),
  checked(isPorts, 'expected a port or a range of ports such as 1024-65535'),
);

const destination = v.pipe(
  v.string(),
  checked(
    isDestination,
    'expected an IP address, a CIDR range such as 10.0.0.0/8, or a host name such as example.com for it and all names below it',
  ),
);

const PORTS = 'a list of ports and ranges such as 1024-65535';
const DESTINATIONS = 'a list of IP addresses, CIDR ranges and host names';

export const network = v.strictObject({
  allowPrivateAddresses: withDefault(
    v.boolean(),
    false,
    'Whether callbacks and reference inputs may go to private addresses, at any port. ' +
      'Providers always may. Cloud metadata (169.254.0.0/16 and the like) stays closed, unless ' +
      'allow has its exact address.',
  ),
  inputPorts: withDefault(
    v.array(ports),
    [80, 443],
    'Ports from which reference inputs are fetched, or ranges such as 8000-8999.',
    { expects: PORTS },
  ),
  callbackPorts: withDefault(
    v.array(ports),
    [80, 443],
    'Ports to which callbacks are sent, or ranges such as 1024-65535 for all unprivileged ports.',
    { expects: PORTS },
  ),
  deny: withDefault(
    v.array(destination),
    [],
    'Destinations that clients cannot use: IP addresses, CIDR ranges, and host names with all ' +
      'names below them. Names are checked before and after they are resolved. deny takes ' +
      'precedence over allow.',
    { expects: DESTINATIONS },
  ),
  allow: withDefault(
    v.array(destination),
    [],
    'Private addresses and names that are allowed, such as an image server in your network. ' +
      'Only a single address opens cloud metadata.',
    { expects: DESTINATIONS },
  ),
});
