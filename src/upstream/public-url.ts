import { type CodeOf, Failure } from '../failure.ts';
import { invalid } from '../schema/invalid.ts';
import type { NetworkPolicy, Purpose, Refusal } from './network-policy.ts';

/** Characters of a URL: servers accept no longer ones, and the URL is stored with every task. */
const MAX_URL_LENGTH = 8000;

/** Characters of a host name (RFC 1035, section 2.3.4) with its scheme and port. */
const MAX_ORIGIN_LENGTH = 253 + 'https://:65535'.length;

/** Characters of a refused URL that the message quotes. */
const MAX_QUOTED_LENGTH = 60;

/**
 * Checks a URL from outside before this server connects to it, as far as possible without DNS. The
 * addresses that its name resolves to are checked at connect time (`UpstreamRequest.networkPolicy`).
 *
 * @param param path of the request's field; null where the URL is from elsewhere
 * @throws Failure invalid_request; with code `private_address` where the address is private,
 *   `address_denied` where the operator denies it, `port_denied` where the purpose has no such port
 */
export function checkPublicUrl(
  text: string,
  param: string | null,
  policy: NetworkPolicy,
  purpose: Purpose,
): URL {
  const refuse = (message: string, code?: CodeOf<'invalid_request'>) =>
    invalid(param, message, code);
  if (text.length > MAX_URL_LENGTH) {
    throw refuse(`expected a URL of at most ${MAX_URL_LENGTH} characters, received ${text.length}`);
  }
  const url = parseHttpUrl(text);
  if (url === null) {
    throw refuse(`expected an http or https URL, received ${quoted(text)}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw refuse('expected a URL without credentials: they would be kept with the request');
  }
  const refusal = policy.refusalOfHost(url.hostname);
  if (refusal !== null) throw refuse(`${url.host} is ${REASONS[refusal]}`, CODES[refusal]);
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  if (!policy.hasPort(port, purpose)) {
    throw refuse(
      `${url.host} is at port ${port}, which this server does not connect to`,
      'port_denied',
    );
  }
  return url;
}

/** What comes before the path, as far as it is the scheme and the host. */
const ORIGIN = /^[^/\\?#]*[/\\]*[^/\\?#]*/;

/**
 * An http(s) URL from outside; null for anything else. Names with letters of other scripts take the parser time that
 * grows with the square of their length, 0.1 s for 8000 characters, and are no names beyond the length of DNS.
 */
export function parseHttpUrl(text: string): URL | null {
  if (ORIGIN.exec(text)![0].length > MAX_ORIGIN_LENGTH || !URL.canParse(text)) return null;
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) ? url : null;
}

/** Characters of a host that take microseconds each to parse; 0 for plain names. */
export function foreignLetters(url: string): number {
  const [origin] = ORIGIN.exec(url)!;
  return /^(?!.*xn--)[!-$&-~]*$/i.test(origin) ? 0 : origin.length;
}

const REASONS: Readonly<Record<Refusal, string>> = {
  private: 'a private address, which this server does not connect to',
  denied: 'an address that the operator of this server denies',
};

const CODES: Readonly<Record<Refusal, CodeOf<'invalid_request'>>> = {
  private: 'private_address',
  denied: 'address_denied',
};

/** The failure where a name resolves to refused addresses only. It does not contain those addresses. */
export function refusedAddressFailure(hostname: string, refusal: Refusal): Failure {
  return new Failure('invalid_request', `${hostname} leads to ${REASONS[refusal]}`, {
    code: CODES[refusal],
  });
}

function quoted(text: string): string {
  const line = JSON.stringify(
    text.length > MAX_QUOTED_LENGTH ? `${text.slice(0, MAX_QUOTED_LENGTH - 1)}…` : text,
  );
  // Credentials of a mistyped URL must not get into a log.
  return line.replace(/\/\/[^/\s]*@/, '//***@');
}
