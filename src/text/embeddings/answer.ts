import { countOf, objectOf } from '../../schema/untrusted.ts';
import type { Json } from '../canonical.ts';
import { invalidAnswer } from '../dialects/answer-errors.ts';
import type { EmbeddingsRequest } from './request.ts';
import { vectorIn } from './vectors.ts';

/** The vectors of all items, in their order, in the encoding that the client asked for. */
export interface Embeddings {
  readonly vectors: readonly unknown[];
  /** The provider's own name of the model; null where it gave none. */
  readonly model: string | null;
  /** Tokens of the input; null where the provider reported none. */
  readonly tokens: number | null;
}

/** @throws Failure service_error for an answer without a vector for each item */
export function readEmbeddings(
  { items, encoding }: EmbeddingsRequest,
  { data, model, usage }: Json,
): Embeddings {
  if (!Array.isArray(data) || data.length !== items.length) {
    const received = Array.isArray(data) ? data.length : 'no';
    throw invalidAnswer(`${received} embeddings for ${items.length} items`);
  }
  const vectors: unknown[] = Array(items.length).fill(undefined);
  for (const [place, entry] of data.entries()) {
    const { index, embedding } = objectOf(entry);
    const number = countOf(index) ?? place;
    if (number >= items.length || vectors[number] !== undefined) {
      throw invalidAnswer('embeddings with wrong numbers');
    }
    vectors[number] = vectorIn(encoding, embedding);
  }
  const { prompt_tokens: prompt, input_tokens: input, total_tokens: total } = objectOf(usage);
  return {
    vectors,
    model: typeof model === 'string' ? model : null,
    tokens: countOf(prompt) ?? countOf(input) ?? countOf(total),
  };
}

/** OpenAI's response. @param tokens those that were charged */
export function embeddingsBody({ vectors }: Embeddings, model: string, tokens: number): Json {
  return {
    object: 'list',
    data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}
