import { redactKey } from '../../routing/redaction.ts';
import { nonEmptyTextOf, objectsOf, textOf } from '../../schema/untrusted.ts';
import { bytesOfBase64 } from './base64.ts';
import type { Product, Production } from './provider.ts';
import type { Json } from './remote.ts';
import { unusable } from './unusable.ts';
import { usageOf } from './usage.ts';

/** Addresses that are looked at. */
const MOST_URLS = 100;

/** Characters of a prompt as a provider rewrote it, and of an address. */
const LONGEST_PROMPT = 32_000;
const LONGEST_URL = 16_384;

interface Expected {
  /** How many at most. */
  readonly most: number;
  /** The provider's key. */
  readonly secret: string | undefined;
}

/**
 * The images in an image result (interface part 2.5, which is OpenAI's): those that are there, in its
 * order.
 *
 * @throws Failure `service_error` where there is none
 */
export function imagesOf(result: Json, { most, secret }: Expected): Production {
  const products: Product[] = [];
  for (const item of objectsOf(result['data'])) {
    if (products.length === most) break;
    const place = placeOf(item);
    if (place === null) continue;
    const revised = nonEmptyTextOf(item['revised_prompt']);
    const revisedPrompt = revised && redactKey(revised.slice(0, LONGEST_PROMPT), secret);
    products.push({ ...place, ...(revisedPrompt !== null && { revisedPrompt }) });
  }
  if (products.length === 0) throw unusable('no image that can be used');
  return { products, usage: usageOf(result['usage']) };
}

/**
 * What is at a list of addresses, each once.
 *
 * @throws Failure `service_error` where there is none
 */
export function productsAt(urls: readonly unknown[], most: number): readonly Product[] {
  const different = Array.from(new Set(urls.slice(0, MOST_URLS))).flatMap(
    (url) => productAt(url) ?? [],
  );
  if (different.length === 0) throw unusable('no result that can be used');
  return different.slice(0, most);
}

type Place = { readonly bytes: Buffer } | { readonly url: string };

function placeOf(item: Json): Place | null {
  const bytes = bytesOfBase64(textOf(item['b64_json']));
  return bytes === null ? productAt(item['url']) : { bytes };
}

function productAt(value: unknown): Place | null {
  const url = textOf(value).trim();
  if (/^data:/i.test(url)) {
    const bytes = bytesOfBase64(url);
    return bytes && { bytes };
  }
  if (url.length > LONGEST_URL || !URL.canParse(url)) return null;
  return /^https?:$/.test(new URL(url).protocol) ? { url } : null;
}
