import { isIP } from 'node:net';
import { Failure } from '../failure.ts';
import { isPublicAddress } from './public-address.ts';

/** Longer addresses than servers take are mistakes, and would be kept with every record. */
const LONGEST = 8000;

/** Characters that are told of an address that is refused. */
const SHOWN = 60;

/** The code of the failure where an address is private. */
const PRIVATE = 'private_address';

/**
 * An address that somebody from outside gives us to connect to, checked as far as that goes without
 * asking DNS. What its name leads to is checked when the connection is made (`reach: 'public'`).
 *
 * @param param where it stands in the request; null where it came from elsewhere
 * @throws Failure invalid_request; with code `private_address` where it is one
 */
export function checkPublicUrl(text: string, param: string | null, allowPrivate: boolean): URL {
  const refuse = (message: string, code?: string) =>
    new Failure('invalid_request', param === null ? message : `${param}: ${message}`, {
      ...(param !== null && { param }),
      ...(code !== undefined && { code }),
    });
  if (text.length > LONGEST) {
    throw refuse(`expected a URL of at most ${LONGEST} characters, received ${text.length}`);
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw refuse(`expected an http or https URL, received ${shown(text)}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw refuse('expected a URL without credentials: they would be kept with the request');
  }
  if (!allowPrivate && !mayBePublic(url.hostname)) {
    throw refuse(
      `${url.host} is a private address, which this server does not connect to`,
      PRIVATE,
    );
  }
  return url;
}

/** The failure where a name turns out to lead to private addresses only. What those are is not told. */
export function privateAddress(hostname: string): Failure {
  return new Failure(
    'invalid_request',
    `${hostname} leads to a private address, which this server does not connect to`,
    { code: PRIVATE },
  );
}

/**
 * False where a host is a private address or a name of this machine.
 *
 * @param hostname as URL has it: IPv4 in dotted decimals, IPv6 in brackets, names in lower case
 */
export function mayBePublic(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '');
  if (isIP(host) !== 0) return isPublicAddress(host);
  return host !== 'localhost' && !host.endsWith('.localhost');
}

function shown(text: string): string {
  const line = JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text);
  // Who mistypes an address with a password in it shall not find that in a log.
  return line.replace(/\/\/[^/\s]*@/, '//***@');
}
