import { createHash } from 'node:crypto';
import { tryParseJson } from '../schema/json.ts';
import type { ExchangeLabel, UpstreamRequest } from '../upstream/request.ts';
import { canonicalJson, digestOf, type IsId, type JsonValue } from './canonical-json.ts';
import type { CanonicalRequest } from './exchange.ts';
import type { Mask } from './secrets.ts';

/** Headers that change what a provider answers. Others hold keys, or differ from run to run. */
export const HEADERS = ['accept', 'anthropic-beta', 'anthropic-version', 'openai-beta'];

/** The canonical form of a request to a provider. */
export async function canonicalRequest(
  { model, path }: ExchangeLabel,
  { method = 'POST', headers, body }: UpstreamRequest,
  mask: Mask,
  isId?: IsId,
): Promise<CanonicalRequest> {
  const kept = HEADERS.filter((name) => headers[name] !== undefined);
  return {
    model,
    method,
    path: mask(withoutSignature(path)),
    headers: Object.fromEntries(kept.map((name) => [name, headers[name]!])),
    body: await canonicalBody(body, mask, isId),
  };
}

/** Parameters of a signed URL that say who may read it and how long. */
const SIGNED =
  /([?&](?:x-(?:amz|goog)-[\w-]+|awsaccesskeyid|expires|exp|googleaccessid|hmac|key-pair-id|policy|se|sig|signature|sk\w+|sp|spr|sr|st|sv|token)=)[^&]*/gi;
const SIGNATURE = /[?&](?:x-(?:amz|goog)-signature|hmac|sig|signature|token)=/i;

/** The same file has another signature each time its URL is asked for. */
function withoutSignature(path: string): string {
  return SIGNATURE.test(path) ? path.replace(SIGNED, '$1*') : path;
}

async function canonicalBody(
  body: UpstreamRequest['body'],
  mask: Mask,
  isId: IsId | undefined,
): Promise<JsonValue> {
  if (body === undefined) return null;
  if (Buffer.isBuffer(body)) return digestOf(body);
  if (typeof body === 'string') {
    const json = tryParseJson(body, Infinity);
    return json === undefined ? mask(body) : canonicalJson(json, mask, isId);
  }
  // Only uploads to a bucket are sent in chunks.
  if (Symbol.asyncIterator in body) throw new Error('a request in chunks cannot be recorded');
  const fields: JsonValue[] = [];
  for (const [name, value] of body) {
    if (typeof value === 'string') fields.push({ [name]: mask(value) });
    else {
      const digest = digestOf(new Uint8Array(await value.arrayBuffer()));
      fields.push({ [name]: { filename: value.name, type: value.type, content: digest } });
    }
  }
  return { form: fields };
}

/** The name of a request: equal requests have the same. 64 hexadecimal digits */
export function keyOf(request: CanonicalRequest): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('hex');
}
