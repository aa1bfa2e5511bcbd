import { invalid } from '../../schema/invalid.ts';
import { countOf, listOf, objectOf } from '../../schema/untrusted.ts';
import { invalidAnswer } from '../dialects/answer-errors.ts';
import { resourceOf } from '../dialects/gemini/model-names.ts';
import type { RowFormat } from '../rows/row.ts';
import type { Embeddings } from './answer.ts';
import type { EmbeddingsRequest } from './request.ts';

/** How a provider is asked for embeddings. `read` fails without a vector for each item. */
type EmbeddingsFormat = RowFormat<EmbeddingsRequest, Embeddings>;

/** OpenAI's embeddings, which most other servers have too. */
const openai: EmbeddingsFormat = {
  path: () => '/embeddings',
  body: ({ input, dimensions, encoding, user, unknown }, model) => ({
    ...unknown,
    model,
    input,
    ...(dimensions !== null && { dimensions }),
    encoding_format: encoding,
    ...(user !== null && { user }),
  }),
  ignored: ({ taskType }) => (taskType == null ? [] : ['taskType']),
  read({ items, encoding }, { data, model, usage }) {
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
  },
};

/** Items of one request of Google's. */
const MAX_ITEMS = 100;

/** Google's batchEmbedContents, which takes texts. It has no field for the end user. */
const gemini: EmbeddingsFormat = {
  path: (model) => `/${resourceOf({ model })}:batchEmbedContents`,
  body({ items, dimensions, taskType }, model) {
    if (items.length > MAX_ITEMS) {
      const message = `the gemini format takes at most ${MAX_ITEMS} items, received ${items.length}`;
      throw invalid('input', message);
    }
    if (items.some((item) => typeof item !== 'string')) {
      throw invalid('input', 'the gemini format has no lists of tokens; send texts');
    }
    return {
      requests: items.map((text) => ({
        model: resourceOf({ model }),
        content: { parts: [{ text }] },
        ...(dimensions !== null && { outputDimensionality: dimensions }),
        ...(taskType != null && { taskType }),
      })),
    };
  },
  ignored: ({ unknown = {} }) => Object.keys(unknown),
  read({ items, encoding }, { embeddings, usageMetadata }) {
    const received = listOf(embeddings);
    if (received.length !== items.length) {
      throw invalidAnswer(`${received.length} embeddings for ${items.length} items`);
    }
    return {
      vectors: received.map((one) => vectorIn(encoding, objectOf(one)['values'])),
      model: null,
      tokens: countOf(objectOf(usageMetadata)['promptTokenCount']),
    };
  },
};

export const FORMATS = { openai, gemini };

/** Base64 of numbers as 32-bit floats, little-endian: OpenAI's `encoding_format: base64`. */
export function encodeVector(numbers: readonly number[]): string {
  return Buffer.from(Float32Array.from(numbers).buffer).toString('base64');
}

function decodeVector(text: string): readonly number[] {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || bytes.length % 4 !== 0) {
    throw invalidAnswer('a vector that is no base64');
  }
  // A copy, since the memory of a Buffer may begin at any address.
  return Array.from(new Float32Array(Uint8Array.from(bytes).buffer));
}

/**
 * A provider's vector in the encoding that the client asked for: many servers have one of them only.
 *
 * @throws Failure service_error for a value that is no vector
 */
function vectorIn(encoding: 'float' | 'base64', vector: unknown): unknown {
  if (typeof vector === 'string') {
    return encoding === 'base64' && vector !== '' ? vector : decodeVector(vector);
  }
  if (!Array.isArray(vector) || vector.length === 0 || !vector.every(Number.isFinite)) {
    throw invalidAnswer('an embedding without a vector of numbers');
  }
  return encoding === 'float' ? vector : encodeVector(vector as number[]);
}
