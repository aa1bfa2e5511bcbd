import { isIPv6 } from 'node:net';

/** What is put in the place of a key, or of a part of it. */
export const PLACE = '[key]';

/** Keys shorter than this protect nothing, and may be words: `none`, `ollama`. */
export const SHORTEST_KEY = 8;

/** Characters in a row by which a part of a key is told. */
const PART = 13;

/** A text without a key, its parts of over 12 characters and its masked forms, `sk-ab…wxyz`. */
export function withoutSecret(text: string, secret: string | undefined): string {
  if (secret === undefined || secret.length < SHORTEST_KEY) return text;
  return withoutMasked(withoutParts(text, secret), secret);
}

/** A provider as the configuration has it: what answers to clients must not name. */
export interface Origin {
  readonly name: string;
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
}

/** What is put in the place of an address. */
const ADDRESS = '[address]';

/** URLs, addresses of IPv4 and IPv6, and names of hosts with a port. */
const ADDRESSES =
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>()]+|\[[0-9a-f:.]{2,45}\](?::\d{1,5})?|\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d{1,5})?|(?<![\w:.])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:.])|\b(?:localhost|(?:[a-z0-9-]+\.)+[a-z0-9-]+):\d{1,5}\b/gi;

/** A text of an upstream without its name in the configuration and without addresses. */
export function withoutOrigin(text: string, { name, baseUrl = '' }: Origin): string {
  let clean = text.replace(ADDRESSES, (found) => {
    // Times such as 12:30:45 look like the end of an IPv6 address.
    const isBare = /^[0-9a-f:]+$/i.test(found);
    return isBare && !isIPv6(found) ? found : ADDRESS;
  });
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : '';
  if (host !== '') clean = withoutWord(clean, host, ADDRESS);
  return withoutWord(clean, name, 'the provider');
}

function withoutWord(text: string, word: string, place: string): string {
  const literal = escapeForExpression(word);
  return text.replace(new RegExp(`(?<![\\w-])${literal}(?![\\w-])`, 'gi'), place);
}

/** What a client is told, which may hold anything, without a key that stands in it as it is. */
export function told<Told extends string | Buffer>(text: Told, secret: string | undefined) {
  if (secret === undefined || secret.length < SHORTEST_KEY) return text;
  // Keys are ASCII, and texts are searched four times as fast as bytes.
  const ascii = typeof text === 'string' ? text : text.toString('latin1');
  if (ascii.includes(secret)) return withoutSecret(text.toString(), secret);
  const mayBeEscaped = ascii.includes('\\u00') || /["\\/]/.test(secret);
  if (!mayBeEscaped) return text;
  const escaped = escapedForms(secret);
  return escaped.test(ascii) ? text.toString().replace(escaped, PLACE) : text;
}

/** A key in JSON, any of its characters escaped. */
function escapedForms(secret: string): RegExp {
  const forms = Array.from(secret, (character) => {
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

/** An upstream's complaint as it came, each of its texts and names without a key and its parts. */
export function complaintWithout(complaint: unknown, secret: string | undefined): unknown {
  if (typeof complaint === 'string') return withoutSecret(complaint, secret);
  if (Array.isArray(complaint)) return complaint.map((one) => complaintWithout(one, secret));
  if (typeof complaint !== 'object' || complaint === null) return complaint;
  return Object.fromEntries(
    Object.entries(complaint).map(([name, value]) => [
      withoutSecret(name, secret),
      complaintWithout(value, secret),
    ]),
  );
}

function withoutParts(text: string, secret: string): string {
  const length = Math.min(PART, secret.length);
  const parts = new Set<string>();
  for (let start = 0; start + length <= secret.length; start += 1) {
    parts.add(secret.slice(start, start + length));
  }
  let result = '';
  /** Where what is still to be copied begins. */
  let from = 0;
  for (let start = 0; start + length <= text.length; start += 1) {
    if (!parts.has(text.slice(start, start + length))) continue;
    // Windows that overlap, or touch, are one part.
    result += start > from || from === 0 ? text.slice(from, start) + PLACE : '';
    from = start + length;
  }
  return result + text.slice(from);
}

/** Echoes such as `sk-ab***wxyz` show the beginning and the end. */
function withoutMasked(text: string, secret: string): string {
  if (!/[*…]|\.\.\./.test(text)) return text;
  const head = secret.slice(0, 3);
  const tail = secret.slice(-3);
  return text
    .split(/([\s"'`<>()]+)/)
    .map((word) => {
      const masked = word.includes('*') || word.includes('…') || word.includes('...');
      return masked && (word.includes(head) || word.includes(tail)) ? PLACE : word;
    })
    .join('');
}
