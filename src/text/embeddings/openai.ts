import { countOf, objectOf } from '../../schema/untrusted.ts';
import type { Json } from '../canonical/canonical.ts';
import { invalidAnswer } from '../dialects/answer-errors.ts';
import type { Embeddings } from './answer.ts';
import type { EmbeddingsFormat } from './format.ts';
import type { EmbeddingsRequest } from './request.ts';
import { vectorIn } from './vectors.ts';

/** OpenAI's embeddings, which most other servers have too. */
export const openaiEmbeddings: EmbeddingsFormat = {
  path: () => '/embeddings',
  body: ({ input, dimensions, encoding, user }, model) => ({
    model,
    input,
    ...(dimensions !== null && { dimensions }),
    encoding_format: encoding,
    ...(user !== null && { user }),
  }),
  read,
};

function read({ items, encoding }: EmbeddingsRequest, { data, model, usage }: Json): Embeddings {
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
