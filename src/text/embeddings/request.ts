import * as v from 'valibot';
import { checkedBody, unknownFields } from '../../schema/body.ts';
import { choice, openObject } from '../../schema/choice.ts';
import { field, integer, nullish, quoteValue } from '../../schema/fields.ts';
import { expected, invalid } from '../../schema/invalid.ts';
import type { Estimate, RowRequest } from '../rows/row.ts';

/** Items of one request, as at OpenAI. */
const MAX_ITEMS = 2048;

/** Bytes of one text; the models of today read 32,000 tokens at most. */
const MAX_TEXT_BYTES = 1024 * 1024;

/** Tokens of one item where the model's context window is not configured. */
const MAX_TOKENS = 131_072;

const INPUT = `a text, a list of tokens, or a list of up to ${MAX_ITEMS} of either; no text or list may be empty`;

const tokens = v.array(v.number());
const texts = v.array(v.string());

/** OpenAI's request of embeddings. `decodeEmbeddings` checks the items of `input` by itself, for speed. */
export const embeddingsRequest = openObject({
  model: field(v.pipe(v.string(), v.nonEmpty()), 'A model of type embedding.', {
    expects: "a model's name",
  }),
  input: field(
    choice(INPUT, [v.string(), texts, tokens, v.array(tokens)], () => v.unknown() as never),
    'What to embed.',
    { expects: INPUT },
  ),
  dimensions: nullish(integer(1, 65_536), 'Numbers of each vector, where the model can choose.'),
  encoding_format: nullish(
    v.picklist(['float', 'base64']),
    'Numbers as JSON, the default, or as base64 of 32-bit floats, little-endian.',
  ),
  user: nullish(v.string(), 'Identifier of the end user, for abuse detection.'),
});

type Item = string | readonly number[];

/** A checked request. */
export interface EmbeddingsRequest extends RowRequest {
  /** The input as the client wrote it. */
  readonly input: unknown;
  readonly items: readonly Item[];
  readonly dimensions: number | null;
  readonly encoding: 'float' | 'base64';
  readonly user: string | null;
  /** What Google's clients say of the use of the vectors: `RETRIEVAL_QUERY`. */
  readonly taskType?: string | null;
}

/** @throws Failure invalid_request, `param` naming the field by its path */
export function decodeEmbeddings(value: unknown): EmbeddingsRequest {
  const body = checkedBody(embeddingsRequest, value);
  return {
    model: body.model,
    input: body.input,
    items: itemsOf(body.input),
    dimensions: body.dimensions ?? null,
    encoding: body.encoding_format ?? 'float',
    user: body.user ?? null,
    unknown: unknownFields(embeddingsRequest, body),
  };
}

function itemsOf(input: unknown): readonly Item[] {
  if (typeof input === 'string') return [itemOf(input, 'input')];
  if (!Array.isArray(input) || input.length === 0) throw unexpected(input, 'input', INPUT);
  if (typeof input[0] === 'number') return [itemOf(input, 'input')];
  if (input.length > MAX_ITEMS) {
    throw invalid('input', `expected at most ${MAX_ITEMS} items, received ${input.length}`);
  }
  return input.map((item: unknown, index) => itemOf(item, `input[${index}]`));
}

/** @throws Failure invalid_request for something else than a text, for none and for a long one */
export function checkedText(item: unknown, path: string): string {
  if (typeof item !== 'string' || item === '') {
    throw unexpected(item, path, 'a text that is not empty');
  }
  const bytes = Buffer.byteLength(item);
  if (bytes <= MAX_TEXT_BYTES) return item;
  throw invalid(path, `expected at most ${MAX_TEXT_BYTES} bytes of text, received ${bytes}`);
}

function itemOf(item: unknown, path: string): Item {
  if (typeof item === 'string' && item !== '') return checkedText(item, path);
  if (!Array.isArray(item) || item.length === 0) {
    throw unexpected(item, path, 'a text or a list of tokens, which is not empty');
  }
  if (item.length > MAX_TOKENS) {
    throw invalid(path, `expected at most ${MAX_TOKENS} tokens, received ${item.length}`);
  }
  const wrong = item.findIndex((token) => !Number.isSafeInteger(token) || token < 0);
  if (wrong !== -1)
    throw unexpected(item[wrong], `${path}[${wrong}]`, 'a token: an integer from 0');
  return item as number[];
}

function unexpected(value: unknown, path: string, what: string) {
  return invalid(path, expected(what, quoteValue(value)));
}

/** Tokens that providers add to an item, such as its begin and its end. */
const ADDED_TOKENS = 8;

const BYTES_PER_TOKEN = 4;

/** Tokens of texts and lists, of which each has at least one byte. @param window tokens of one item that the model reads */
export function inputTokensOf(items: readonly Item[], window: number): Estimate {
  let likely = 0;
  let most = 0;
  for (const item of items) {
    const one =
      typeof item === 'string'
        ? textTokensOf(Buffer.byteLength(item), window)
        : withinWindow(item.length, item.length, window);
    likely += one.likely;
    most += one.most;
  }
  return { likely, most };
}

/** Tokens of one text of a number of bytes. */
export const textTokensOf = (bytes: number, window: number): Estimate =>
  withinWindow(Math.ceil(bytes / BYTES_PER_TOKEN), bytes, window);

const withinWindow = (likely: number, most: number, window: number): Estimate => ({
  likely: Math.min(likely, window),
  most: Math.min(most + ADDED_TOKENS, window),
});
