import { hash } from 'node:crypto';
import { remember } from '../../maps.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { UpstreamRequest } from '../../upstream/request.ts';
import type { IsId } from '../canonical-json.ts';
import { canonicalRequest, HEADERS, keyOf } from '../canonical-request.ts';

/** Members that hold a call ID, which Oriel generates if neither client nor provider sets one. */
const CALL_IDS: ReadonlySet<string | null> = new Set(['call_id', 'tool_call_id', 'tool_use_id']);

/** Types of objects whose `id` Oriel may have generated. Arguments of tools never have these types. */
const TYPES: ReadonlySet<unknown> = new Set([
  ...['custom_tool_call', 'function', 'function_call', 'message', 'reasoning', 'tool_use'],
  'function_call_output',
]);

/** Whether Oriel generated an identifier; a user's text may look like one. */
const isOwnId: IsId = (name, owner) =>
  CALL_IDS.has(name) || (name === 'id' && 'type' in owner && TYPES.has(owner.type));

/** Request fields that answers in the `responses` format repeat. */
const REPEATED = ['metadata', 'safety_identifier', 'user'];

/** Keys remembered by request: computing a key takes longer than the rest of a cache hit. */
const MAX_KNOWN = 10_000;

/** Computes cache keys. Equal requests of an account have the same key. */
export class CacheKeys {
  readonly #known = new Map<string, string>();

  /** @param choice index of the answer, where a client asks for several */
  async of(
    accountId: string,
    url: string,
    request: UpstreamRequest,
    choice: number,
  ): Promise<string> {
    const { headers, body, exchange } = request;
    const scope = JSON.stringify([accountId, url, choice, HEADERS.map((name) => headers[name])]);
    const text = hash('sha256', `${scope}\n${body}`);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const canonical = await canonicalRequest(exchange!, request, (unmasked) => unmasked, isOwnId);
    const repeated = exchange!.path.endsWith('/responses') ? repeatedIn(body as string) : null;
    const key = hash(
      'sha256',
      JSON.stringify([accountId, url, choice, keyOf(canonical), repeated]),
    );
    remember(this.#known, text, key, MAX_KNOWN);
    return key;
  }
}

function repeatedIn(body: string): unknown {
  const json = tryParseJson(body, Infinity);
  return isObject(json) ? REPEATED.map((name) => json[name] ?? null) : null;
}
