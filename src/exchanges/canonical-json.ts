import { createHash } from 'node:crypto';

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** Identifiers that Oriel made for an answer: `call_` and 20 letters and digits. Another run makes others. */
const OWN_ID = /^(?:[a-z]{2,9}_){1,2}[0-9A-Za-z]{20}$/;

/** Characters from which base64 is named by its hash. */
const MIN_BASE64 = 512;

const BASE64 = /^(?:data:[\w.+/-]*;base64,)?[A-Za-z0-9+/]+={0,2}$/;

/** Fields at the top of a request that say who asks, not what. Agents make some of them for each run. */
const ABOUT_THE_CLIENT: ReadonlySet<string> = new Set([
  'client_metadata',
  'metadata',
  'prompt_cache_key',
  'safety_identifier',
  'user',
]);

/** Whether a text is an identifier, by the name of its member (null in a list) and the object that has it. */
export type IsId = (name: string | null, owner: object) => boolean;

/**
 * The form of a request's JSON that equal requests share: names are sorted, identifiers that Oriel made are numbered
 * in their order, files are named by their hash, secrets are masked.
 *
 * @param mask replaces secrets in a text
 * @param isId whether a member of an object holds an identifier; by default every text may be one
 */
export function canonicalJson(
  value: unknown,
  mask: (text: string) => string,
  isId: IsId = () => true,
): JsonValue {
  const ids = new Map<string, string>();
  const textOf = (text: string, name: string | null, owner: object): string => {
    if (OWN_ID.test(text) && isId(name, owner)) {
      if (!ids.has(text)) ids.set(text, `${text.slice(0, text.lastIndexOf('_'))} ${ids.size + 1}`);
      return ids.get(text)!;
    }
    if (text.length >= MIN_BASE64 && BASE64.test(text)) return digestOf(Buffer.from(text));
    return mask(text);
  };
  const canonical = (one: unknown, name: string | null, owner: object): JsonValue => {
    if (typeof one === 'string') return textOf(one, name, owner);
    if (Array.isArray(one)) return one.map((item) => canonical(item, null, one));
    if (typeof one !== 'object' || one === null) return (one ?? null) as JsonValue;
    const members = Object.entries(one)
      .filter(
        ([name, member]) =>
          member !== undefined &&
          !(one === value && ABOUT_THE_CLIENT.has(name)) &&
          !isCacheMark(name, member),
      )
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(
      members.map(([name, member]) => [name, canonical(member, name, one)]),
    );
  };
  return canonical(value, null, {});
}

/** Marks for a provider's prompt cache change prices, not answers: `promptCaching` may add them. */
function isCacheMark(name: string, value: unknown): boolean {
  return name === 'cache_control' && (value as { type?: unknown } | null)?.type === 'ephemeral';
}

/** How a canonical request names bytes. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256 ${createHash('sha256').update(bytes).digest('hex')}, ${bytes.length} bytes`;
}
