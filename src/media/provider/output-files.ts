import { redactKey } from '../../routing/redaction.ts';
import { countOf, nonEmptyTextOf, objectOf, objectsOf, textOf } from '../../schema/untrusted.ts';
import { parseHttpUrl } from '../../upstream/public-url.ts';
import type { MediaUsage } from '../task/task-request.ts';
import type { MediaOutput, OutputFile } from './provider.ts';
import { invalidResponse, type Json } from './provider-client.ts';

/** URLs of a result that are read. */
const MAX_URLS = 100;

/** Characters of a revised prompt, and of a URL. */
const MAX_PROMPT_LENGTH = 32_000;
const MAX_URL_LENGTH = 16_384;

interface ImageResultOptions {
  /** Images that are returned at most. */
  readonly maxImages: number;
  /** The provider's key, which is redacted. */
  readonly apiKey: string | undefined;
}

/**
 * Reads an image result in OpenAI's shape: its usable images, in its order.
 *
 * @throws Failure `service_error` where there is none
 */
export function readImageResult(
  result: Json,
  { maxImages, apiKey }: ImageResultOptions,
): MediaOutput {
  const files: OutputFile[] = [];
  for (const item of objectsOf(result['data'])) {
    if (files.length === maxImages) break;
    const source = sourceOf(item);
    if (source === null) continue;
    const revised = nonEmptyTextOf(item['revised_prompt']);
    const revisedPrompt = revised && redactKey(revised.slice(0, MAX_PROMPT_LENGTH), apiKey);
    files.push({ ...source, ...(revisedPrompt !== null && { revisedPrompt }) });
  }
  if (files.length === 0) throw invalidResponse('no image that can be used');
  return { files, usage: usageOf(result['usage']) };
}

/**
 * The files at a list of URLs, without duplicates.
 *
 * @throws Failure `service_error` where there is none
 */
export function filesAt(urls: readonly unknown[], maxFiles: number): readonly OutputFile[] {
  const files = Array.from(new Set(urls.slice(0, MAX_URLS))).flatMap((url) => fileAt(url) ?? []);
  if (files.length === 0) throw invalidResponse('no result that can be used');
  return files.slice(0, maxFiles);
}

type Source = { readonly bytes: Buffer } | { readonly url: string };

function sourceOf(item: Json): Source | null {
  const bytes = bytesOfBase64(textOf(item['b64_json']));
  return bytes === null ? fileAt(item['url']) : { bytes };
}

function fileAt(value: unknown): Source | null {
  const url = textOf(value).trim();
  if (/^data:/i.test(url)) {
    const bytes = bytesOfBase64(url);
    return bytes && { bytes };
  }
  return url.length > MAX_URL_LENGTH || parseHttpUrl(url) === null ? null : { url };
}

/** The prefix of a data: URL, which some providers send before the data. */
const DATA_URL_PREFIX = /^\s*data:[^,]{0,200};base64,/i;

/** Decodes base64 with or without padding; null where the text is invalid or empty. */
export function bytesOfBase64(text: string): Buffer | null {
  const data = text.slice(DATA_URL_PREFIX.exec(text.slice(0, 300))?.[0].length ?? 0);
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  const digits = data.length - padding;
  if (digits === 0 || digits % 4 === 1 || (padding > 0 && data.length % 4 !== 0)) return null;
  const bytes = Buffer.from(data, 'base64');
  // Buffer skips invalid characters, which shows in the length.
  return bytes.length === Math.floor((digits * 3) / 4) ? bytes : null;
}

/** Larger token counts are ignored as invalid. */
const MAX_TOKENS = 2 ** 40;

/** Reads a provider's usage object, by OpenAI's property names or by Oriel's; null where it is empty. */
export function usageOf(value: unknown): MediaUsage | null {
  const usage = objectOf(value);
  const details = objectOf(usage['input_tokens_details'] ?? usage['prompt_tokens_details']);
  const reportedInput = tokens(usage['input_tokens']) ?? tokens(usage['prompt_tokens']);
  const reportedOutput = tokens(usage['output_tokens']) ?? tokens(usage['completion_tokens']);
  const total = tokens(usage['total_tokens']);
  if (reportedInput === null && reportedOutput === null && total === null) return null;
  const input = reportedInput ?? 0;
  const output = reportedOutput ?? 0;
  const cached = tokens(usage['cached_input_tokens']) ?? tokens(details['cached_tokens']) ?? 0;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total ?? input + output,
    input_tokens: input,
    output_tokens: output,
    cached_input_tokens: Math.min(cached, input),
  };
}

function tokens(value: unknown): number | null {
  const count = countOf(value);
  return count !== null && count <= MAX_TOKENS ? count : null;
}
