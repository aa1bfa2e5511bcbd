import { isIPv6 } from 'node:net';
import { secretsOf } from '../config/providers/provider-kinds.ts';
import type { Config } from '../config/settings/schema.ts';
import { Failure } from '../failure.ts';
import { getOrInsert } from '../maps.ts';

/** Replacement of a key, or of a part of it. */
export const REDACTED_KEY = '[key]';

/** Shorter keys protect nothing, and may be words: `none`, `ollama`. */
export const MIN_KEY_LENGTH = 8;

/** What stands for the hidden part of a masked key. */
const MASK = /[*…]|\.\.\./;

/** Characters in a row that count as a part of a key. */
const KEY_PART_LENGTH = 13;

/** Removes a key, its parts of over 12 characters and its masked forms, `sk-ab…wxyz`, from a text. */
export function redactKey(text: string, key: string | undefined): string {
  if (key === undefined || key.length < MIN_KEY_LENGTH) return text;
  return redactMaskedKey(redactKeyParts(text, key), key);
}

/** Properties of a provider's configuration that no response to a client may contain. */
export interface ProviderOrigin {
  readonly name: string;
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
  /** Removes the secrets of all providers from a text. */
  readonly redact?: (text: string) => string;
}

const REDACTED_ADDRESS = '[address]';

/** URLs, IPv4 and IPv6 addresses, and host names with a port. */
const ADDRESSES =
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>()]+|\[[0-9a-f:.]{2,45}\](?::\d{1,5})?|\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d{1,5})?|(?<![\w:.])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:.])|\b(?:localhost|(?:[a-z0-9-]+\.)+[a-z0-9-]+):\d{1,5}\b/gi;

/** Removes the provider's name in the configuration and all addresses from an upstream's text. */
function redactOrigin(text: string, { name, baseUrl = '' }: ProviderOrigin): string {
  let redacted = text.replace(ADDRESSES, (found) => {
    // Times such as 12:30:45 match the end of an IPv6 address.
    const isBare = /^[0-9a-f:]+$/i.test(found);
    return isBare && !isIPv6(found) ? found : REDACTED_ADDRESS;
  });
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : '';
  if (host !== '') redacted = replaceWord(redacted, host, REDACTED_ADDRESS);
  return replaceWord(redacted, name, 'the provider');
}

function replaceWord(text: string, word: string, replacement: string): string {
  const literal = escapeForExpression(word);
  return text.replace(new RegExp(`(?<![\\w-])${literal}(?![\\w-])`, 'gi'), replacement);
}

/** Removes a key that a response body contains verbatim or JSON-escaped. */
export function redactKeyInBody<Body extends string | Buffer>(body: Body, key: string | undefined) {
  if (key === undefined || key.length < MIN_KEY_LENGTH) return body;
  // Keys are ASCII, and strings are searched four times as fast as buffers.
  const ascii = typeof body === 'string' ? body : body.toString('latin1');
  if (ascii.includes(key)) return redactKey(body.toString(), key);
  const mayBeEscaped = ascii.includes('\\u00') || /["\\/]/.test(key);
  if (!mayBeEscaped) return body;
  const escaped = escapedForms(key);
  return escaped.test(ascii) ? body.toString().replace(escaped, REDACTED_KEY) : body;
}

/** Matches a key in JSON, any of its characters escaped. */
function escapedForms(key: string): RegExp {
  const forms = Array.from(key, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    const hex = code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
    const literal = escapeForExpression(character);
    return `(?:\\\\u${hex}|${'"\\/'.includes(character) ? '\\\\?' : ''}${literal})`;
  });
  return new RegExp(forms.join(''), 'g');
}

function escapeForExpression(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/** Removes a key from all strings and property names of a JSON value. */
export function redactKeyInJson(value: unknown, key: string | undefined): unknown {
  if (typeof value === 'string') return redactKey(value, key);
  if (Array.isArray(value)) return value.map((item) => redactKeyInJson(item, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [redactKey(name, key), redactKeyInJson(item, key)]),
  );
}

/** All parts of a key of the length that counts. */
function partsOf(key: string): string[] {
  const length = Math.min(KEY_PART_LENGTH, key.length);
  return Array.from({ length: key.length - length + 1 }, (_, at) => key.slice(at, at + length));
}

function redactKeyParts(text: string, key: string): string {
  const length = Math.min(KEY_PART_LENGTH, key.length);
  const parts = new Set(partsOf(key));
  let result = '';
  /** End of the text copied so far. */
  let copied = 0;
  for (let start = 0; start + length <= text.length; start += 1) {
    if (!parts.has(text.slice(start, start + length))) continue;
    // Windows that overlap or touch are one part.
    result += start > copied || copied === 0 ? text.slice(copied, start) + REDACTED_KEY : '';
    copied = start + length;
  }
  return result + text.slice(copied);
}

/** Masked keys such as `sk-ab***wxyz` contain the beginning or the end. */
function redactMaskedKey(text: string, key: string): string {
  if (!MASK.test(text)) return text;
  const head = key.slice(0, 3);
  const tail = key.slice(-3);
  return text
    .split(/([\s"'`<>()]+)/)
    .map((word) => {
      return MASK.test(word) && (word.includes(head) || word.includes(tail)) ? REDACTED_KEY : word;
    })
    .join('');
}

/**
 * Removes many keys from texts. A text without a part of any key, and without a masked word, takes one
 * pass: one key after another would take 0.1 ms each for a text of 1,000 characters.
 */
export function keysRedactor(keys: readonly string[]): (text: string) => string {
  const long = keys.filter((key) => key.length >= MIN_KEY_LENGTH);
  const parts = new Set(long.flatMap(partsOf));
  const lengths = new Set([...parts].map(({ length }) => length));
  const hasPart = (text: string) => {
    for (const length of lengths) {
      for (let start = 0; start + length <= text.length; start += 1) {
        if (parts.has(text.slice(start, start + length))) return true;
      }
    }
    return false;
  };
  return (text) => {
    if (!MASK.test(text) && !hasPart(text)) return text;
    return long.reduce((clean, key) => redactKey(clean, key), text);
  };
}

/** Removes a provider's key from a failure. */
export function redactFailure(failure: Failure, key: string | undefined): Failure {
  return redactTexts(failure, (text) => redactKey(text, key));
}

/** A failure with texts that are redacted by a function. */
function redactTexts(failure: Failure, redact: (text: string) => string): Failure {
  const { message, param, code, detail } = failure;
  return withTexts(failure, {
    message: redact(message),
    param: param && redact(param),
    code: code && redact(code),
    detail: detail && redact(detail),
  });
}

/**
 * Removes the secrets of providers, a provider's name and addresses from a failure. Its `detail`, which goes to the log
 * only, keeps name and addresses.
 */
export function redactForClient(failure: Failure, origin: ProviderOrigin): Failure {
  const { redact, apiKey } = origin;
  const withoutKey = redactFailure(failure, apiKey);
  const redacted = redact === undefined ? withoutKey : redactTexts(withoutKey, redact);
  const { message, param, code, detail } = redacted;
  // Without a detail the message is Oriel's own and contains no provider's words.
  if (detail === null) return redacted;
  return withTexts(redacted, { message: redactOrigin(message, origin), param, code, detail });
}

type Texts = Pick<Failure, 'message' | 'param' | 'code' | 'detail'>;

/** A failure with other texts. */
export function withTexts(failure: Failure, texts: Texts): Failure {
  const names = ['message', 'param', 'code', 'detail'] as const;
  if (names.every((name) => texts[name] === failure[name])) return failure;
  const { message, param, code, detail } = texts;
  const { type, status, retryAfter, upstreamStatus, cause } = failure;
  return new Failure(type, message, {
    status,
    upstreamStatus,
    cause,
    ...(param !== null && { param }),
    originalCode: code,
    ...(detail !== null && { detail }),
    ...(retryAfter !== null && { retryAfter }),
  });
}

const REDACTORS = new WeakMap<Config['providers'], (text: string) => string>();

/**
 * Removes the secrets of all providers from texts: a provider that relays to another may quote the
 * other's key. Made once for each loaded configuration.
 */
export function secretsRedactor(providers: Config['providers']): (text: string) => string {
  return getOrInsert(REDACTORS, providers, () =>
    keysRedactor(Object.values(providers).flatMap(secretsOf)),
  );
}
