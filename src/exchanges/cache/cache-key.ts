import { hash } from 'node:crypto';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { UpstreamRequest } from '../../upstream/request.ts';
import type { IsId } from '../canonical-json.ts';
import { canonicalRequest, HEADERS, keyOf } from '../canonical-request.ts';

/** Names of calls that Oriel makes where a client or a provider has none. */
const CALL_IDS: ReadonlySet<string | null> = new Set(['call_id', 'tool_call_id', 'tool_use_id']);

/** Types of the objects whose `id` Oriel may have made. What a tool is called with has any members, but no such type. */
const TYPES: ReadonlySet<unknown> = new Set([
  ...['custom_tool_call', 'function', 'function_call', 'message', 'reasoning', 'tool_use'],
  'function_call_output',
]);

/** Whether a text is an identifier of this gateway, and no word of a user that looks like one. */
const isOwnId: IsId = (name, owner) =>
  CALL_IDS.has(name) || (name === 'id' && 'type' in owner && TYPES.has(owner.type));

/** Fields about the client that answers of the format `responses` repeat. */
const REPEATED = ['metadata', 'safety_identifier', 'user'];

/** Names by texts of requests: parsing and sorting a request takes longer than the rest of a hit. */
const MAX_KNOWN = 10_000;

/** Names the requests of accounts: equal ones have the same name. */
export class CacheKeys {
  readonly #known = new Map<string, string>();

  /** @param choice which of several answers to one request of a client it is */
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
    if (this.#known.size >= MAX_KNOWN) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(text, key);
    return key;
  }
}

function repeatedIn(body: string): unknown {
  const json = tryParseJson(body, Infinity);
  return isObject(json) ? REPEATED.map((name) => json[name] ?? null) : null;
}
