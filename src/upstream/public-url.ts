import { type CodeOf, Failure } from '../failure.ts';
import type { NetworkPolicy, Purpose, Refusal } from './network-policy.ts';

/** Longer addresses than servers take are mistakes, and would be kept with every record. */
const LONGEST = 8000;

/** Characters that are told of an address that is refused. */
const SHOWN = 60;

/**
 * An address that somebody from outside gives us to connect to, checked as far as that goes without
 * asking DNS. What its name leads to is checked when the connection is made (`reach`).
 *
 * @param param where it stands in the request; null where it came from elsewhere
 * @throws Failure invalid_request; with code `private_address` where it is one, `address_denied` where
 *   the operator denies it, `port_denied` where its port is none of those for the purpose
 */
export function checkPublicUrl(
  text: string,
  param: string | null,
  policy: NetworkPolicy,
  purpose: Purpose,
): URL {
  const refuse = (message: string, code?: CodeOf<'invalid_request'>) =>
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
  const refusal = policy.refusalOfHost(url.hostname);
  if (refusal !== null) throw refuse(`${url.host} is ${WHY[refusal]}`, CODES[refusal]);
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  if (!policy.hasPort(port, purpose)) {
    throw refuse(
      `${url.host} is at port ${port}, which this server does not connect to`,
      'port_denied',
    );
  }
  return url;
}

const WHY: Readonly<Record<Refusal, string>> = {
  private: 'a private address, which this server does not connect to',
  denied: 'an address that the operator of this server denies',
};

const CODES: Readonly<Record<Refusal, CodeOf<'invalid_request'>>> = {
  private: 'private_address',
  denied: 'address_denied',
};

/** The failure where a name leads to refused addresses only. What those are is not told. */
export function refusedAddress(hostname: string, refusal: Refusal): Failure {
  return new Failure('invalid_request', `${hostname} leads to ${WHY[refusal]}`, {
    code: CODES[refusal],
  });
}

function shown(text: string): string {
  const line = JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text);
  // Who mistypes an address with a password in it shall not find that in a log.
  return line.replace(/\/\/[^/\s]*@/, '//***@');
}
