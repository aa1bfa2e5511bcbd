import { type CodeOf, Failure } from '../failure.ts';
import { invalid } from '../schema/invalid.ts';
import type { NetworkPolicy, Purpose, Refusal } from './network-policy.ts';

/** Characters of a URL: servers accept no longer ones, and the URL is stored with every task. */
const MAX_URL_LENGTH = 8000;

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
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
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
