import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Config } from '../../config/settings/schema.ts';
import { codedFailure } from '../../failure.ts';
import { valueOr } from '../../flow.ts';

type ImageSettings = Config['images'];

/** Where the endpoint is. */
export const IMAGE_PATH = '/img/';

/** Characters of the path behind the signature. */
const MAX_LENGTH = 8000;

/** The parts of an image's URL whose signature is right. */
export interface ImageAddress {
  /** Steps as they are written, with presets replaced and without `expires`. */
  readonly steps: string;
  /** Decoded: a URL, `s3://BUCKET/KEY`, or `FOLDER/PATH`. */
  readonly source: string;
  /** Seconds since the epoch; null where the URL does not expire. */
  readonly expires: number | null;
}

const EXPIRES = /(^|[;,])expires=(\d{1,12})(?=[;,]|$)/;

/** The signature of `STEPS/SOURCE`: HMAC-SHA256 in base64url. */
function signatureOf(path: string, key: string): string {
  return createHmac('sha256', key).update(`/${path}`).digest('base64url');
}

/**
 * Reads the path of a URL, whose signature is checked before anything else.
 *
 * @param url as the client has sent it
 * @throws Failure 403 `invalid_signature`; 404 `image_expired`; `invalid_url`
 */
export function readAddress(url: string, { keys, presets }: ImageSettings): ImageAddress {
  const path = url.slice(IMAGE_PATH.length).split('?', 1)[0]!;
  const [, signature = '', rest = ''] = /^([^/]*)\/(.*)$/s.exec(path) ?? [];
  // Some proxies merge the slashes of https://.
  const signed = rest.replace(/\/(https?|s3):\/+/, '/$1://');
  if (rest.length > MAX_LENGTH || !keys.some((key) => isSigned(signed, signature, key))) {
    throw codedFailure('invalid_signature', 'the signature of the URL does not match');
  }
  const slash = signed.indexOf('/');
  const invalid = (message: string) => codedFailure('invalid_url', message);
  const expected = 'expected /img/SIGNATURE/STEPS/SOURCE, in percent-encoded UTF-8';
  const parts = [signed.slice(0, slash), signed.slice(slash + 1)];
  const [written, source] = valueOr(() => parts.map(decodeURIComponent) as [string, string], []);
  if (slash === -1 || written === undefined || !source) throw invalid(expected);
  const found = EXPIRES.exec(written)?.[2];
  const expires = found === undefined ? null : Number(found);
  if (expires !== null && expires * 1000 <= Date.now()) {
    throw codedFailure('image_expired', 'the URL has expired');
  }
  const items = written
    .replace(EXPIRES, '')
    .split(';')
    .filter((item) => item !== '' && item !== '_');
  return {
    steps: items.map((item) => (Object.hasOwn(presets, item) ? presets[item] : item)).join(';'),
    source,
    expires,
  };
}

function isSigned(path: string, signature: string, key: string): boolean {
  const expected = Buffer.from(signatureOf(path, key));
  // A client may pad base64url, as some libraries do.
  const given = Buffer.from(signature.replace(/={1,2}$/, ''));
  return given.length === expected.length && timingSafeEqual(given, expected);
}
