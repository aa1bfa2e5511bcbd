import { Failure } from '../failure.ts';

/**
 * An address that somebody from outside gives us to connect to.
 *
 * @throws Failure invalid_request
 */
export function checkPublicUrl(text: string, param: string | null, allowPrivate: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const local = url !== null && /^(127\.|10\.|localhost$|\[::1\])/.test(url.hostname);
  if (url === null || !/^https?:$/.test(url.protocol) || (local && !allowPrivate)) {
    throw new Failure('invalid_request', 'expected a public http or https URL', {
      ...(param !== null && { param }),
    });
  }
  return url;
}
